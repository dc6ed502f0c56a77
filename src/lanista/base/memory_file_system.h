#pragma once

#include <map>
#include <memory>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"

namespace lanista {

/// The unsynced data that a simulated power loss removes. The end of a process alone loses nothing.
enum class PowerLoss {
  kBytes,   ///< Bytes of files: all, those after a random position, or blocks that become zeros, noise or older bytes.
  kNames,   ///< All names that were made, renamed or removed since the last sync of their folder.
  kAll,     ///< All bytes and all names.
  kSampled  ///< A random subset of blocks and names.
};

/// A file system in memory, for studies without files and for tests. Paths are compared as texts. A folder exists once
/// it was made or contains a file. Thread-safe.
///
/// It distinguishes data that POSIX promises to keep after a power loss from the rest: bytes since the last sync of
/// their file, and names since the last sync of their folder. `simulate_power_loss` leaves a state that a disk may have
/// then.
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

  /// Simulates a power loss and a restart. No file may be open and no lock held. `rng` selects what is lost.
  void simulate_power_loss(PowerLoss loss, Rng rng);
  /// The synced bytes of a file, even if its name is not synced.
  std::string synced(const std::string& path) const;
  /// All files with their bytes.
  std::map<std::string, std::string> files() const;
  /// Makes a file that is already synced, with its name, so that no power loss removes it.
  void put(const std::string& path, std::string bytes);

 private:
  struct State;
  std::shared_ptr<State> state_;  // open files and locks keep it alive
};

}  // namespace lanista
