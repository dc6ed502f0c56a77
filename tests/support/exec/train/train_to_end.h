#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

// Trials that have branches on their way, from beginning to end.
namespace lanista::train::testing {

inline bool never_stop() { return false; }

struct Trained {
  TrainerState state;
  std::vector<study::Measurement> measurements;
};

/// Trains to the end of the epochs, with save and restore at every step of `saves_at`; `prepare` is called before each.
inline Trained train_to_end(const TrainerInput& input, std::int64_t lanes,
                            const std::function<void(LaneGroup&, TrialRun&)>& prepare,
                            const std::function<bool(std::int64_t)>& saves_at = {}) {
  auto group = LaneGroup::create(input, lanes);
  EXPECT_TRUE(group) << group.error().text();
  TrialRun run = *TrialRun::create(input);
  TrialRun* one = &run;
  while (run.progress().epochs_done() < input.recipe.epochs) {
    EXPECT_TRUE(group->admit(run));
    if (saves_at && saves_at(run.progress().step_count())) {
      TrainerInput later = input;  // a resumed trial has no start weights
      later.start.reset();
      TrialRun resumed = *TrialRun::create(later);
      EXPECT_TRUE(resumed.restore(run.save()));
      run = std::move(resumed);
      EXPECT_TRUE(group->admit(run));
    }
    prepare(*group, run);
    if (run.progress().step_count() >= (run.progress().epochs_done() + 1) * run.definition().epochs.length) {
      ADD_FAILURE() << "an epoch ended unmeasured, at step " << run.progress().step_count();
      break;
    }
    StepResult end;
    group->step({&one, 1}, {&end, 1});
    EXPECT_EQ(end.failure, "");
  }
  return {run.save(), run.progress().measurements()};
}

}  // namespace lanista::train::testing
