#include "lanista/engine/local/repeat.h"

#include <new>
#include <optional>

#include "lanista/base/check.h"
#include "lanista/engine/local/frozen_parts.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/fork.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kKeptBytes = std::int64_t{1} << 30;  // limit of cached values; results do not depend on it

Result<RepeatedTrial> train_alone(const engine::Job& job, std::int64_t epochs,
                                  const std::optional<train::TrainerState>& forked_from,
                                  const std::vector<std::string>& metrics, const data::Dataset& data,
                                  const std::function<void(const study::Measurement&)>& on_epoch,
                                  const program::Operators& operators, const store::CheckpointStore* checkpoints,
                                  const FindBackend& backends) {
  const program::Backend* backend = &program::cpu_backend();
  if (!job.device.empty() && backends) {
    LANISTA_ASSIGN(backend, backends(job.device));
  }
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  std::optional<FrozenParts> frozen;
  FrozenParts::Head head{job.model, &data.training(job.fold), nullptr};
  if (!job.frozen.nodes.empty()) {
    if (checkpoints == nullptr) return Error{Code::kInvalidArgument, "the weights of the frozen part are missing", ""};
    frozen.emplace(FrozenParts::Setting{.data = data,
                                        .step_ops = ops,
                                        .checkpoints = *checkpoints,
                                        .operators = &operators,
                                        .bytes = kKeptBytes,
                                        .backend = backend});
    LANISTA_ASSIGN(head, frozen->head_input_of(job));
  }
  LANISTA_ASSIGN(space::Sample known, engine::selection_inputs(job, ops));
  train::TrainerInput input{.trial = job.trial,
                            .model = head.model,
                            .recipe = job.recipe,
                            .metrics = metrics,
                            .trial_seed = job.trial_seed,
                            .data_seed = job.data_seed,
                            .data = head.data,
                            .step_ops = &ops,
                            .operators = &operators,
                            .backend = backend,
                            .keep = job.keep,
                            .known = std::move(known)};
  if (job.start) {
    if (checkpoints == nullptr) return Error{Code::kInvalidArgument, "the state to start from is missing", ""};
    LANISTA_ASSIGN(input.start, read_start(*checkpoints, job, ops, unit_scorer_of(input)));
  }
  LANISTA_ASSIGN(auto trainer, train::Trainer::create(input));
  if (forked_from) {
    LANISTA_TRY(trainer.restore(train::forked_state(*forked_from, job.trial_seed, job.fork->measurements)));
  }
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
                                   const program::Operators& operators, const store::CheckpointStore* checkpoints) {
  return repeat_lineage({{job, epochs}}, metrics, data, on_epoch, operators, checkpoints);
}

Result<RepeatedTrial> repeat_lineage(const std::vector<engine::LineageSegment>& line,
                                     const std::vector<std::string>& metrics, const data::Dataset& data,
                                     const std::function<void(const study::Measurement&)>& on_epoch,
                                     const program::Operators& operators, const store::CheckpointStore* checkpoints,
                                     const FindBackend& backends) {
  const kernels::FlushToZero as_workers;  // part of the numeric class
  LANISTA_CHECK(!line.empty() && !line.front().job.fork, "a line begins at its beginning");
  try {
    std::optional<RepeatedTrial> so_far;
    for (const engine::LineageSegment& lineage_segment : line) {
      std::optional<train::TrainerState> from;
      if (so_far) from = std::move(so_far->state);
      LANISTA_ASSIGN(so_far, train_alone(lineage_segment.job, lineage_segment.through, from, metrics, data, on_epoch,
                                         operators, checkpoints, backends));
    }
    return *std::move(so_far);
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory", ""};
  } catch (const std::exception& error) {
    return Error{Code::kInternal, error.what(), ""};
  }
}

}  // namespace lanista::runtime
