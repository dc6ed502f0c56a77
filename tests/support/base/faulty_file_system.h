#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"

namespace lanista {

/// A file system that makes one mutating call fail, or all calls from that one on.
///
/// It counts append, sync, write_file, rename, sync_folder, truncate, remove, make_folder, open_append and lock. A
/// failing append or write_file may leave a prefix of its data (`torn`), never synced, as a full disk does.
class FaultyFileSystem final : public FileSystem {
 public:
  /// Which call fails, and how.
  struct Fault {
    std::int64_t at = -1;  ///< number of the call, from 0; -1: never
    bool sticky = true;    ///< all later calls fail too
    bool torn = true;      ///< a failing write leaves a prefix of its data
    Error error{Code::kResourceExhausted, "No space left on device", ""};  ///< what the call returns
  };
  /// `inner` does the calls and must outlive this object.
  FaultyFileSystem(FileSystem& inner, Fault fault) : inner_(inner), state_(std::make_shared<State>(std::move(fault))) {}
  /// The number of mutating calls so far.
  std::int64_t calls() const {
    const std::lock_guard lock(state_->mutex);
    return state_->calls;
  }

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    if (auto error = state_->count(path)) return *std::move(error);
    LANISTA_ASSIGN(auto file, inner_.open_append(path));
    return std::unique_ptr<AppendFile>(std::make_unique<FaultyAppendFile>(std::move(file), state_, path));
  }

  Result<std::string> read(const std::string& path, std::uint64_t offset) override { return inner_.read(path, offset); }

  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    if (auto error = state_->count(path)) {
      if (!state_->fault.torn) return *std::move(error);
      LANISTA_TRY(inner_.remove(path));
      LANISTA_ASSIGN(const auto file, inner_.open_append(path));
      LANISTA_TRY(file->append(state_->torn_prefix(data)));
      return *std::move(error);
    }
    return inner_.write_file(path, data);
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (auto error = state_->count(from)) return *std::move(error);
    return inner_.rename(from, to);
  }

  Result<void> sync_folder(const std::string& path) override {
    if (auto error = state_->count(path)) return *std::move(error);
    return inner_.sync_folder(path);
  }

  Result<void> truncate(const std::string& path, std::uint64_t size) override {
    if (auto error = state_->count(path)) return *std::move(error);
    return inner_.truncate(path, size);
  }

  Result<void> remove(const std::string& path) override {
    if (auto error = state_->count(path)) return *std::move(error);
    return inner_.remove(path);
  }

  Result<void> make_folder(const std::string& path) override {
    if (auto error = state_->count(path)) return *std::move(error);
    return inner_.make_folder(path);
  }

  Result<std::vector<std::string>> list(const std::string& folder) override { return inner_.list(folder); }
  bool exists(const std::string& path) override { return inner_.exists(path); }
  FileKind kind(const std::string& path) override { return inner_.kind(path); }
  Result<std::uint64_t> size(const std::string& path) override { return inner_.size(path); }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    if (auto error = state_->count(path)) return *std::move(error);
    return inner_.lock(path);
  }

 private:
  /// The state that open files share. Their calls count, too, and they may outlive the file system.
  struct State {
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

    std::span<const std::byte> torn_prefix(std::span<const std::byte> data) const {
      return data.first(fault.torn ? data.size() / 2 : 0);
    }

    const Fault fault;
    std::mutex mutex;
    std::int64_t calls = 0;
  };

  class FaultyAppendFile final : public AppendFile {
   public:
    FaultyAppendFile(std::unique_ptr<AppendFile> inner, std::shared_ptr<State> state, std::string path)
        : inner_(std::move(inner)), state_(std::move(state)), path_(std::move(path)) {}

    Result<void> append(std::span<const std::byte> data) override {
      if (auto error = state_->count(path_)) {
        if (state_->fault.torn) LANISTA_TRY(inner_->append(state_->torn_prefix(data)));
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

  FileSystem& inner_;
  std::shared_ptr<State> state_;
};

}  // namespace lanista
