#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::store {

/// A checkpoint: tensors and facts as texts (step, epoch, undelivered measurements and so on). It is one safetensors
/// file.
struct Checkpoint {
  std::vector<Tensor> tensors;               ///< the state of the trial
  std::map<std::string, std::string> facts;  ///< texts by key
  /// The selected weights, where they are not those in `tensors` (train::TrainerState). In the file their names begin
  /// with "kept:"; files of old builds have none.
  std::vector<Tensor> kept = {};
};
/// The selected weights of the trial: those in `kept`, else those of its state.
inline std::vector<Tensor> selected_weights(Checkpoint checkpoint) {
  return checkpoint.kept.empty() ? std::move(checkpoint.tensors) : std::move(checkpoint.kept);
}

/// Checkpoints in `ckpt/`, as safetensors files addressed by content. Thread-safe (distinct files, atomic replace). Any
/// number of stores, processes and machines may write to one folder at the same time.
class CheckpointStore {
 public:
  /// The store of a study; `fs` must outlive it.
  CheckpointStore(FileSystem& fs, const std::string& study_folder);
  /// Writes a checkpoint durably (temporary file, sync, rename, folder sync) and returns its address: 32 hexadecimal
  /// digits of the content's hash.
  Result<std::string> put(const Checkpoint& checkpoint);
  /// Reads a checkpoint. Errors: kInvalidArgument (no address), kNotFound; kDataLoss if the content does not match its
  /// address or breaks a rule of safetensors.
  Result<Checkpoint> get(const std::string& address) const;
  /// Removes a checkpoint. Errors: kInvalidArgument (no address), kIo.
  Result<void> remove(const std::string& address);
  /// Removes every checkpoint and temporary file that is not in `keep`, if it is a regular file with a name that put()
  /// writes. Precondition: no put() runs.
  Result<void> remove_all_except(const std::vector<std::string>& keep);
  /// The path of a checkpoint's file.
  std::string path(const std::string& address) const;
  /// A text that no other call returns, of any store on any machine. Letters, digits and '-'.
  std::string unique_token();

 private:
  std::shared_ptr<FileSystem> fs_;  // confined to the study's folder
  std::string folder_;
  std::string token_;  // the same for copies of this store
  std::shared_ptr<std::atomic<std::uint64_t>> next_token_number_;
};

}  // namespace lanista::store
