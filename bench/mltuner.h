#pragma once

#include <iosfwd>
#include <vector>

#include "bench/bench.h"
#include "bench/mltuner_tasks.h"

namespace lanista::bench {

/// Benchmark `mltuner`: training steps and seconds, with all tuning, until a task reaches its target (mltuner_tasks.h).
///
/// The search is over rate, momentum, weight decay and batch. The batch is that of the task, or twice or four times as
/// large. Steps count batches of the task's size, so a step with a larger batch counts as several. The arms are:
/// - ours: trials that tune themselves, one after the other; each ends as with strategy mltuner
/// - ours-…: ablations of ours; ours-one-trial never begins a second trial
/// - hyperband and its variants, gp, random, pbt: whole trainings that a strategy suggests
/// - oracle: the one setting of a grid with the least steps over all seeds; the steps to find it do not count
///
/// Each seed of an arm is a new search. `reached` is the share of seeds that reach the target within the cap of steps.
/// The others count as the cap. If no setting of the grid reaches the target with all seeds, oracle has `reached` 0 and
/// a row with the status "failed" for its steps. The last rows are geometric means over the tasks without
/// `rate_changes` that both arms have steps of: the steps of each arm over those of oracle, and of hyperband over ours.
///
/// request.strategy selects one arm, or gives options of mltuner as JSON. Errors: those of trainings and strategies;
/// kNotFound for an unknown case.
Result<void> mltuner(const BenchRequest& request, std::ostream& out);

/// As mltuner(), on these tasks.
Result<void> mltuner_of_tasks(const std::vector<TuneTask>& tasks, const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
