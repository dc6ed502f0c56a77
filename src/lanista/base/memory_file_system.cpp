#include "lanista/base/memory_file_system.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "lanista/base/paths.h"

namespace lanista {
namespace {

Error missing(const std::string& path) { return {Code::kNotFound, "No such file or directory", path}; }

std::string_view text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

/// A file, independent of its name.
struct File {
  std::string bytes;
  std::size_t synced = 0;  ///< bytes that are on disk
  std::string cut;         ///< the bytes after them on disk, while a truncation is not synced

  void sync() {
    synced = bytes.size();
    cut.clear();
  }
  void truncate(std::size_t size) {
    if (size < synced) {
      cut = bytes.substr(size, synced - size) + cut;
      synced = size;
    }
    bytes.resize(size);
  }
};
using FilePtr = std::shared_ptr<File>;

/// What a disk may hold of a file after a power loss: a length, and any blocks of the unsynced bytes.
std::string torn(const File& file, Rng& rng) {
  constexpr std::array<std::size_t, 4> kBlocks{16, 64, 512, 4096};
  enum SurvivingBytes { kNone, kAll, kPrefix, kZeroedBlocks, kRandomBlocks, kOldBlocks };
  const auto kept = static_cast<SurvivingBytes>(rng.below(6));
  std::string out = file.bytes.substr(0, file.synced);
  if (kept == kNone) return out + file.cut;
  if (kept == kAll) return file.bytes;
  std::string pending = file.bytes.substr(file.synced);
  if (kept == kPrefix) return out + pending.substr(0, rng.below(pending.size() + 1));
  const std::size_t block = kBlocks[rng.below(kBlocks.size())];
  for (std::size_t at = 0; at < pending.size(); at += block) {
    if (rng.below(2) == 0) continue;
    const std::size_t older = out.empty() ? 0 : rng.below(out.size());
    for (std::size_t i = at; i < std::min(at + block, pending.size()); ++i) {
      const std::size_t from = older + i - at;
      // Not from its first byte on: an old record right at the seam would look like a new one.
      const bool stale = kept == kOldBlocks && i >= at + 8 && from < out.size();
      pending[i] = kept == kRandomBlocks ? static_cast<char>(rng.below(256)) : stale ? out[from] : '\0';
    }
  }
  return out + pending;
}

/// A name that was made, changed or removed. A rename is atomic: both names change or neither does.
struct NameChange {
  enum Kind { kFile, kFolder, kRename, kRemove } kind;
  std::string path;
  FilePtr file = nullptr;
  std::string from = {};
};

/// The file of each name.
struct NameTable {
  std::map<std::string, FilePtr> files;
  std::set<std::string> folders;

  void apply(const NameChange& change) {
    if (change.kind == NameChange::kRename) files.erase(change.from);
    if (change.kind == NameChange::kFolder) {
      folders.insert(change.path);
    } else if (change.kind == NameChange::kRemove) {
      files.erase(change.path);
      folders.erase(change.path);
    } else {
      files[change.path] = change.file;
    }
  }
};

}  // namespace

struct MemoryFileSystem::State {
  mutable std::mutex mutex;
  NameTable visible, on_disk;
  std::map<std::string, std::vector<NameChange>> unsynced;  ///< changes in each folder, in order
  std::set<std::string> locks;

  void change(NameChange change) {
    visible.apply(change);
    unsynced[parent_of(change.path)].push_back(std::move(change));
  }
  FilePtr find(const std::string& path) const {
    const auto it = visible.files.find(path);
    return it == visible.files.end() ? nullptr : it->second;
  }
  FilePtr find_or_make(const std::string& path) {
    if (auto file = find(path)) return file;
    change({NameChange::kFile, path, std::make_shared<File>()});
    return find(path);
  }
  /// Whether a folder on the path was made and is not on disk.
  bool has_missing_parent(std::string path, const std::set<std::string>& made) const {
    for (; path != "." && path != "/"; path = parent_of(path)) {
      if (made.contains(path) && !on_disk.folders.contains(path)) return true;
    }
    return false;
  }
};

MemoryFileSystem::MemoryFileSystem() : state_(std::make_shared<State>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;

Result<std::unique_ptr<AppendFile>> MemoryFileSystem::open_append(const std::string& path) {
  class Appending final : public AppendFile {
   public:
    Appending(std::shared_ptr<State> state, FilePtr file) : state_(std::move(state)), file_(std::move(file)) {}
    Result<void> append(std::span<const std::byte> data) override {
      const std::lock_guard lock(state_->mutex);
      file_->bytes.append(text_of(data));
      return {};
    }
    Result<void> sync() override {
      const std::lock_guard lock(state_->mutex);
      file_->sync();
      return {};
    }

   private:
    std::shared_ptr<State> state_;
    FilePtr file_;  // a file may outlive its name
  };
  const std::lock_guard lock(state_->mutex);
  return std::unique_ptr<AppendFile>(std::make_unique<Appending>(state_, state_->find_or_make(path)));
}

Result<std::string> MemoryFileSystem::read(const std::string& path, std::uint64_t offset) {
  const std::lock_guard lock(state_->mutex);
  const FilePtr file = state_->find(path);
  if (!file) return missing(path);
  return offset >= file->bytes.size() ? std::string() : file->bytes.substr(offset);
}

Result<void> MemoryFileSystem::write_file(const std::string& path, std::span<const std::byte> data) {
  const std::lock_guard lock(state_->mutex);
  if (state_->find(path)) return Error{Code::kAlreadyExists, "cannot create: File exists", path};
  const FilePtr file = state_->find_or_make(path);
  file->bytes = text_of(data);
  file->sync();
  return {};
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  const FilePtr file = state_->find(from);
  if (!file) return missing(from);
  if (parent_of(from) == parent_of(to)) {
    state_->change({NameChange::kRename, to, file, from});
  } else {
    state_->change({NameChange::kFile, to, file});
    state_->change({NameChange::kRemove, from});
  }
  return {};
}

Result<void> MemoryFileSystem::sync_folder(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  for (const NameChange& change : state_->unsynced[path]) state_->on_disk.apply(change);
  state_->unsynced.erase(path);
  return {};
}

Result<void> MemoryFileSystem::truncate(const std::string& path, std::uint64_t size) {
  const std::lock_guard lock(state_->mutex);
  const FilePtr file = state_->find(path);
  if (!file) return missing(path);
  file->truncate(size);
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (state_->find(path)) state_->change({NameChange::kRemove, path});
  return {};
}

Result<void> MemoryFileSystem::make_folder(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> made;
  for (std::string part = path; part != "." && part != "/"; part = parent_of(part)) made.push_back(part);
  for (; !made.empty(); made.pop_back()) {
    if (!state_->visible.folders.contains(made.back())) state_->change({NameChange::kFolder, made.back()});
  }
  return {};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& folder) {
  const std::lock_guard lock(state_->mutex);
  const std::string prefix = folder + "/";
  std::set<std::string> names;
  const auto collect = [&](const std::string& path) {
    if (path.starts_with(prefix))
      names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
  };
  for (const auto& [path, file] : state_->visible.files) collect(path);
  for (const auto& path : state_->visible.folders) collect(path);
  if (names.empty() && !state_->visible.folders.contains(folder)) return missing(folder);
  return std::vector<std::string>(names.begin(), names.end());
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const NameTable& visible = state_->visible;
  if (visible.files.contains(path) || visible.folders.contains(path)) return true;
  const auto below = visible.files.lower_bound(path + "/");
  return below != visible.files.end() && below->first.starts_with(path + "/");
}

FileKind MemoryFileSystem::kind(const std::string& path) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->find(path)) return FileKind::kFile;
  }
  return exists(path) ? FileKind::kFolder : FileKind::kNothing;
}

