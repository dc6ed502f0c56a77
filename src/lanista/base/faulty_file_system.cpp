#include <mutex>
#include <optional>
#include <utility>

#include "lanista/base/file_system.h"

namespace lanista {

/// The state that open files share. Their calls count, too, and they may outlive the file system.
struct FaultyFileSystem::State {
  explicit State(Fault f) : fault(std::move(f)) {}

  // Counts one mutating call; returns the error if it must fail.
  std::optional<Error> count(const std::string& path) {
    const std::lock_guard lock(mutex);
    const std::int64_t call = calls++;
    const bool fails = fault.at >= 0 && (fault.sticky ? call >= fault.at : call == fault.at);
    if (!fails) return std::nullopt;
    Error error = fault.error;
    if (error.where.empty()) error.where = path;
    return error;
  }

  std::span<const std::byte> random_prefix(std::span<const std::byte> data) const {
    return data.first(fault.torn ? data.size() / 2 : 0);
  }

  const Fault fault;
  std::mutex mutex;
  std::int64_t calls = 0;
};

namespace {

template <class State>
class FaultyAppendFile final : public AppendFile {
 public:
  FaultyAppendFile(std::unique_ptr<AppendFile> inner, std::shared_ptr<State> state, std::string path)
      : inner_(std::move(inner)), state_(std::move(state)), path_(std::move(path)) {}

  Result<void> append(std::span<const std::byte> data) override {
    if (auto error = state_->count(path_)) {
      if (state_->fault.torn) LANISTA_TRY(inner_->append(state_->random_prefix(data)));
      return *std::move(error);
    }
    return inner_->append(data);
  }

  Result<void> sync() override {
    if (auto error = state_->count(path_)) return *std::move(error);
    return inner_->sync();
  }

 private:
  std::unique_ptr<AppendFile> inner_;
  std::shared_ptr<State> state_;
  std::string path_;
};

}  // namespace

FaultyFileSystem::FaultyFileSystem(FileSystem& inner, Fault fault)
    : inner_(inner), state_(std::make_shared<State>(std::move(fault))) {}

std::int64_t FaultyFileSystem::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}

Result<std::unique_ptr<AppendFile>> FaultyFileSystem::open_append(const std::string& path) {
  if (auto error = state_->count(path)) return *std::move(error);
  LANISTA_ASSIGN(auto file, inner_.open_append(path));
  return std::unique_ptr<AppendFile>(std::make_unique<FaultyAppendFile<State>>(std::move(file), state_, path));
}

Result<std::string> FaultyFileSystem::read(const std::string& path, std::uint64_t offset) {
  return inner_.read(path, offset);
}

Result<void> FaultyFileSystem::write_file(const std::string& path, std::span<const std::byte> data) {
  if (auto error = state_->count(path)) {
    if (!state_->fault.torn) return *std::move(error);
    LANISTA_TRY(inner_.remove(path));
    LANISTA_ASSIGN(const auto file, inner_.open_append(path));
    LANISTA_TRY(file->append(state_->random_prefix(data)));
    return *std::move(error);
  }
  return inner_.write_file(path, data);
}

Result<void> FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  if (auto error = state_->count(from)) return *std::move(error);
  return inner_.rename(from, to);
}

Result<void> FaultyFileSystem::sync_folder(const std::string& path) {
  if (auto error = state_->count(path)) return *std::move(error);
  return inner_.sync_folder(path);
}

Result<void> FaultyFileSystem::truncate(const std::string& path, std::uint64_t size) {
  if (auto error = state_->count(path)) return *std::move(error);
  return inner_.truncate(path, size);
}

Result<void> FaultyFileSystem::remove(const std::string& path) {
  if (auto error = state_->count(path)) return *std::move(error);
  return inner_.remove(path);
}

Result<void> FaultyFileSystem::make_folder(const std::string& path) {
  if (auto error = state_->count(path)) return *std::move(error);
  return inner_.make_folder(path);
}

Result<std::vector<std::string>> FaultyFileSystem::list(const std::string& folder) { return inner_.list(folder); }

bool FaultyFileSystem::exists(const std::string& path) { return inner_.exists(path); }

FileKind FaultyFileSystem::kind(const std::string& path) { return inner_.kind(path); }

Result<std::uint64_t> FaultyFileSystem::size(const std::string& path) { return inner_.size(path); }

Result<std::unique_ptr<FileLock>> FaultyFileSystem::lock(const std::string& path) {
  if (auto error = state_->count(path)) return *std::move(error);
  return inner_.lock(path);
}

}  // namespace lanista
