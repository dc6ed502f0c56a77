#include "lanista/runtime/repeat.h"

#include <new>
#include <optional>

#include "lanista/kernels/flush_to_zero.h"
#include "lanista/runtime/frozen_parts.h"
#include "lanista/runtime/trial_slot.h"
#include "lanista/step/training_step.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kKeptBytes = std::int64_t{1} << 30;  // whatever is kept, the numbers are the same

Result<RepeatedTrial> train_alone(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                  const data::Dataset& data,
                                  const std::function<void(const study::Measurement&)>& on_epoch,
                                  const nn::Operators& operators, const store::CheckpointStore* checkpoints) {
  const graph::OpTable ops = step::training_ops(operators.table());
  std::optional<FrozenParts> frozen;
  FrozenParts::Head head{job.model, &data.training(job.fold), nullptr};
  if (!job.frozen.nodes.empty()) {
    if (checkpoints == nullptr) return Error{Code::kInvalidArgument, "the weights of the frozen part are missing", ""};
    frozen.emplace(FrozenParts::Setting{.data = data, .step_ops = ops, .checkpoints = *checkpoints,
                                        .operators = &operators, .bytes = kKeptBytes});
    LANISTA_ASSIGN(head, frozen->head_of(job));
  }
  std::shared_ptr<const train::StartWeights> start;
  if (job.start) {
    if (checkpoints == nullptr) return Error{Code::kInvalidArgument, "the state to start from is missing", ""};
    LANISTA_ASSIGN(start, read_start(*checkpoints, job, ops));
  }
  LANISTA_ASSIGN(space::Sample known, engine::known_to_keep_by(job, ops));
  LANISTA_ASSIGN(auto trainer, train::Trainer::create({.trial = job.trial,
                                                       .model = head.model,
                                                       .recipe = job.recipe,
                                                       .metrics = metrics,
                                                       .trial_seed = job.trial_seed,
                                                       .data_seed = job.data_seed,
                                                       .data = head.data,
                                                       .step_ops = &ops,
                                                       .operators = &operators,
                                                       .start = start,
                                                       .keep = job.keep,
                                                       .known = std::move(known)}));
  while (trainer.epochs_done() < epochs) {
    if (trainer.step()) on_epoch(trainer.measurements().back());
  }
  RepeatedTrial out{trainer.save(), trainer.measurements(), {}};
  out.hash = state_hash(out.state);
  return out;
}

}  // namespace

Result<RepeatedTrial> repeat_trial(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                   const data::Dataset& data,
                                   const std::function<void(const study::Measurement&)>& on_epoch,
                                   const nn::Operators& operators, const store::CheckpointStore* checkpoints) {
  const kernels::FlushToZero as_workers;  // part of the numerics
  try {
    return train_alone(job, epochs, metrics, data, on_epoch, operators, checkpoints);
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory", ""};
  } catch (const std::exception& error) {
    return Error{Code::kInternal, error.what(), ""};
  }
}

}  // namespace lanista::runtime
