// Trials enter and leave lanes, change lanes, programs and neighbours, and are masked and cloned between steps. Their
// numbers equal those of a trial alone, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kSizes[] = {6, 3, 6};

enum class Schedule { kConstant, kStep, kCosine };

/// The hyper-parameters of a trial, as functions of its seed and step.
struct Trial {
  std::uint64_t seed = 0;
  Schedule schedule = Schedule::kConstant;
  LaneState state;

  LaneHyper hyper() const {
    Rng rng = Rng(seed).split("hyper");
    LaneHyper hyper;
    hyper.lr = rng.uniform(0.001, 0.1);
    hyper.momentum = rng.bernoulli(0.5) ? 0.9 : 0;
    hyper.nesterov = hyper.momentum > 0 && rng.bernoulli(0.5);
    hyper.weight_decay = rng.bernoulli(0.5) ? 0.01 : 0;
    hyper.clip_norm = rng.bernoulli(0.5) ? 0.5 : 0;
    hyper.label_smoothing = rng.bernoulli(0.5) ? 0.1 : 0;
    const auto done = static_cast<double>(state.step_count());
    if (schedule == Schedule::kStep) hyper.lr *= done < 2 ? 1 : 0.1;
    if (schedule == Schedule::kCosine) hyper.lr *= 0.5 * (1 + std::cos(std::numbers::pi * done / kSteps));
    return hyper;
  }
  OwnedBatch batch(const Derived& derived) const {
    const auto step = static_cast<std::uint64_t>(state.step_count());
    return random_batch(derived, kSizes[step % std::size(kSizes)], 1000 * (seed % 3) + step);
  }
};

std::vector<Trial> fresh_trials(const Program& program, std::size_t count, Schedule schedule) {
  std::vector<Trial> trials(count);
  for (std::size_t i = 0; i < count; ++i) trials[i] = {i + 1, schedule, *program.make_state(i + 1)};
  return trials;
}

void step_together(Program& program, const Derived& derived, std::span<Trial* const> trials,
                   std::span<const std::int64_t> seats) {
  const auto lanes = static_cast<std::size_t>(program.lanes());
  std::vector<OwnedBatch> owned;
  for (const Trial* trial : trials) owned.push_back(trial->batch(derived));
  std::vector<Batch> batches(lanes, owned[0].view());
  std::vector<LaneHyper> hyper(lanes);
  std::vector<std::uint8_t> active(lanes, 0);
  std::vector<double> loss(lanes);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto seat = static_cast<std::size_t>(seats[i]);
    batches[seat] = owned[i].view();
    hyper[seat] = trials[i]->hyper();
    active[seat] = 1;
    program.attach(seats[i], std::move(trials[i]->state));
  }
  program.train_step(batches, hyper, active, loss);
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i]->state = program.detach(seats[i]);
}

std::vector<std::int64_t> random_order(std::int64_t count, Rng& rng) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

class LaneMigration : public ::testing::TestWithParam<TestModel> {};

