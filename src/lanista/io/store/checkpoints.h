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

/// A checkpoint: tensors and string facts (step, epoch, measurements not yet delivered, …), as one safetensors file.
struct Checkpoint {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> facts;
  /// What the trial stands for, where those are not the weights in `tensors` (train::TrainerState). In the file their
  /// names begin with "kept:"; files of builds before have none.
  std::vector<Tensor> kept = {};
};
/// What predicts for the trial: the weights that it stands for, else those of its state.
inline std::vector<Tensor> selected_weights(Checkpoint checkpoint) {
  return checkpoint.kept.empty() ? std::move(checkpoint.tensors) : std::move(checkpoint.kept);
}

/// Content-addressed safetensors files in `ckpt/`. Thread-safe (distinct files, atomic replace); any number of stores,
/// of any processes and machines, may put into one folder at the same time.
class CheckpointStore {
 public:
  CheckpointStore(FileSystem& fs, const std::string& study_folder);
  /// Writes durably (temporary file, sync, rename, folder sync) and returns the address: 32 hex digits of the content's
  /// hash.
  Result<std::string> put(const Checkpoint& checkpoint);
  /// Errors: kInvalidArgument (no address), kNotFound; kDataLoss if the content does not match its address or breaks a
  /// safetensors rule.
  Result<Checkpoint> get(const std::string& address) const;
  Result<void> remove(const std::string& address);
  /// Removes every checkpoint (and temporary file) that is not in `keep`: regular files of names that put() writes, and no
  /// other. Call it while no `put` is under way.
  Result<void> remove_all_except(const std::vector<std::string>& keep);
  std::string path(const std::string& address) const;
  /// A word that no call, of whatever store on whatever machine, gives twice. Letters, digits and '-'.
  std::string unique_token();

 private:
  std::shared_ptr<FileSystem> fs_;  // confined to the study's folder
  std::string folder_;
  std::string token_;  // of this store and its copies
  std::shared_ptr<std::atomic<std::uint64_t>> next_token_number_;
};

}  // namespace lanista::store
