#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Simulated: GraphPipe's models with stated costs on 4 to 32 stated devices (pipeline_models.h), samples a second.
/// Arms: pipedream and piper as their runtimes run them (each stage waits for the one before), -graph where stages wait
/// for what they read only, -chain where the planner is given the model as a chain; ours, split (backward passes in
/// two) and bound (no bubble). Beside them what ours gains over the better sequential baseline ("x seq") and over the
/// better one of all ("x graph"), the part of the bound, seconds to plan, micro-batches and depth. Cases
/// `<model>/<devices>` of mmt, dlrm, candle-uno; without gain: chain (a transformer of one branch) and mmt-long
/// (batches 16 times as large); branches-2 to -16 (of candle-uno, 16 devices); ablation-<model>; buffers (of
/// candle-uno); campaigns `oracle`, `never-worse`, `speed` and `large`, which `--case` asks for. It fails where a step
/// ends before its bound.
Result<void> pipeline(const BenchRequest& request, std::ostream& out);

/// Its campaigns on random graphs, --seeds of them. `oracle` (300): ours over the best of all partitions of up to 12
/// operators on 2 to 4 devices. `never-worse` (1,000): over the better of PipeDream and Piper, with transfers and
/// little memory in every other one; it fails where a plan of ours is slower. `speed` (20): seconds to plan, over
/// Piper's. `large`: 10,000 operators on 64 devices, a chain and 100 branches.
Result<void> pipeline_oracle(const BenchRequest& request, std::ostream& out);
Result<void> pipeline_never_worse(const BenchRequest& request, std::ostream& out);
Result<void> pipeline_speed(const BenchRequest& request, std::ostream& out);
Result<void> pipeline_large(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