TEST_P(LaneMigration, KeepResultsBitIdentical) {
  Rng rng(static_cast<std::uint64_t>(GetParam().name.size()));
  for (const std::string& optimizer : autodiff::optimizer_names()) {
    for (const auto schedule : {Schedule::kConstant, Schedule::kStep, Schedule::kCosine}) {
      const Derived derived = derive(GetParam(), optimizer);
      Program single = compile_empty(derived, {.max_batch = 6});
      std::vector<Program> programs;
      for (const std::int64_t lanes : {1, 4, 16}) {
        programs.push_back(compile_empty(derived, {.lanes = lanes, .max_batch = 6 + lanes}));
      }
      const auto count = static_cast<std::size_t>(1 + rng.below(16));
      std::vector<Trial> moved = fresh_trials(single, count, schedule);
      // Unfinished trials are put into lanes of any program, in any order, and may be replaced by a clone.
      while (true) {
        std::vector<Trial*> left;
        for (Trial& trial : moved) {
          if (trial.state.step_count() < kSteps) left.push_back(&trial);
        }
        if (left.empty()) break;
        Program& program = programs[rng.below(programs.size())];
        const auto most = std::min(left.size(), static_cast<std::size_t>(program.lanes()));
        std::vector<Trial*> chosen;
        for (const std::int64_t i : random_order(static_cast<std::int64_t>(left.size()), rng)) {
          if (chosen.size() < most && (chosen.empty() || rng.bernoulli(0.8))) {
            chosen.push_back(left[static_cast<std::size_t>(i)]);
          }
        }
        if (rng.bernoulli(0.2)) chosen[0]->state = *chosen[0]->state.clone();
        step_together(program, derived, chosen, random_order(program.lanes(), rng));
      }

      std::vector<Trial> alone = fresh_trials(single, count, schedule);
      constexpr std::int64_t kOnlyLane[] = {0};
      for (std::size_t i = 0; i < count; ++i) {
        Trial* const trial = &alone[i];
        for (std::int64_t step = 0; step < kSteps; ++step) step_together(single, derived, {&trial, 1}, kOnlyLane);
        ASSERT_TRUE(moved[i].state.extract() == trial->state.extract()) << "trial " << i << " of " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, LaneMigration, ::testing::ValuesIn(operator_models()),
                         [](const auto& suite) { return suite.param.name; });

TEST(LaneState, IsRejectedByAProgramWithAnotherFormat) {
  Program mlp = compile_empty(derive(small_mlp()), {});
  Program cnn = compile_empty(derive(small_cnn()), {});
  EXPECT_ANY_THROW(cnn.attach(0, *mlp.make_state(1)));
  EXPECT_ANY_THROW(mlp.attach(1, *mlp.make_state(1)));

  mlp.attach(0, *mlp.make_state(1));
  EXPECT_ANY_THROW(mlp.attach(0, *mlp.make_state(2)));
  LaneState refused = *cnn.make_state(1);
  EXPECT_ANY_THROW(mlp.attach(0, std::move(refused)));
  EXPECT_EQ(refused.seed(), 1U) << "it is the caller's still";
  const LaneState out = mlp.detach(0);
  EXPECT_EQ(out.seed(), 1U);
  EXPECT_FALSE(mlp.detach(0));
}

// A clone in a lane equals a clone of the value, and both continue from there.
TEST(LaneClone, EqualsACopyOfTheState) {
  for (const TestModel& model : {small_mlp(), model_named("dropout"), model_named("batch_norm")}) {
    SCOPED_TRACE(model.name);
    const Derived derived = derive(model);
    Program program = compile_empty(derived, {.lanes = 3, .max_batch = 6});
    Program other = compile_empty(derived, {.max_batch = 6});
    Trial trial{7, Schedule::kConstant, *program.make_state(7)};
    Trial* const only = &trial;
    const std::int64_t seat = 2;
    for (int step = 0; step < 3; ++step) step_together(program, derived, {&only, 1}, {&seat, 1});
    LaneState copy = *trial.state.clone(11);
    const std::vector<Tensor> before = trial.state.extract();
    program.attach(2, std::move(trial.state));

    ASSERT_TRUE(program.clone(2, 0, 11));

    EXPECT_TRUE(program.extract(0) == copy.extract());
    EXPECT_TRUE(program.extract(2) == before);
    EXPECT_EQ(program.step_count(0), 3);
    EXPECT_ANY_THROW(static_cast<void>(program.clone(2, 0, 11))) << "the lane is taken";
    EXPECT_ANY_THROW(static_cast<void>(program.clone(1, 1, 11))) << "the lane is empty";
    Trial in_lane{7, Schedule::kConstant, program.detach(0)}, apart{7, Schedule::kConstant, std::move(copy)};
    Trial* const here = &in_lane;
    Trial* const there = &apart;
    const std::int64_t first = 0;
    step_together(program, derived, {&here, 1}, {&first, 1});
    step_together(other, derived, {&there, 1}, {&first, 1});
    EXPECT_TRUE(in_lane.state.extract() == apart.state.extract());
    EXPECT_TRUE(program.extract(2) == before) << "the parent does not notice";
  }
}

TEST(LaneClone, FailsWithoutMemory) {
  const Derived derived = derive(small_mlp());
  const std::int64_t state = compile_empty(derived, {}).make_state(1)->bytes();
  MemoryBudget measured;
  const Program alone = compile_empty(derived, {.lanes = 2, .budget = &measured});
  MemoryBudget tight(measured.used() + state * 3 / 2);
  Program program = compile_empty(derived, {.lanes = 2, .budget = &tight});
  ASSERT_TRUE(program.begin(0, 1));

  const auto refused = program.clone(0, 1, 2);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_FALSE(program.detach(1));
  EXPECT_EQ(program.step_count(0), 0);
}

TEST(LaneState, ReservesMemoryUntilDestroyed) {
  const Derived derived = derive(small_mlp());
  MemoryBudget budget;
  Program program = compile_empty(derived, {.budget = &budget});
  const std::int64_t without = budget.used();
  EXPECT_EQ(program.bytes(), without);
  {
    LaneState state = *program.make_state(1);
    EXPECT_EQ(budget.used(), without + state.bytes());
    const LaneState copy = *state.clone();
    EXPECT_EQ(budget.used(), without + 2 * state.bytes());
    program.attach(0, std::move(state));
    EXPECT_EQ(program.bytes(), without + copy.bytes());
  }
  EXPECT_EQ(budget.used(), program.bytes());
  program.detach(0);
  EXPECT_EQ(budget.used(), without);

  MemoryBudget tight(without + 1);
  Program poor = compile_empty(derived, {.budget = &tight});
  const auto refused = poor.make_state(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace lanista::program
