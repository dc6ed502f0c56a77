#include "lanista/engine/local/trial_slot.h"

#include <new>
#include <utility>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/unit_scores.h"

namespace lanista::runtime {

namespace {

/// The transfer plan that keeps the units with the most influence on the loss.
Result<zoo::TransferPlan> plan_by_loss(const engine::Job& job, const train::TrainerState& state,
                                       const graph::OpTable& ops, const ScoreUnits& score) {
  if (!score) return Error{Code::kInvalidArgument, "no function scores the units of the parent", ""};
  const auto scores = score(*job.parent, state.tensors);
  if (scores) return engine::plan_by_scores(job, *job.start, *job.parent, *scores, ops);
  if (scores.error().code == Code::kResourceExhausted) return scores.error();
  return *job.transfer;
}

}  // namespace

Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops,
                                                              const ScoreUnits& score) {
  const study::Start& start = *job.start;
  auto stored = files.get(start.address);
  if (!stored) {
    return Error{stored.error().code,
                 "the state of " + study::start_text(start) + ", to start from, is lost: " + stored.error().message,
                 stored.error().where};
  }
  train::TrainerState state{std::move(stored->tensors), std::move(stored->facts), {}};
  if (!job.transfer) return train::clone_weights(std::move(state), start.plan);
  if (job.parent) {
    LANISTA_ASSIGN(const zoo::TransferPlan plan, plan_by_loss(job, state, ops, score));
    return train::transfer_weights(std::move(state), plan, job.model, ops, job.trial_seed);
  }
  const bool carried = start.optimizer == study::kOptimizerCarried;
  return train::transfer_weights(std::move(state), *job.transfer, job.model, ops, job.trial_seed, carried);
}

ScoreUnits unit_scorer_of(train::TrainerInput input) {
  return [input = std::move(input)](const graph::Graph& parent,
                                    std::span<const Tensor> weights) -> Result<engine::UnitScores> {
    const kernels::FlushToZero as_workers;  // part of the numeric class
    train::TrainerInput of_parent = input;
    of_parent.model = parent;
    try {
      return train::score_units(of_parent, weights);
    } catch (const std::bad_alloc&) {
      return Error{Code::kResourceExhausted, "out of memory", ""};
    }
  };
}

Digest state_hash(const train::TrainerState& state) {
  Hasher hasher;
  for (const auto* tensors : {&state.tensors, &state.kept}) {
    for (const auto& tensor : *tensors) {
      hasher.text(tensor.name);
      for (const std::int64_t dim : tensor.shape) hasher.number(dim);
      hasher.bytes(tensor.bytes);
    }
  }
  return hasher.finish();
}

}  // namespace lanista::runtime
