#pragma once

#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Seconds of a stage's passes over one micro-batch, and of adding up its weight gradients once; and the share of a
/// pass's that it takes where nothing was done since the same pass over another micro-batch (Operator::again).
struct StageTimes {
  double forward = 0, input_grad = 0, weight_grad = 0, reduce = 0;
  double warm_cache_factor = 1;
  double cold_after_seconds =
      0;  ///< seconds of all passes of the model over such a micro-batch: behind so many nothing is near
  double backward() const { return input_grad + weight_grad; }
};
std::vector<StageTimes> times_of(const PipelinePlan& plan, const Problem& problem);

/// What an edge of the stage graph takes for a micro-batch of its sender, forth and back; two channels, one each way.
struct EdgeTimes {
  StageEdge edge;
  double forward_seconds = 0, backward_seconds = 0;
};
std::vector<EdgeTimes> edge_times_of(const PipelinePlan& plan, const Problem& problem);

/// All that simulations of a plan look up.
struct Timing {
  Timing(const PipelinePlan& plan, const Problem& problem);
  Timing(const PipelinePlan& plan, std::vector<StageTimes> stages, std::vector<EdgeTimes> edges);
  std::vector<StageTimes> stages;
  std::vector<EdgeTimes> edges;
  std::vector<std::vector<std::uint32_t>> in, out;  ///< edges of a stage
};

/// An action and when it ran; without transfers.
struct Span {
  Action action;
  std::uint32_t rank = 0;
  double begin = 0, end = 0;
};

/// What a step takes.
struct SimulationResult {
  double seconds = 0;
  std::vector<std::int64_t> live_samples;  ///< of every stage, at most: from the forward pass to the weight gradient
  std::vector<double> peak_bytes;          ///< of every stage on each of its devices, with those samples
  std::vector<double> busy_seconds;        ///< of every place
  std::vector<double> sent_bytes;          ///< along every edge of edges_of, both ways
  std::vector<Span> spans;                 ///< in the order of the places; empty if not asked for
};

/// Runs a schedule of computations on a clock of its own: a place does its actions in order, each when what it waits
/// for has arrived; transfers go while places compute, one after the other along each edge and direction. Passes of
/// other micro-batch sizes wait for the last sample that they need. O(actions times edges of a stage); the result does
/// not depend on the order in which places are looked at. Errors: kFailedPrecondition where it never ends.
Result<SimulationResult> simulate(const Schedule& schedule, const PipelinePlan& plan, const Problem& problem,
                                  bool spans = true);

/// Seconds of kFkB alone; what searches call. Requires equal k and micro-batches that never wait for ever; infinity
/// where they do.
double kfkb_seconds(const PipelinePlan& plan, const Timing& timing);

/// A Gantt chart of `columns` characters: a line a place with its label, each cell what ran there for most of it ('F',
/// 'B', 'I', 'W', 'R' or '.'), and how busy the place was.
std::string gantt(const SimulationResult& simulation, const std::vector<std::string>& labels, std::size_t columns = 96);
/// The same with the numbers of each place's stages.
std::string gantt(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                  std::size_t columns = 96);

}  // namespace lanista::pipeline
