#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// What it saves to begin with the weights of a model that is there. Cells of NAS-Bench-201 arrive in the order of an
/// evolution, which is drawn once a seed, by the results of random initial values; every arm trains the same cells in
/// the same order:
/// - `random`: random initial values;
/// - `lineage`: the weights of the cell's parent, as this arm has trained it;
/// - `zoo`: those of what room zoo offers among all that this arm has trained before and a zoo admits;
/// - `benchmark`: ten steps of each, and of random values; on with the least validation loss;
/// - controls: `any` (a parent drawn from all before) and `shrunk` (lineage, times 0.4, plus a tenth of random values).
/// One stopping rule: the target accuracy and then no new best for 8 evaluations, of 20 steps each, or 40 of them in
/// all. Rows: steps (in thousands) to the target (a model that never reaches it counts with all its steps), the saving
/// of them against `random` in per cent, the mean best accuracy, its difference from random's, the share of models that
/// took more steps than random's. Medians over request.seeds (3); spread is the largest less the smallest.
/// request.cases: digits (200 models), glyphs (60), and dev-glyphs (60, seeds from 11 on), to choose constants on, only
/// where it is named; request.queries: so many models in place of these; request.strategy: these arms beside `random`,
/// with commas between them. As a table, what a stream has come to is told after every tenth model.
Result<void> warm_start(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
