#pragma once

#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Times of a stage for one micro-batch.
struct StageTimes {
  double forward = 0;             ///< Seconds of the forward pass.
  double input_grad = 0;          ///< Seconds of the backward pass for gradients of inputs.
  double weight_grad = 0;         ///< Seconds of the backward pass for gradients of weights.
  double reduce = 0;              ///< Seconds to sum the weight gradients over the devices, once a step.
  double warm_cache_factor = 1;   ///< Part of a pass's time right after the same pass over another micro-batch.
  double cold_after_seconds = 0;  ///< Seconds of work after which the cache is cold: all passes over a micro-batch.
  /// Returns the seconds of the whole backward pass.
  double backward() const { return input_grad + weight_grad; }
};
/// Returns the times of each stage.
std::vector<StageTimes> times_of(const PipelinePlan& plan, const Problem& problem);

/// Times of an edge of the stage graph, for one micro-batch of its sender. Each direction has its own channel.
struct EdgeTimes {
  StageEdge edge;               ///< The edge.
  double forward_seconds = 0;   ///< Seconds to send the value.
  double backward_seconds = 0;  ///< Seconds to send its gradient.
};
/// Returns the times of each edge, in the order of edges_of.
std::vector<EdgeTimes> edge_times_of(const PipelinePlan& plan, const Problem& problem);

/// All times that the simulation of a plan needs.
struct Timing {
  /// Computes the times of a plan.
  Timing(const PipelinePlan& plan, const Problem& problem);
  /// Uses given times.
  Timing(const PipelinePlan& plan, std::vector<StageTimes> stages, std::vector<EdgeTimes> edges);
  std::vector<StageTimes> stages;               ///< Times of each stage.
  std::vector<EdgeTimes> edges;                 ///< Times of each edge.
  std::vector<std::vector<std::uint32_t>> in;   ///< Edges into each stage.
  std::vector<std::vector<std::uint32_t>> out;  ///< Edges out of each stage.
};

/// An action and its time. Transfers have none.
struct Span {
  Action action;           ///< The action.
  std::uint32_t rank = 0;  ///< Rank that ran it.
  double begin = 0;        ///< Second of its start.
  double end = 0;          ///< Second of its end.
};

/// The result of a simulated step.
struct SimulationResult {
  double seconds = 0;                      ///< Seconds of the step.
  std::vector<std::int64_t> live_samples;  ///< Most samples of each stage between forward pass and weight gradient.
  std::vector<double> peak_bytes;          ///< Bytes of each stage on each of its devices with these samples.
  std::vector<double> busy_seconds;        ///< Seconds of work of each rank.
  std::vector<double> sent_bytes;          ///< Bytes along each edge of edges_of, in both directions.
  std::vector<Span> spans;                 ///< Times of actions, rank by rank; empty if not requested.
};

/// Simulates a schedule of computations.
///
/// A rank runs its actions in order, each as soon as its inputs have arrived. Transfers run in parallel with
/// computations, one after another along each edge and direction. A pass waits for the last sample that it needs, if
/// micro-batch sizes differ. O(actions x edges of a stage). Errors: kFailedPrecondition for a deadlock.
Result<SimulationResult> simulate(const Schedule& schedule, const PipelinePlan& plan, const Problem& problem,
                                  bool spans = true);

/// Returns the seconds of a step under kFkB, without a schedule. Searches call it.
///
/// All stages must have the same k. Infinite for a deadlock.
double kfkb_seconds(const PipelinePlan& plan, const Timing& timing);

/// Returns a Gantt chart with `columns` characters and one line for each rank.
///
/// A line has the label, the most frequent action of each interval ('F', 'B', 'I', 'W', 'R' or '.'), and the busy part
/// of the rank.
std::string gantt(const SimulationResult& simulation, const std::vector<std::string>& labels, std::size_t columns = 96);
/// Returns the Gantt chart with the numbers of each rank's stages as labels.
std::string gantt(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                  std::size_t columns = 96);

}  // namespace lanista::pipeline
