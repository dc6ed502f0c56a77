#pragma once

#include <iosfwd>

#include "lanista/bench/bench.h"

namespace lanista::bench {

/// Training steps and seconds, tuning included, to a target of the validation part, over rate x momentum x decay, of
/// one model a task: the digits' cnn, a cell of NAS-Bench-201 on the digits, a tiny transformer on sequences of drawn
/// chains. Arms: `ours` and `published` tune inside one trial (train.tune: without and with pairs, one branch at a
/// time, …); `hyperband`, `gp` and `random` try whole trainings one after the other; `oracle` is the best fixed setting
/// of a grid, found beforehand and not counted. A seed an arm draws everything anew; `reached` is the share of seeds
/// that got there within the cap of steps, the others count as the cap. Then each arm's steps over those of `oracle`,
/// and `hyperband`'s over those of `ours`. Errors: those of trainings and strategies.
Result<void> mltuner(const Request& request, std::ostream& out);

}  // namespace lanista::bench
