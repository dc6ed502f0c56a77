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

/// The stored state of a trial: tensors and named texts (step, epoch, undelivered measurements and so on). It is one
/// safetensors file.
struct Checkpoint {
  std::vector<Tensor> tensors;               ///< parameters, optimiser state and buffers of the trial
  std::map<std::string, std::string> facts;  ///< text values by key
  /// The selected weights of the trial if they are not those in `tensors` (train::TrainerState); else empty. In the
  /// file their names begin with "kept:".
  std::vector<Tensor> kept = {};
};
/// The selected weights of the trial: `kept`, or all of `tensors` if `kept` is empty.
inline std::vector<Tensor> selected_weights(Checkpoint checkpoint) {
  return checkpoint.kept.empty() ? std::move(checkpoint.tensors) : std::move(checkpoint.kept);
}

/// The checkpoints of a study in its folder `ckpt/`, as safetensors files with the hash of their content as address.
/// Thread-safe. Any number of stores, processes and hosts may write to one folder at the same time.
class CheckpointStore {
 public:
  /// The store of the study in `study_folder`; nothing is read or written yet. `fs` must outlive it.
  CheckpointStore(FileSystem& fs, const std::string& study_folder);
  /// Writes a checkpoint durably and atomically and returns its address: 32 hexadecimal digits, a hash of its content.
  /// Equal checkpoints have one file. Errors: kInvalidArgument (invalid tensors), kIo, kResourceExhausted.
  Result<std::string> put(const Checkpoint& checkpoint);
  /// Reads the checkpoint with this address. Errors: kInvalidArgument (not 32 hexadecimal digits), kNotFound, kIo;
  /// kDataLoss (the content does not match its address or breaks a rule of safetensors).
  Result<Checkpoint> get(const std::string& address) const;
  /// Removes the file of a checkpoint; no error if there is none. Errors: kInvalidArgument (not 32 hexadecimal digits),
  /// kIo.
  Result<void> remove(const std::string& address);
  /// Removes all checkpoints except those with an address in `keep`, and all temporary files of put(). Other files in
  /// the folder stay. Precondition: no put() runs. Errors: kIo.
  Result<void> remove_all_except(const std::vector<std::string>& keep);
  /// The path of the file of a checkpoint with this address, which need not exist.
  std::string path(const std::string& address) const;
  /// A text that no other call on any store or host returns, for names of files. It has letters, digits and '-'.
  std::string unique_token();

 private:
  std::shared_ptr<FileSystem> fs_;  // confined to the study's folder
  std::string folder_;
  std::string token_;  // the same for copies of this store
  std::shared_ptr<std::atomic<std::uint64_t>> next_token_number_;
};

}  // namespace lanista::store
