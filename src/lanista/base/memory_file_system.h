#pragma once

#include <memory>

#include "lanista/base/file_system.h"

namespace lanista {

/// A file system that lives in memory: for studies that leave nothing behind, and for tests. Paths are names, compared
/// as they are written; folders exist once made, or once something lies in them. Thread-safe.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem();
  ~MemoryFileSystem() override;

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override;
  Result<std::string> read(const std::string& path, std::uint64_t offset = 0) override;
  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<void> truncate(const std::string& path, std::uint64_t size) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  bool exists(const std::string& path) override;
  Result<std::uint64_t> size(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  struct State;
  std::shared_ptr<State> state_;  // open files and locks keep it alive
};

}  // namespace lanista
