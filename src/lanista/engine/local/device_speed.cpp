#include "lanista/engine/local/device_speed.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::runtime {
namespace {

constexpr double kSeconds = 0.15;         // least timed seconds
constexpr std::int64_t kChunkSteps = 16;  // steps in a chunk
constexpr std::int64_t kMaxChunks = 4000;

train::TrainerInput input_of(const engine::Job& job, const data::Dataset& rows, const graph::OpTable& ops,
                             const program::Operators& operators, const program::Backend& backend) {
  return {.trial = job.trial,
          .model = job.model,
          .recipe = job.recipe,
          .metrics = {},
          .trial_seed = job.trial_seed,
          .data_seed = job.data_seed,
          .data = &rows,
          .step_ops = &ops,
          .operators = &operators,
          .backend = &backend};
}

/// Seconds of a step of all lanes together, with a share of the evaluation and the other work of an epoch.
Result<double> seconds_per_step(train::TrainerInput input, std::int64_t lanes, const Clock& clock) {
  LANISTA_ASSIGN(train::LaneGroup group, train::LaneGroup::create(input, lanes));
  std::vector<train::TrialRun> runs;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    input.trial = TrialId{static_cast<std::uint32_t>(lane + 1)};
    input.trial_seed += 1;
    LANISTA_ASSIGN(train::TrialRun run, train::TrialRun::create(input));
    LANISTA_TRY(group.admit(run));
    runs.push_back(std::move(run));
  }
  std::vector<train::TrialRun*> all;
  for (train::TrialRun& run : runs) all.push_back(&run);
  std::vector<train::StepResult> ends(all.size());
  double began = 0;
  std::int64_t steps = 0;
  // The first chunk includes set-up, which is not part of the speed.
  for (std::int64_t turn = 0; turn < kMaxChunks; ++turn) {
    if (turn == 1) began = clock.now();
    const std::int64_t done = group.advance(all, kChunkSteps, ends);
    for (const train::StepResult& end : ends) {
      if (!end.failure.empty()) return Error{Code::kInternal, end.failure, ""};
    }
    if (turn > 0) steps += done;
    if (turn > 1 && clock.now() - began >= kSeconds) break;
  }
  return std::max(clock.now() - began, 1e-9) / static_cast<double>(std::max<std::int64_t>(steps, 1));
}

}  // namespace

Result<plan::DeviceSpeed> device_speed(const engine::Job& like, const data::Dataset& data,
                                       const program::Operators& operators, const program::Backend& backend,
                                       const plan::Machine& machine, const Clock& clock) {
  const kernels::FlushToZero as_workers;
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  const data::Dataset& rows = data.training(like.fold);
  train::TrainerInput input = input_of(like, rows, ops, operators, backend);
  input.recipe.tune = input.recipe.select = {};
  input.recipe.epochs = study::kMaxEpochs;
  input.recipe.steps = 0;
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(like.model, operators.table()));
  const double samples =
      static_cast<double>(std::min(like.recipe.batch, std::max<std::int64_t>(1, rows.spec().split_rows[0])));
  const double work = samples * 3 * std::max(cost.forward.flops, 1.0);
  try {
    LANISTA_ASSIGN(const double alone, seconds_per_step(input, 1, clock));
    plan::DeviceSpeed speed{.alone = work / alone, .together = work / alone};
    if (backend.capability().prefers_many_lanes && machine.lanes > 1) {
      LANISTA_ASSIGN(const double all, seconds_per_step(input, machine.lanes, clock));
      speed.together = std::max(speed.together, work * static_cast<double>(machine.lanes) / all);
    }
    // All copies of one program run in one launch, which was timed with its lanes.
    if (backend.capability().max_executables == 0) {
      speed.together *= static_cast<double>(std::max<std::int64_t>(1, machine.workers));
    }
    return speed;
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory", ""};
  } catch (const std::exception& error) {
    return Error{Code::kInternal, error.what(), ""};
  }
}

bool can_train(const engine::Job& job, const data::Dataset& data, const program::Operators& operators,
               const program::Backend& backend) {
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  try {
    const auto group = train::LaneGroup::create(input_of(job, data.training(job.fold), ops, operators, backend), 1);
    return group.ok() || group.error().code != Code::kUnimplemented;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace lanista::runtime
