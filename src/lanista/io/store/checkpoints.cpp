#include "lanista/io/store/checkpoints.h"

#include <unistd.h>

#include <set>
#include <span>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/io/formats/safetensors.h"

namespace lanista::store {
namespace {

constexpr std::string_view kSuffix = ".safetensors", kOldTemporary = ".tmp-";
constexpr std::string_view kKept = "kept:";  ///< no name of a parameter has a colon

formats::SafetensorsFile file_of(const Checkpoint& checkpoint) {
  formats::SafetensorsFile file{checkpoint.tensors, checkpoint.facts};
  for (const Tensor& tensor : checkpoint.kept) {
    file.tensors.push_back(tensor);
    file.tensors.back().name.insert(0, kKept);
  }
  return file;
}

Checkpoint checkpoint_of(formats::SafetensorsFile file) {
  Checkpoint out{{}, std::move(file.metadata)};
  for (Tensor& tensor : file.tensors) {
    const bool is_kept = tensor.name.starts_with(kKept);
    if (is_kept) tensor.name.erase(0, kKept.size());
    (is_kept ? out.kept : out.tensors).push_back(std::move(tensor));
  }
  return out;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A random token for each store, since stores of one process have equal counts and two machines may have equal process
/// ids.
std::string random_token() {
  std::uint64_t value = 0;
  if (::getentropy(&value, sizeof(value)) != 0) value = 0;  // then number and count are all there is
  return Digest{0, value}.hex().substr(16);
}

bool is_address(std::string_view text) {
  const auto digest = Digest::from_hex(text);
  return digest && digest->hex() == text;
}

/// Whether put() writes files of this name, or did: earlier builds had temporary files .tmp-<process>-<token>-<count>.
bool is_own_name(std::string_view name) {
  if (name.ends_with(kSuffix)) return is_address(name.substr(0, name.size() - kSuffix.size()));
  if (name.starts_with(kOldTemporary)) {
    return name.find_first_not_of("0123456789abcdef-", kOldTemporary.size()) == name.npos;
  }
  const std::size_t end = name.find(kSuffix);
  return end != name.npos && is_address(name.substr(0, end)) && is_temporary_name(name);
}

/// An address comes out of a file and becomes part of a path, so nothing but a digest may pass.
Result<void> check_address(const std::string& address) {
  if (is_address(address)) return {};
  return Error{Code::kInvalidArgument, "\"" + address.substr(0, 64) + "\" is no checkpoint address (32 hex digits)",
               ""};
}

}  // namespace

CheckpointStore::CheckpointStore(FileSystem& fs, const std::string& study_folder)
    : fs_(fs.confined_to(study_folder)),
      folder_(study_folder + "/ckpt"),
      token_(random_token()),
      next_token_number_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

// A process that was forked has its parent's token and another number.
std::string CheckpointStore::unique_token() {
  return std::to_string(::getpid()) + "-" + token_ + "-" + std::to_string((*next_token_number_)++);
}

std::string CheckpointStore::path(const std::string& address) const {
  return folder_ + "/" + address + std::string(kSuffix);
}

Result<std::string> CheckpointStore::put(const Checkpoint& checkpoint) {
  LANISTA_ASSIGN(const std::string bytes, formats::encode_safetensors(file_of(checkpoint)));
  std::string address = hash_bytes(bytes_of(bytes)).hex();
  if (!fs_->exists(folder_)) LANISTA_TRY(make_durable_folder(*fs_, folder_));
  LANISTA_TRY(write_atomically(*fs_, path(address), bytes_of(bytes)));
  return address;
}

Result<Checkpoint> CheckpointStore::get(const std::string& address) const {
  LANISTA_TRY(check_address(address));
  LANISTA_ASSIGN(const std::string bytes, fs_->read(path(address)));
  const std::string found = hash_bytes(bytes_of(bytes)).hex();
  if (found != address) {
    return Error{Code::kDataLoss, "checkpoint is damaged: its content hashes to " + found, path(address)};
  }
  auto file = formats::decode_safetensors(bytes);
  if (!file) return Error{file.error().code, file.error().message, path(address)};
  return checkpoint_of(*std::move(file));
}

Result<void> CheckpointStore::remove(const std::string& address) {
  LANISTA_TRY(check_address(address));
  return fs_->remove(path(address));
}

Result<void> CheckpointStore::remove_all_except(const std::vector<std::string>& keep) {
  if (!fs_->exists(folder_)) return {};
  std::set<std::string> names;
  for (const std::string& address : keep) names.insert(address + std::string(kSuffix));
  LANISTA_ASSIGN(const std::vector<std::string> found, fs_->list(folder_));
  for (const std::string& name : found) {
    const std::string file = folder_ + "/" + name;
    if (names.contains(name) || !is_own_name(name) || fs_->kind(file) != FileKind::kFile) continue;
    LANISTA_TRY(fs_->remove(file));
  }
  return {};
}

}  // namespace lanista::store
