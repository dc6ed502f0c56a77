// A trial with a start race continues like one that began with the winner.
#include "lanista/exec/train/start_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "lanista/exec/train/trainer.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/start_race.h"
#include "support/exec/train/test_support.h"
#include "support/exec/train/train_to_end.h"

namespace lanista::train {
namespace {

using testing::never_stop;
using testing::Trained;

constexpr std::int64_t kSteps = 5;

TrainerInput trial(std::uint32_t id) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "adam";
  recipe.schedule = "cosine";
  recipe.precision = "float32";
  recipe.epochs = 10;  // the rate is eased beyond the race
  recipe.batch = 100;  // thirteen steps an epoch
  recipe.lr = 0.003;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  return {.trial = TrialId{id},
          .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n"
                                 "%3 = batch_norm(%2)\n%4 = dropout(%3, p=0.1)\n%5 = linear(%4, out=10)\n"
                                 "%6 = output(%5)\n"),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = 10 + id,
          .data_seed = 12,
          .data = &digits(),
          .step_ops = &ops()};
}

std::shared_ptr<const StartWeights> trained(std::uint32_t id, int steps) {
  Trainer trainer = *Trainer::create(trial(id));
  for (int i = 0; i < steps; ++i) trainer.step();
  return *clone_weights(trainer.save(), "");
}

/// Confidently wrong: the weights of a trained model with the rows of its classes turned round by one.
std::shared_ptr<const StartWeights> harmful() {
  StartWeights out = *trained(1, 39);
  for (Tensor& tensor : out.tensors) {
    if (!tensor.name.starts_with("n5.")) continue;
    const auto row = static_cast<std::ptrdiff_t>(tensor.bytes.size() / 10);
    std::ranges::rotate(tensor.bytes, tensor.bytes.begin() + row);
  }
  return std::make_shared<const StartWeights>(std::move(out));
}

/// The starts by number; the last one races as random values.
TrainerInput racing(const std::vector<std::shared_ptr<const StartWeights>>& starts) {
  TrainerInput input = trial(4);
  input.start = starts.front();
  input.recipe.ease = 0.3;
  input.recipe.recalibrate = 2;
  for (std::size_t i = 1; i < starts.size(); ++i)
    input.alternative_starts.push_back(
        {starts[i], 0.4 + 0.1 * static_cast<double>(i), 2 + static_cast<std::int64_t>(i)});
  input.alternative_starts.push_back({nullptr, 1});
  input.race_steps = kSteps;
  return input;
}

Trained train_to_end(const TrainerInput& input, std::int64_t lanes, const std::function<bool(std::int64_t)>& cut = {}) {
  const auto race = [](LaneGroup& group, TrialRun& run) {
    if (!run.is_start_race_due()) return;
    const auto raced = race_starts(group, run, never_stop);
    EXPECT_TRUE(raced) << raced.error().text();
    EXPECT_FALSE(run.is_start_race_due());
  };
  return testing::train_to_end(input, lanes, race, [&](std::int64_t step) { return cut && step > 0 && cut(step); });
}

/// The trial that began so, without a race.
Trained alone(const std::shared_ptr<const StartWeights>& start, double ease, std::int64_t recalibrate) {
  TrainerInput input = trial(4);
  input.start = start;
  input.recipe.ease = ease;
  input.recipe.recalibrate = recalibrate;
  return train_to_end(input, 1);
}

void expect_same_numbers(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.state.tensors, b.state.tensors);
  ASSERT_EQ(a.measurements.size(), b.measurements.size());
  for (std::size_t i = 0; i < a.measurements.size(); ++i) {
    EXPECT_EQ(a.measurements[i].metrics, b.measurements[i].metrics);
    EXPECT_EQ(a.measurements[i].step, b.measurements[i].step);
  }
}

