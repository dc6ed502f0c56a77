#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `selective`: training on selected examples (train.select) against training on all of them.
///
/// The tasks are the digits with 0 to 40 % wrong labels in the training rows, the digits where five classes have a
/// tenth of their rows, and three spirals. Each arm trains with the same `seeds` seeds. The arms are:
/// - uniform: all examples
/// - uniform-matched: all examples, with as many epochs as give the backward passes of selective-1
/// - random: a random half of the examples
/// - selective-1, -2, -3: selection by loss with beta 1, 2 and 3
/// - stale-2, stale-3: the losses serve for 2 and 3 passes
/// - auto, auto-every-5: selection where a comparison was won; lost branches count as backward passes
/// - batch: the rule of Composer
///
/// Rows:
/// - the final error in percent of the validation rows
/// - its difference to uniform, uniform-matched and random by seed, with the half width of the 95 % interval (Student)
/// - seconds and thousands of backward passes to 1.1, 1.2 and 1.4 times the median final error of uniform, for the
///   trainings that reach it, and the share of these (`reached`)
/// - milliseconds an epoch, measured and predicted (selection_cost_model.h), and the costs of its parts
///
/// Seconds are CPU time of the training thread. Five further trainings measure the parts of an epoch: each does one
/// more thing than another one. All trainings run in turn, an epoch at a time. Errors: those of train::LaneGroup.
Result<void> selective(int seeds, bool json, std::ostream& out);

}  // namespace lanista::bench
