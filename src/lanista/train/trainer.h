#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/data/dataset.h"
#include "lanista/data/epoch_cache.h"
#include "lanista/graph/graph.h"
#include "lanista/graph/op.h"
#include "lanista/kernels/kernels.h"
#include "lanista/nn/opaque.h"
#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::train {

/// What fixes a trial's numbers, and the shared things it works with.
struct TrainerInput {
  TrialId trial;
  graph::Graph model;
  study::Recipe recipe;
  std::vector<std::string> metrics;  ///< empty: accuracy for classes, mae for numbers
  std::uint64_t trial_seed = 0;
  std::uint64_t data_seed = 0;
  const data::Dataset* data = nullptr;       ///< outlives the trainer
  const graph::OpTable* step_ops = nullptr;  ///< step::training_ops; outlives the trainer
  const nn::Operators* operators = nullptr;  ///< beyond those shipped, read while creating; may be null
  MemoryBudget* budget = nullptr;            ///< may be null
  data::EpochCache* epochs = nullptr;        ///< of `data`, shared with other trials; may be null
  kernels::Isa isa = kernels::best_isa();
};

/// Tensors and facts from which a trainer goes on exactly where another stood.
struct TrainerState {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> facts;  ///< "epoch", "step", "loss_sum", "measurements"
};

/// The measurements a state carries. Errors: kDataLoss.
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// Trains one model step by step: data order, learning rate, evaluation at the end of each epoch. A trial's numbers are
/// a function of its input alone. One thread at a time.
class Trainer {
 public:
  /// Fresh parameters. Errors: kInvalidArgument (model does not fit data or loss), kResourceExhausted.
  static Result<Trainer> create(const TrainerInput& input);
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  std::int64_t steps_per_epoch() const;
  std::int64_t step_count() const;   ///< steps done
  std::int64_t epochs_done() const;  ///< whole epochs, each measured
  /// Trains one step; at the end of an epoch also evaluates, and `measurements` grows by one. True if it did.
  bool step();
  const std::vector<study::Measurement>& measurements() const;

  /// Metrics of the present weights on a part, names with `prefix` in front.
  std::map<std::string, double> evaluate(data::Part part, const std::string& prefix);

  TrainerState save() const;
  /// The inverse of save. Errors: kDataLoss naming what is missing or does not fit; then the trainer is as before.
  Result<void> restore(const TrainerState& state);

  std::string describe() const;  ///< the program, one line an instruction

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::train
