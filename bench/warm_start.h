#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `warm-start`: steps that a start from the weights of an earlier model saves.
///
/// Cells of NAS-Bench-201 arrive in the order of an evolution, which follows the accuracies of arm random. There is one
/// order for each seed, and every arm trains the same cells in it. The arms are:
/// - random: random initial values
/// - lineage: the weights of the cell's parent, as this arm has trained it
/// - zoo: the weights of the model that the zoo search offers among the earlier models of this arm
/// - race: ten steps of lineage, zoo and random; the one with the least validation loss continues
/// - any: the weights of a random earlier model, as a control
/// - shrunk: lineage times 0.4 plus a tenth of random values, as a control
///
/// A training ends 8 evaluations after its best accuracy, if it has reached the target, and at latest after 40. An
/// evaluation follows every 20 steps. The rows are:
/// - thousands of steps to the target; a model that never reaches it counts with all its steps
/// - the saving of steps against random, in percent
/// - the mean best accuracy, and its difference to random
/// - the share of models that need more steps than with random
///
/// Values are medians over request.seeds (3), and the spread is the largest minus the smallest. The cases are digits
/// (200 models) and glyphs (60 models). A third case, dev-glyphs, is for the choice of constants and runs only if it is
/// named. The option request.queries sets the number of models, and request.strategy lists the arms in addition to
/// random, with commas. Without JSON, it also prints the state of each stream after every tenth model.
///
/// Errors: kInvalidArgument for an unknown arm, and those of the trainings.
Result<void> warm_start(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
