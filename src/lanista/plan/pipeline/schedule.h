#pragma once

#include <compare>
#include <string>
#include <vector>

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// What an action does.
enum class ActionKind {
  kForward,     ///< Forward pass.
  kBackward,    ///< Both parts of a backward pass.
  kInputGrad,   ///< Backward pass for gradients of inputs, which earlier stages wait for.
  kWeightGrad,  ///< Backward pass for gradients of weights, which no stage waits for.
  kSend,        ///< Sends a value or a gradient.
  kReceive,     ///< Receives a value or a gradient.
  kReduce,      ///< Sums weight gradients over the devices of a stage.
  kStep         ///< Updates the weights of a stage.
};

/// One entry of the schedule of a rank.
struct Action {
  ActionKind kind = ActionKind::kForward;  ///< What it does.
  std::uint32_t stage = 0;                 ///< Number of the acting stage.
  std::uint32_t micro = 0;                 ///< Number of the micro-batch, from 0; for transfers, of the sender.
  std::uint32_t peer = 0;                  ///< Number of the other stage of a transfer.
  bool gradient = false;                   ///< True: the transfer sends a gradient, against the edge.
  auto operator<=>(const Action&) const = default;
};

/// The actions of one rank in their order. Stages with equal devices share a rank.
struct RankSchedule {
  std::vector<std::int64_t> devices;  ///< Numbers of the devices of the rank.
  std::vector<Action> actions;        ///< The actions, in the order in which they run.
  bool operator==(const RankSchedule&) const = default;
};
/// The schedule of one step: computations only, or with transfers (lowered).
struct Schedule {
  std::vector<RankSchedule> ranks;  ///< The ranks, in the order of their first stages.
  bool operator==(const Schedule&) const = default;
};

/// Returns an action as text, with its micro-batch and its stage: "F0@2", "B0@2", "I0@2", "W0@2", "SEND F0@2>3", "RECV
/// B1@3>2", "REDUCE@2", "STEP@2".
std::string text_of(const Action& action);

/// Returns the kFkB schedule; with k = 1 it is 1F1B.
///
/// A stage runs as many forward passes as are in flight, then k backward and k forward passes in turn, then the rest.
/// If any stages share devices, the whole schedule is that of greedy() with the default rule. It throws InternalError
/// if that has a deadlock.
Schedule kfkb(const PipelinePlan& plan, const Problem& problem);
/// Returns the schedule with all forward passes before all backward passes (GPipe). The whole batch is then in flight.
Schedule gpipe(const PipelinePlan& plan);
/// Returns the plan with Stage::in_flight set to the whole batch in every stage.
PipelinePlan with_whole_batch_in_flight(PipelinePlan plan);

/// The order in which a greedy schedule prefers actions.
struct GreedyRule {
  bool split = false;           ///< True: backward passes have two parts, and weight gradients fill idle time.
  bool forwards_first = false;  ///< True: forward passes precede backward passes.
  double in_flight = 1;         ///< Samples in flight relative to the plan's, up to the batch.
};
/// Returns the list schedule in which each free rank starts the first action that can start.
///
/// Times are those of the simulator. Forward passes wait while all in-flight samples are held, until their weight
/// gradients are computed. So it cannot deadlock if micro-batches are equal. Errors: kFailedPrecondition for a
/// deadlock.
Result<Schedule> greedy(const PipelinePlan& plan, const Problem& problem, const GreedyRule& rule);

/// Returns the fastest schedule with split backward passes on the stage graph (zero bubble).
///
/// It simulates kFkB and several greedy orders, with the plan's samples in flight or up to twice as many if memory
/// allows. So it is never slower than kFkB with split passes. Of `plan` it changes `in_flight` of each stage, to that
/// of the returned schedule, and nothing else.
Schedule split_backward(PipelinePlan& plan, const Problem& problem);

/// Returns the schedule with transfers (kSend and kReceive) added. `schedule` must have computations only.
///
/// A value is sent once to each stage that reads it, right after its pass. It is received right before the first pass
/// that needs it.
Schedule lowered(const Schedule& schedule, const PipelinePlan& plan, const Model& model);

/// Proves that a schedule, with or without transfers, ends for all durations of its actions.
///
/// It sorts the actions of all ranks topologically, with the dependencies of passes and transfers. Errors:
/// kFailedPrecondition with the first action that never starts, a pass that is missing or listed twice, or a transfer
/// without a partner.
Result<void> prove(const Schedule& schedule, const PipelinePlan& plan);

}  // namespace lanista::pipeline
