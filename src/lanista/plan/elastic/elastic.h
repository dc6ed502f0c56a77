#pragma once

#include <memory>

#include "lanista/plan/elastic/scheduler_state.h"

// The elastic scheduler of lanista.
namespace lanista::plan {

/// Settings of the elastic scheduler.
struct ElasticOptions {
  double min_gain = 0.05;  ///< Least part of its remaining time that a trial must save by a move.
  double cool_down = 2;    ///< Least time between two moves of a trial, in multiples of Prediction::resize.
  double caution = 0.03;   ///< Part of the time by which a target with sharing or another order must be faster.
};

/// Returns the list scheduler that follows a fixed plan target.
///
/// A trial that cannot end by the deadline on one worker gets as many as it needs. Others share workers, as long as no
/// trial misses the deadline and the worker gets busier. Waiting trials start when workers are free. Spare workers go
/// to the trial that would end last. Late trials widen, and trials with spare time narrow when others wait. A running
/// trial gets more workers only if that pays even with the error of its prediction. A decision needs O(trials x
/// workers).
std::unique_ptr<Policy> deadline_policy(const PlanTarget& target, const ElasticOptions& options = {});

/// Returns the scheduler that looks ahead: it simulates deadline_policy with several targets and follows the best.
///
/// This is a rollout (Bertsekas, Tsitsiklis and Wu, 1997). The best target has the earliest predicted end. Candidates
/// come from the water level (fluid.h) and from the bounds of the remaining work. The best targets are also tried with
/// 12 random orders (Kolisch and Drexl, 1996) if predictions have no error, no trial may have several workers, and at
/// least as many trials wait as there are workers. The present target is kept unless another one is better by 1 %. With
/// more than 64 trials, no other target is tried while the end is as predicted. The pace of running trials replaces
/// their predictions (with_observed_pace).
///
/// If predictions may be wrong (Prediction::error), the best targets are simulated in 16 cases of true times. A new
/// target is not followed if first_come ends sooner in one of them. It is not followed either if its mean gain is below
/// four standard deviations. Of the remaining ones the target with the least mean end is followed. One of these always
/// exists: one worker each in the order of arrival, and more workers only where that pays in spite of the error.
std::unique_ptr<Policy> elastic(const ElasticOptions& options = {});

}  // namespace lanista::plan
