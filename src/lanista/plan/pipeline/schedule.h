#pragma once

#include <compare>
#include <string>
#include <vector>

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

enum class ActionKind {
  kForward,
  kBackward,    ///< both parts of it
  kInputGrad,   ///< what the stages before wait for
  kWeightGrad,  ///< what nobody waits for
  kSend,
  kReceive,
  kReduce,  ///< weight gradients over the devices of a stage
  kStep
};

/// One thing that a place does. Micro-batches are the acting stage's; for kSend and kReceive they are the sender's,
/// `peer` is the other stage, and `gradient` says which way it goes.
struct Action {
  ActionKind kind = ActionKind::kForward;
  std::uint32_t stage = 0;
  std::uint32_t micro = 0;
  std::uint32_t peer = 0;
  bool gradient = false;
  auto operator<=>(const Action&) const = default;
};

/// What the devices of one or several stages do, in order.
struct RankSchedule {
  std::vector<std::int64_t> devices;
  std::vector<Action> actions;
  bool operator==(const RankSchedule&) const = default;
};
/// Of one step: computations only, or lowered with the transfers.
struct Schedule {
  std::vector<RankSchedule> ranks;
  bool operator==(const Schedule&) const = default;
};

/// "F0@2", "B0@2", "I0@2", "W0@2", "SEND F0@2>3", "RECV B1@3>2", "REDUCE@2", "STEP@2"
std::string text_of(const Action& action);

/// Warm-up with as many forwards as are in flight, then k backwards and k forwards in turn, then the rest (graphpipe.md
/// 4.1); with k = 1 this is 1F1B. Stages that share devices are merged in the order of a greedy run (`greedy`).
Schedule kfkb(const PipelinePlan& plan, const Problem& problem);
/// All forwards, then all backwards. In flight is the whole batch, whatever the plan says.
Schedule gpipe(const PipelinePlan& plan);
PipelinePlan with_whole_batch_in_flight(PipelinePlan plan);

/// Which of the things that could begin comes first.
struct GreedyRule {
  bool split = false;           ///< the two parts of backward passes apart: weight gradients fill what would be idle
  bool forwards_first = false;  ///< else backwards are
  double in_flight = 1;         ///< times the plan's samples, up to the batch
};
/// The order in which places would do it if each, when free, began the first thing that it can: a list schedule on the
/// simulator's times. Forward passes wait while all in-flight samples are held (a sample is held until its weight
/// gradient is done), so it cannot deadlock where micro-batches are equal. Errors: kFailedPrecondition where it does.
Result<Schedule> greedy(const PipelinePlan& plan, const Problem& problem, const GreedyRule& rule);

/// Split backward passes on a stage graph (zero bubble, graphpipe.md 6.3): the fastest by simulation of several greedy
/// orders with the plan's samples in flight, or up to twice as many where memory allows, and of kFkB; so never slower
/// than kFkB. `plan` gets the in-flight samples of what was chosen.
Schedule split_backward(PipelinePlan& plan, const Problem& problem);

/// The same with SEND and RECV: a value is sent once to each stage that reads it, right after the pass that made it,
/// and received right before the first pass that needs it.
Schedule lowered(const Schedule& schedule, const PipelinePlan& plan, const Model& model);

/// Proves that a lowered or plain schedule ends, whatever takes how long: a topological sort of the orders of all
/// places together with what passes wait for, and every transfer matched in order. Errors: kFailedPrecondition naming
/// the first action that waits for ever, or a transfer without a partner.
Result<void> prove(const Schedule& schedule, const PipelinePlan& plan);

}  // namespace lanista::pipeline
