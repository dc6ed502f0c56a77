#pragma once

#include <memory>

#include "lanista/plan/elastic/scheduler_state.h"

// The scheduler that is ours.
namespace lanista::schedule {

struct ElasticOptions {
  double min_gain = 0.05;  ///< of the time that remains: less is no reason to move a trial
  double cool_down = 2;    ///< times the cost of a change that a trial is left in peace after it
  /// A plan that leaves the order of arrival, or lets trials share, must be predicted to be sooner by this part of the
  /// time than one that does not: predictions err.
  double caution = 0.03;
};

/// A list scheduler with an aim: trials that cannot end by the deadline on one worker get as many as they need, the
/// others share workers, as long as that keeps nobody from the deadline and makes a worker busier; whoever still waits
/// starts when there is room (waves). Workers to spare go to the trial that would end last. Trials that are late get
/// wider, those with time to spare give workers back when others wait. One that has begun gets more only if that pays
/// even where its prediction errs against it. A decision takes O(trials x workers).
std::unique_ptr<Policy> deadline_policy(const PlanTarget& target, const ElasticOptions& options = {});

/// Looks ahead: it simulates `towards` with several aims, from the situation on, and follows the one with the earliest
/// predicted end (a rollout: Bertsekas, Tsitsiklis and Wu, 1997). Fluid's level (true water filling) and the bounds of
/// what remains give the aims; of the best ones the order of the trials is drawn a dozen times, too, where a queue
/// waits and no trial may have more than a worker (randomised priority rules: Kolisch and Drexl, 1996). The aim in
/// force is kept unless another one is better by a hundredth; among more than some sixty trials no other is looked for
/// while all goes as it was predicted.
///
/// Trials that have begun are taken as their pace shows them (`with_observed_pace`).
///
/// Where predictions may be wrong (Prediction::error), the best few aims are simulated once more in several cases of
/// what may be so, beside first come from here on. An aim that loses in one of them, or is not sooner by four times
/// what its gain varies by, is not begun. What is left is a worker each in the order of arrival, and of workers to
/// spare what pays even if predictions err against it; of that, the aim in force and the aims that passed, the soonest
/// in the mean is followed.
std::unique_ptr<Policy> elastic(const ElasticOptions& options = {});

}  // namespace lanista::schedule
