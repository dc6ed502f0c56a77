#pragma once

#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Seconds of the passes of a stage over one micro-batch, without transfers between stages.
struct StageTimes {
  double forward = 0;             ///< Seconds of the forward pass.
  double input_grad = 0;          ///< Seconds of the backward pass for gradients of inputs.
  double weight_grad = 0;         ///< Seconds of the backward pass for gradients of weights.
  double reduce = 0;              ///< Seconds to sum the weight gradients over the devices, once a step.
  double warm_cache_factor = 1;   ///< Factor of a pass with a warm cache: the limit for no work since the same pass.
  double cold_after_seconds = 0;  ///< Seconds of work, the pass itself included, after which the cache is cold.
  /// Returns the seconds of both parts of the backward pass over one micro-batch.
  double backward() const { return input_grad + weight_grad; }
};
/// Returns the times of each stage, in the plan's order: seconds for one micro-batch on its devices, without transfers.
std::vector<StageTimes> times_of(const PipelinePlan& plan, const Problem& problem);

/// Seconds to send one micro-batch along an edge of the stage graph. Each direction has its own channel.
struct EdgeTimes {
  StageEdge edge;               ///< The edge.
  double forward_seconds = 0;   ///< Seconds to send the values of a micro-batch of the producing stage.
  double backward_seconds = 0;  ///< Seconds to send the gradients of a micro-batch of the waiting stage.
};
/// Returns the times of each edge, in the order of edges_of. They are 0 between stages on the same devices.
std::vector<EdgeTimes> edge_times_of(const PipelinePlan& plan, const Problem& problem);

/// All times that the simulation of a plan needs, with the edges of each stage.
struct Timing {
  /// Computes the times of a plan with times_of and edge_times_of.
  Timing(const PipelinePlan& plan, const Problem& problem);
  /// Uses these times, such as measured ones: `stages` in the order of the plan, `edges` in the order of edges_of.
  Timing(const PipelinePlan& plan, std::vector<StageTimes> stages, std::vector<EdgeTimes> edges);
  std::vector<StageTimes> stages;               ///< Times of each stage, in the order of the plan.
  std::vector<EdgeTimes> edges;                 ///< Times of each edge, in the order of edges_of.
  std::vector<std::vector<std::uint32_t>> in;   ///< For each stage: indices in `edges` of edges into it.
  std::vector<std::vector<std::uint32_t>> out;  ///< For each stage: indices in `edges` of edges out of it.
};

/// An action with its start and its end. Transfers have no spans.
struct Span {
  Action action;           ///< The action.
  std::uint32_t rank = 0;  ///< Index of the rank that ran it.
  double begin = 0;        ///< Start, in seconds from the start of the step.
  double end = 0;          ///< End, in seconds from the start of the step.
};

/// The result of a simulated step.
struct SimulationResult {
  double seconds = 0;                      ///< Seconds of the step.
  std::vector<std::int64_t> live_samples;  ///< For each stage: most samples between forward pass and weight gradient.
  std::vector<double> peak_bytes;          ///< For each stage: bytes on each of its devices with these samples.
  std::vector<double> busy_seconds;        ///< For each rank: seconds of its actions in sum.
  /// For each edge of edges_of: bytes of a step, in both directions; also between stages on the same devices.
  std::vector<double> sent_bytes;
  std::vector<Span> spans;  ///< Spans of all actions, rank by rank; empty if not requested.
};

/// Simulates one step of a schedule of computations. With false `spans`, SimulationResult::spans stays empty.
///
/// A rank runs its actions in order, each as soon as its inputs have arrived. Transfers run in parallel with
/// computations, one after another along each edge and direction. A pass waits for the last sample that it needs, if
/// micro-batch sizes differ. O(actions x edges of a stage). Errors: kFailedPrecondition for a deadlock.
Result<SimulationResult> simulate(const Schedule& schedule, const PipelinePlan& plan, const Problem& problem,
                                  bool spans = true);

/// Returns the seconds of a step under kFkB, without a schedule. Searches call it.
///
/// Each stage has a rank of its own, even if devices are shared. Without shared devices it is the time that simulate()
/// gives for kfkb(). Infinite for a deadlock.
double kfkb_seconds(const PipelinePlan& plan, const Timing& timing);

/// Returns a Gantt chart for people, with `columns` characters and one line for each rank.
///
/// A line has the label of the rank, the action with the most time in each interval ('F', 'B', 'I', 'W', 'R', or '.' if
/// it is idle for more than half), and the busy part of the rank in percent. `labels` has one entry for each rank.
/// Empty for a step of 0 seconds.
std::string gantt(const SimulationResult& simulation, const std::vector<std::string>& labels, std::size_t columns = 96);
/// Returns the Gantt chart with the numbers of each rank's stages as its label.
std::string gantt(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                  std::size_t columns = 96);

}  // namespace lanista::pipeline
