#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `pipeline`: plans of GraphPipe's models on 4 to 32 devices, simulated (pipeline_models.h).
///
/// The costs are stated, not measured. The value is samples a second. The arms are:
/// - pipedream, piper: these planners with their runtimes, in which each stage waits for the one before
/// - pipedream-graph, piper-graph: the same plans, where a stage waits only for the stages that it reads
/// - pipedream-chain, piper-chain: the planner gets the model as a chain
/// - ours, split: the lanista planner, without and with split backward passes
/// - bound: no idle time
///
/// Further rows: the gain over the better sequential baseline ("x seq") and over the better of all ("x graph"); the
/// part of the bound; seconds to plan; micro-batches; depth.
///
/// Cases:
/// - mmt/N, dlrm/N, candle-uno/N: the models on N devices
/// - chain/N, mmt-long/8: a transformer of one branch, and batches 16 times as large; a graph has no advantage there
/// - branches-2 to branches-16: candle-uno on 16 devices
/// - ablation-MODEL: the parts of the gain
/// - buffers: samples in flight of candle-uno
/// - oracle, never-worse, speed, large: campaigns, which run only if `--case` names them
///
/// Errors: kNotFound for an unknown case; kInternal if a step ends before its bound.
Result<void> pipeline(const BenchRequest& request, std::ostream& out);

/// Campaign `oracle`: plans over the best of all partitions, on --seeds random graphs (300).
///
/// A graph has up to 12 operators, for 2 to 4 devices. Errors: kInternal if a plan is wrong.
Result<void> pipeline_oracle(const BenchRequest& request, std::ostream& out);

/// Campaign `never-worse`: plans over the better of PipeDream and Piper, on --seeds random graphs (1,000).
///
/// Every other graph has transfers and little memory. Errors: kInternal if a plan is slower.
Result<void> pipeline_never_worse(const BenchRequest& request, std::ostream& out);

/// Campaign `speed`: seconds to plan, and those of Piper over them, on --seeds random graphs (20).
Result<void> pipeline_speed(const BenchRequest& request, std::ostream& out);

/// Campaign `large`: seconds to plan 10,000 operators on 64 devices, as a chain and with 100 branches.
Result<void> pipeline_large(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