// For any winner, the trial has the bits of one that began with it: the same rate factor and renewed statistics.
TEST(StartRace, MatchesATrialThatBeganWithTheWinner) {
  const auto good = trained(1, 39), better = trained(2, 60), bad = harmful();
  struct Case {
    std::vector<std::shared_ptr<const StartWeights>> starts;
    std::size_t winner;
  };
  for (const Case& each : {Case{{better, good}, 0}, Case{{bad, better}, 1}, Case{{bad}, 1}, Case{{bad, bad}, 2}}) {
    const TrainerInput input = racing(each.starts);
    const Trained raced = train_to_end(input, 4);
    const auto& race = raced.measurements.front().race;
    ASSERT_EQ(race.size(), each.starts.size() + 1);
    EXPECT_EQ(study::race_winner(race), each.winner);
    for (const study::StartCandidate& start_candidate : race) EXPECT_EQ(start_candidate.steps, kSteps);
    EXPECT_TRUE(raced.measurements[1].race.empty());
    const bool random = each.winner == each.starts.size();
    const study::Recipe& own = input.recipe;
    const AlternativeStartWeights winner = each.winner == 0
                                               ? AlternativeStartWeights{nullptr, own.ease, own.recalibrate}
                                               : input.alternative_starts[each.winner - 1];
    expect_same_numbers(raced, alone(random ? nullptr : each.starts[each.winner], winner.ease, winner.recalibrate));
  }
}

TEST(StartRace, ComparesTheMeanLossOfTheLaterHalfOfItsSteps) {
  const auto good = trained(1, 39);
  const Trained raced = train_to_end(racing({good}), 4);
  const auto& race = raced.measurements.front().race;
  for (const std::size_t number : {0U, 1U}) {
    TrainerInput input = trial(4);
    if (number == 0) input.start = good;
    input.recipe.ease = number == 0 ? 0.3 : 1;
    auto group = *LaneGroup::create(input, 1);
    TrialRun run = *TrialRun::create(input);
    ASSERT_TRUE(group.admit(run));
    TrialRun* one = &run;
    double sum = 0;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const double before = run.loss_sum();
      StepResult end;
      group.step({&one, 1}, {&end, 1});
      if (step >= kSteps / 2) sum += (run.loss_sum() - before) / 100;
    }
    EXPECT_NEAR(race[number].loss, sum / 3, 1e-12) << number;
  }
}

TEST(StartRace, GivesSameBitsWithAnyLanesAndInterruptions) {
  const TrainerInput input = racing({harmful(), trained(1, 39)});
  const Trained whole = train_to_end(input, 4);
  for (const std::int64_t lanes : {1, 2, 7}) {
    const Trained other = train_to_end(input, lanes, [&](std::int64_t step) { return step % lanes == 0; });
    expect_same_numbers(other, whole);
    EXPECT_EQ(other.measurements.front().race, whole.measurements.front().race);
  }
}

TEST(StartRace, LeavesTheRunUnchangedWhenInterrupted) {
  const TrainerInput input = racing({harmful(), trained(1, 39)});
  const Trained whole = train_to_end(input, 2);
  for (const int after : {0, 3, 7}) {
    auto group = *LaneGroup::create(input, 2);
    TrialRun run = *TrialRun::create(input);
    ASSERT_TRUE(group.admit(run));
    const TrainerState before = run.save();
    int asked = 0;
    const auto left = race_starts(group, run, [&] { return asked++ == after; });
    ASSERT_TRUE(left);
    EXPECT_FALSE(*left);
    EXPECT_TRUE(run.is_start_race_due());
    EXPECT_EQ(run.save().tensors, before.tensors);
    EXPECT_EQ(run.save().facts, before.facts);
    ASSERT_TRUE(*race_starts(group, run, never_stop));
    EXPECT_EQ(run.step_count(), kSteps);
  }
  EXPECT_EQ(study::race_winner(whole.measurements.front().race), 1U);
}

TEST(StartRace, KeepsInitialStateWhenAllCandidatesDiverge) {
  StartWeights none = *trained(1, 3);
  for (Tensor& tensor : none.tensors) {
    for (float& value : elements_of<float>(tensor)) value = std::numeric_limits<float>::quiet_NaN();
  }
  TrainerInput input = racing({std::make_shared<const StartWeights>(none)});
  input.alternative_starts.back().weights = input.start;  // no random values, this once
  auto group = *LaneGroup::create(input, 2);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group.admit(run));
  ASSERT_TRUE(*race_starts(group, run, never_stop));
  EXPECT_EQ(run.step_count(), 0);
  EXPECT_FALSE(run.is_start_race_due());
}

TEST(StartRace, RefusesAStateOfAnotherRace) {
  const TrainerInput input = racing({harmful(), trained(1, 39)});
  auto group = *LaneGroup::create(input, 2);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group.admit(run));
  ASSERT_TRUE(*race_starts(group, run, never_stop));
  TrialRun other = *TrialRun::create(racing({harmful()}));
  const auto restored = other.restore(run.save());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().message, "checkpoint's race has 3 candidates, the trial's 2");
}

}  // namespace
}  // namespace lanista::train
