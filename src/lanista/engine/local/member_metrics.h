#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// Measures trained trials, alone or blended. Ensemble selection measures many blends of the same trials. Predictions
/// of blended members are therefore cached, up to kMaxBytes, until a blend is measured on another part or clear() is
/// called. One thread at a time.
class MemberMetrics {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{512} << 20;  ///< Most bytes of cached predictions.
  /// Gives the trainer input of a job: data and settings that determine its numbers.
  using InputOf = std::function<Result<train::TrainerInput>(const engine::Job& job)>;

  /// `checkpoints` and everything that `input_of` refers to outlive this.
  MemberMetrics(const store::CheckpointStore& checkpoints, InputOf input_of)
      : checkpoints_(checkpoints), input_of_(std::move(input_of)) {}

  /// Metrics of the (blended) members on a part, by name with the prefix "train_", "val_" or "test_". Needs at least
  /// one member. Errors: those of `input_of`, of the checkpoint store and of train::measure_weights.
  Result<std::map<std::string, double>> measure(std::span<const engine::EvaluatedMember> members, data::Part part);
  /// Frees the cached predictions.
  void clear() { cached_predictions_.clear(); }

 private:
  Result<std::vector<double>> predictions(const engine::EvaluatedMember& member, data::Part part);
  Result<std::vector<Tensor>> weights(const std::string& address) const;

  const store::CheckpointStore& checkpoints_;
  InputOf input_of_;
  data::Part part_ = data::Part::kValidation;                      // Part of the cached predictions.
  std::map<std::string, std::vector<double>> cached_predictions_;  // Predictions by address of the weights.
};

}  // namespace lanista::runtime
