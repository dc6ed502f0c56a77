#include "lanista/base/memory_file_system.h"

#include <map>
#include <mutex>
#include <set>

namespace lanista {

struct MemoryFileSystem::State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<std::string>> files;  // an open file outlives its name, as on a disk
  std::set<std::string> folders;
  std::set<std::string> locks;
};

namespace {

Error missing(const std::string& path) { return {Code::kNotFound, "No such file or directory", path}; }

std::string_view text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace

MemoryFileSystem::MemoryFileSystem() : state_(std::make_shared<State>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;

Result<std::unique_ptr<AppendFile>> MemoryFileSystem::open_append(const std::string& path) {
  class File final : public AppendFile {
   public:
    File(std::shared_ptr<State> state, std::shared_ptr<std::string> bytes)
        : state_(std::move(state)), bytes_(std::move(bytes)) {}
    Result<void> append(std::span<const std::byte> data) override {
      const std::lock_guard lock(state_->mutex);
      bytes_->append(text_of(data));
      return {};
    }
    Result<void> sync() override { return {}; }

   private:
    std::shared_ptr<State> state_;
    std::shared_ptr<std::string> bytes_;
  };
  const std::lock_guard lock(state_->mutex);
  auto& bytes = state_->files[path];
  if (!bytes) bytes = std::make_shared<std::string>();
  return std::unique_ptr<AppendFile>(std::make_unique<File>(state_, bytes));
}

Result<std::string> MemoryFileSystem::read(const std::string& path, std::uint64_t offset) {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->files.find(path);
  if (it == state_->files.end()) return missing(path);
  return offset >= it->second->size() ? std::string() : it->second->substr(offset);
}

Result<void> MemoryFileSystem::write_file(const std::string& path, std::span<const std::byte> data) {
  const std::lock_guard lock(state_->mutex);
  state_->files[path] = std::make_shared<std::string>(text_of(data));
  return {};
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(state_->mutex);
  auto node = state_->files.extract(from);
  if (node.empty()) return missing(from);
  state_->files.erase(to);
  node.key() = to;
  state_->files.insert(std::move(node));
  return {};
}

Result<void> MemoryFileSystem::sync_folder(const std::string&) { return {}; }

Result<void> MemoryFileSystem::truncate(const std::string& path, std::uint64_t size) {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->files.find(path);
  if (it == state_->files.end()) return missing(path);
  it->second->resize(size);
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  state_->files.erase(path);
  return {};
}

Result<void> MemoryFileSystem::make_folder(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  state_->folders.insert(path);
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
  for (const auto& [path, bytes] : state_->files) collect(path);
  for (const auto& path : state_->folders) collect(path);
  if (names.empty() && !state_->folders.contains(folder)) return missing(folder);
  return std::vector<std::string>(names.begin(), names.end());
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  if (state_->files.contains(path) || state_->folders.contains(path)) return true;
  const auto below = state_->files.lower_bound(path + "/");
  return below != state_->files.end() && below->first.starts_with(path + "/");
}

Result<std::uint64_t> MemoryFileSystem::size(const std::string& path) {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->files.find(path);
  if (it == state_->files.end()) return missing(path);
  return static_cast<std::uint64_t>(it->second->size());
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
  return std::unique_ptr<FileLock>(std::make_unique<Lock>(state_, path));
}

}  // namespace lanista
