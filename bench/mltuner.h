#pragma once

#include <iosfwd>

#include "bench/bench.h"

namespace lanista::bench {

/// Training steps and seconds, tuning included, to a target of the validation part, over rate x momentum x decay x
/// batch (the task's, twice and four times as large; a step is one of the task's batch, a larger one is several), of
/// the tasks of mltuner_tasks.h. Arms: `ours` and `published` tune inside a trial, which ends as one of strategy
/// mltuner does, and then another begins; `ours-…` are ablations (`ours-one-trial` never begins another); `hyperband`
/// and its variants, `gp`, `random` and `pbt` train as a strategy says; `oracle` is the one setting of a grid by which
/// all seeds together get there first, found beforehand and not counted. A seed an arm draws everything anew; `reached`
/// is the share of seeds that got there within the cap of steps, the others count as the cap. Then each arm's steps
/// over those of `oracle`, and `hyperband`'s over those of `ours`, over tasks without a rate that changes.
/// request.strategy: one arm, or options of mltuner as JSON. Errors: those of trainings and strategies.
Result<void> mltuner(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
