#pragma once

#include <map>
#include <memory>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"

namespace lanista {

/// Which unsynced data a simulated power loss removes. The end of a process alone removes nothing.
enum class PowerLoss {
  /// Bytes of files: all, those after some offset, or single blocks. A lost block has zeros, noise or older bytes.
  kBytes,
  kNames,   ///< All names that were made, renamed or removed since their folder was synced.
  kAll,     ///< Every byte and every name.
  kSampled  ///< A random choice of byte blocks and names, in any order.
};

/// A file system in memory: for studies that leave no files, and for tests. Paths are names, compared as they are
/// written. A folder exists once it was made or contains a file. remove() and rename() act on files only; remove()
/// leaves a folder without an error. Thread-safe.
///
/// It knows what POSIX promises to survive a power loss: bytes before the last sync of their file, and names before the
/// last sync of their folder. simulate_power_loss() leaves what a disk may hold afterwards.
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

  /// Simulates that the machine loses power and starts again. Only data and names that were not synced may be lost;
  /// `rng` decides which, within `loss`. Precondition: no file is open (not checked) and no lock is held.
  void simulate_power_loss(PowerLoss loss, Rng rng);
  /// The synced bytes of a file, even if the name would be lost. After an unsynced truncation, only those that it left.
  /// Empty if there is no such file.
  std::string synced(const std::string& path) const;
  /// Every file by path, with its current bytes.
  std::map<std::string, std::string> files() const;
  /// Adds a file, or replaces it, as already synced, so that no power loss removes it.
  void put(const std::string& path, std::string bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;  // open files and locks keep it alive
};

}  // namespace lanista
