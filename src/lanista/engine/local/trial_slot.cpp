#include "lanista/engine/local/trial_slot.h"

#include <new>
#include <utility>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/unit_scores.h"

namespace lanista::runtime {

namespace {

using Weights = std::shared_ptr<const train::StartWeights>;

/// One start of a job: the start itself or a start candidate.
struct StartSource {
  const study::Start& start;
  const std::optional<zoo::TransferPlan>& transfer;
  const std::optional<graph::Graph>& parent;
};

/// The transfer plan that keeps the units with the most influence on the loss.
Result<zoo::TransferPlan> plan_by_loss(const engine::Job& job, const StartSource& source,
                                       const train::TrainerState& state, const graph::OpTable& ops,
                                       const ScoreUnits& score) {
  if (!score) return Error{Code::kInvalidArgument, "no function scores the units of the parent", ""};
  const auto scores = score(*source.parent, state.tensors);
  if (scores) return engine::plan_by_scores(job, source.start, *source.parent, *scores, ops);
  if (scores.error().code == Code::kResourceExhausted) return scores.error();
  return *source.transfer;
}

Result<Weights> read_weights(const store::CheckpointStore& files, const engine::Job& job, const StartSource& source,
                             const graph::OpTable& ops, const ScoreUnits& score) {
  const auto& [start, transfer, parent] = source;
  auto stored = files.get(start.address);
  if (!stored) {
    return Error{stored.error().code,
                 "the state of " + study::start_text(start) + ", to start from, is lost: " + stored.error().message,
                 stored.error().where};
  }
  train::TrainerState state{std::move(stored->tensors), std::move(stored->facts), {}};
  if (transfer && parent) {
    LANISTA_ASSIGN(const zoo::TransferPlan plan, plan_by_loss(job, source, state, ops, score));
    return train::transfer_weights(std::move(state), plan, job.model, ops, job.trial_seed);
  }
  const bool carried = start.optimizer == study::kOptimizerCarried;
  if (transfer) return train::transfer_weights(std::move(state), *transfer, job.model, ops, job.trial_seed, carried);
  return train::clone_weights(std::move(state), start.plan);
}

}  // namespace

Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops,
                                                              const ScoreUnits& score) {
  return read_weights(files, job, {*job.start, job.transfer, job.parent}, ops, score);
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

Result<std::vector<train::AlternativeStartWeights>> read_alternatives(const store::CheckpointStore& files,
                                                                      const engine::Job& job, const graph::OpTable& ops,
                                                                      const ScoreUnits& score) {
  std::vector<train::AlternativeStartWeights> out = alternatives_of(job);
  for (std::size_t i = 0; i < job.race.alternatives.size(); ++i) {
    const engine::StartRaceSetup::Alternative& rival = job.race.alternatives[i];
    LANISTA_ASSIGN(out[i].weights, read_weights(files, job, {rival.start, rival.transfer, rival.parent}, ops, score));
  }
  return out;
}

std::vector<train::AlternativeStartWeights> alternatives_of(const engine::Job& job) {
  std::vector<train::AlternativeStartWeights> out;
  if (job.race.steps == 0) return out;
  for (const engine::StartRaceSetup::Alternative& rival : job.race.alternatives) {
    out.push_back({nullptr, rival.ease, job.recipe.recalibrate});
  }
  out.push_back({nullptr, 1, 0});  // random values
  return out;
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