Result<std::uint64_t> MemoryFileSystem::size(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const FilePtr file = state_->find(path);
  if (!file) return missing(path);
  return static_cast<std::uint64_t>(file->bytes.size());
}

Result<std::unique_ptr<FileLock>> MemoryFileSystem::lock(const std::string& path) {
  class Lock final : public FileLock {
   public:
    Lock(std::shared_ptr<State> state, std::string path) : state_(std::move(state)), path_(std::move(path)) {}
    ~Lock() override {
      const std::lock_guard lock(state_->mutex);
      state_->locks.erase(path_);
    }

   private:
    std::shared_ptr<State> state_;
    std::string path_;
  };
  const std::lock_guard guard(state_->mutex);
  if (!state_->locks.insert(path).second) return Error{Code::kUnavailable, "is locked", path};
  state_->find_or_make(path);
  return std::unique_ptr<FileLock>(std::make_unique<Lock>(state_, path));
}

void MemoryFileSystem::simulate_power_loss(PowerLoss loss, Rng rng) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  LANISTA_CHECK(state.locks.empty(), "a power loss while a lock of the memory file system is held");
  // Any subset is allowed: a change of a folder may reach the disk without earlier ones.
  Rng names = rng.split("names");
  const std::uint64_t keep_of_four = loss == PowerLoss::kBytes ? 4 : loss == PowerLoss::kSampled ? names.below(5) : 0;
  for (const auto& [folder, changes] : state.unsynced) {
    for (const NameChange& change : changes) {
      if (names.below(4) < keep_of_four) state.on_disk.apply(change);
    }
  }
  state.unsynced.clear();
  std::erase_if(state.on_disk.files, [&](const auto& entry) {
    return state.has_missing_parent(parent_of(entry.first), state.visible.folders);
  });
  const std::set<std::string> made = state.visible.folders;
  std::erase_if(state.on_disk.folders, [&](const std::string& path) {
    return parent_of(path) != path && state.has_missing_parent(parent_of(path), made);
  });
  Rng bytes = rng.split("bytes");
  for (const auto& [path, file] : state.on_disk.files) {
    if (loss == PowerLoss::kAll) file->bytes = file->bytes.substr(0, file->synced) + file->cut;
    if (loss == PowerLoss::kBytes || loss == PowerLoss::kSampled) file->bytes = torn(*file, bytes);
    file->sync();
  }
  state.visible = state.on_disk;
}

std::string MemoryFileSystem::synced(const std::string& path) const {
  const std::lock_guard lock(state_->mutex);
  const FilePtr file = state_->find(path);
  return file ? file->bytes.substr(0, file->synced) : std::string();
}

std::map<std::string, std::string> MemoryFileSystem::files() const {
  const std::lock_guard lock(state_->mutex);
  std::map<std::string, std::string> out;
  for (const auto& [path, file] : state_->visible.files) out[path] = file->bytes;
  return out;
}

void MemoryFileSystem::put(const std::string& path, std::string bytes) {
  const std::lock_guard lock(state_->mutex);
  const auto file = std::make_shared<File>();
  file->bytes = std::move(bytes);
  file->sync();
  state_->visible.files[path] = state_->on_disk.files[path] = file;
  for (std::string part = parent_of(path); part != "." && part != "/"; part = parent_of(part)) {
    if (state_->visible.folders.contains(part)) state_->on_disk.folders.insert(part);
  }
}

}  // namespace lanista
