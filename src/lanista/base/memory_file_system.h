#pragma once

#include <map>
#include <memory>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"

namespace lanista {

/// What a power cut takes of that which was never synced. A killed process alone loses nothing.
enum class PowerLoss {
  kBytes,   ///< bytes of files: all, those behind some place, or blocks, whose place is zeros, noise or older bytes
  kNames,   ///< names made, renamed or removed since their folder was synced: all
  kAll,     ///< every byte and every name
  kSampled  ///< each byte block and each name as the draw says, in any order
};

/// A file system that lives in memory: for studies that leave nothing behind, and for tests. Paths are names, compared
/// as they are written; folders exist once made, or once something lies in them. Thread-safe.
///
/// It keeps apart what POSIX promises to outlive a power cut and what it does not: bytes since the last sync of their
/// file, names since the last sync of their folder. `simulate_power_loss` leaves what a disk may hold then.
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
  FileKind kind(const std::string& path) override;
  Result<std::uint64_t> size(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  /// The machine loses its power and comes back. Nobody may have a file open or hold a lock.
  void simulate_power_loss(PowerLoss loss, Rng draw);
  /// The bytes of a file that were synced, whatever became of its name.
  std::string synced(const std::string& path) const;
  /// Every file and its bytes.
  std::map<std::string, std::string> files() const;
  /// Puts a file there as if it had lain there for long: no power cut takes it.
  void put(const std::string& path, std::string bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;  // open files and locks keep it alive
};

}  // namespace lanista
