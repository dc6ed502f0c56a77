// A lane's numbers do not depend on the lane count, the position or the neighbours: to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "lanista/base/rng.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;
using State = std::vector<Tensor>;

constexpr std::int64_t kSizes[] = {8, 8, 5, 8};  // the third batch is a short one

struct Trial {
  std::uint64_t seed;
  LaneHyper hyper;
};

Trial random_trial(Rng& rng) {
  Trial trial{.seed = rng.next(), .hyper = {}};
  trial.hyper.lr = rng.uniform(0.001, 0.1);
  trial.hyper.momentum = rng.bernoulli(0.5) ? 0.9 : 0;
  trial.hyper.nesterov = trial.hyper.momentum > 0 && rng.bernoulli(0.5);
  trial.hyper.weight_decay = rng.bernoulli(0.5) ? 0.01 : 0;
  trial.hyper.clip_norm = rng.bernoulli(0.5) ? 0.5 : 0;
  trial.hyper.label_smoothing = rng.bernoulli(0.5) ? 0.1 : 0;
  return trial;
}

struct LaneHistory {
  State state;
  std::vector<double> losses;
  bool operator==(const LaneHistory&) const = default;
};

LaneHistory alone(const Derived& derived, const Trial& trial, Precision precision) {
  Program program = compile(derived, {.max_batch = 8, .precision = precision});
  program.initialise(0, trial.seed);
  LaneHistory equal_run;
  for (std::uint64_t i = 0; i < std::size(kSizes); ++i) {
    equal_run.losses.push_back(step_once(program, random_batch(derived, kSizes[i], i), trial.hyper));
  }
  equal_run.state = program.extract(0);
  return equal_run;
}

// The trial in lane `at` of many. Lanes become masked and active again; in every second step each lane has its own
// batch.
LaneHistory in_one_program(const Derived& derived, const Trial& trial, Precision precision, std::int64_t lanes,
                           std::int64_t at, int threads = 1) {
  Rng rng(static_cast<std::uint64_t>(100 * lanes + at));
  Program program =
      compile(derived, {.lanes = lanes, .max_batch = 8 + lanes, .threads = threads, .precision = precision});
  std::vector<LaneHyper> hyper;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const Trial other = lane == at ? trial : random_trial(rng);
    hyper.push_back(other.hyper);
    program.initialise(lane, other.seed);
  }
  LaneHistory equal_run;
  const auto own = static_cast<std::size_t>(at);
  for (std::uint64_t i = 0; i < std::size(kSizes); ++i) {
    std::vector<std::uint8_t> active;
    std::vector<OwnedBatch> owned;
    std::vector<Batch> batches;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      active.push_back(lane == at || rng.bernoulli(0.6) ? 1 : 0);
      owned.push_back(random_batch(derived, lane == at ? kSizes[i] : 3, lane == at ? i : rng.next()));
    }
    if (i % 2 == 0) {
      batches = {owned[own].view()};
    } else {
      for (const OwnedBatch& batch : owned) batches.push_back(batch.view());
    }
    std::vector<double> loss(static_cast<std::size_t>(lanes));
    program.train_step(batches, hyper, active, loss);
    equal_run.losses.push_back(loss[own]);
  }
  equal_run.state = program.extract(at);
  return equal_run;
}

class Lanes : public ::testing::TestWithParam<TestModel> {};

TEST_P(Lanes, AreIndependentOfOtherLanes) {
  Rng rng(7);
  for (const std::string& optimizer : autodiff::optimizer_names()) {
    const Derived derived = derive(GetParam(), optimizer);
    const Trial trial = random_trial(rng);
    const LaneHistory wanted = alone(derived, trial, Precision::kFloat32);
    for (const double loss : wanted.losses) ASSERT_TRUE(std::isfinite(loss));

    EXPECT_TRUE(alone(derived, trial, Precision::kFloat32) == wanted);
    EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat32, 2, 0) == wanted);
    EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat32, 2, 1) == wanted);
    EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat32, 16, 11) == wanted);
    EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat32, 16, 11, 3) == wanted);
    EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat64, 3, 2) ==
                alone(derived, trial, Precision::kFloat64));
  }
}

TEST_P(Lanes, ContinueInAnotherProgram) {
  const Derived derived = derive(GetParam(), "adam");
  Program here = compile(derived, {.max_batch = 8});
  Program there = compile(derived, {.lanes = 3, .max_batch = 9});
  here.initialise(0, 4);
  for (std::int64_t lane = 0; lane < 3; ++lane) there.initialise(lane, 50);
  const OwnedBatch first = random_batch(derived, 8, 1);
  const OwnedBatch second = random_batch(derived, 8, 2);
  step_once(here, first, {.lr = 0.01});

  const State moved = here.extract(0);
  ASSERT_TRUE(there.insert(2, moved));
  EXPECT_EQ(there.extract(2), moved);
  EXPECT_EQ(there.step_count(2), 1);
  step_once(here, second, {.lr = 0.01});
  const std::vector<LaneHyper> hyper(3, LaneHyper{.lr = 0.01});
  const Batch view = second.view();
  std::vector<double> loss(3);
  there.train_step({&view, 1}, hyper, std::vector<std::uint8_t>{1, 0, 1}, loss);

  EXPECT_EQ(there.extract(2), here.extract(0));
}

INSTANTIATE_TEST_SUITE_P(Operators, Lanes, ::testing::ValuesIn(operator_models()),
                         [](const auto& chosen) { return chosen.param.name; });

std::vector<State> all_states(const Program& program) {
  std::vector<State> states;
  for (std::int64_t lane = 0; lane < program.lanes(); ++lane) states.push_back(program.extract(lane));
  return states;
}

TEST(Lanes, TrainAlikeForAnyLaneCountAndIndex) {
  Rng rng(17);
  for (const TestModel& model : {small_mlp(), small_cnn()}) {
    const Derived derived = derive(model, "adamw");
    const Trial trial = random_trial(rng);
    const LaneHistory wanted = alone(derived, trial, Precision::kFloat32);
    for (std::int64_t lanes = 1; lanes <= 17; ++lanes) {
      const std::int64_t at = rng.between(0, lanes - 1);
      const int threads = static_cast<int>(rng.between(1, 4));
      EXPECT_TRUE(in_one_program(derived, trial, Precision::kFloat32, lanes, at, threads) == wanted)
          << model.name << ", lane " << at << " of " << lanes << " on " << threads << " threads";
    }
  }
}

TEST(Lanes, AreUnchangedWhileMasked) {
  const Derived derived = derive(small_mlp());
  Program program = compile(derived, {.lanes = 2, .max_batch = 8});
  program.initialise(0, 1);
  program.initialise(1, 2);
  const std::vector<State> before = all_states(program);
  const OwnedBatch batch = random_batch(derived, 8, 3);
  const Batch view = batch.view();
  std::vector<double> loss{-1, -1};

  program.train_step({&view, 1}, std::vector<LaneHyper>(2), std::vector<std::uint8_t>{0, 1}, loss);

  EXPECT_EQ(program.extract(0), before[0]);
  EXPECT_NE(program.extract(1), before[1]);
  EXPECT_EQ(program.step_count(0), 0);
  EXPECT_EQ(loss[0], -1);
  EXPECT_GT(loss[1], 0);
}

TEST(Lanes, AreUnaffectedByADivergedLane) {
  for (const TestModel& model : {small_mlp(), small_cnn(), model_named("batch_norm_image")}) {
    const Derived derived = derive(model);
    const auto run = [&](double neighbour_lr) {
      Program program = compile(derived, {.lanes = 3, .max_batch = 8});
      for (std::int64_t lane = 0; lane < 3; ++lane) program.initialise(lane, 9);
      const std::vector<LaneHyper> hyper{{.lr = 0.1}, {.lr = neighbour_lr}, {.lr = 0.1, .momentum = 0.9}};
      std::vector<double> loss(3);
      for (std::uint64_t i = 0; i < 4; ++i) {
        const OwnedBatch batch = random_batch(derived, 8, i);
        const Batch view = batch.view();
        program.train_step({&view, 1}, hyper, std::vector<std::uint8_t>{1, 1, 1}, loss);
      }
      return std::pair(all_states(program), loss);
    };

    const auto [finite, finite_loss] = run(0.1);
    const auto [diverged, diverged_loss] = run(std::numeric_limits<double>::infinity());

    EXPECT_TRUE(std::isnan(diverged_loss[1])) << model.name;
    EXPECT_EQ(diverged[0], finite[0]) << model.name;
    EXPECT_EQ(diverged[2], finite[2]) << model.name;
    EXPECT_NE(diverged[1], finite[1]) << model.name;
    EXPECT_EQ(diverged_loss[0], finite_loss[0]) << model.name;
    EXPECT_EQ(diverged_loss[2], finite_loss[2]) << model.name;
  }
}

TEST(Lanes, KeepTheirStateWhenTheirStepThrows) {
  const Derived derived = derive(model_named("batch_norm_image"), "adam");
  for (std::int64_t culprit = 0; culprit < 3; ++culprit) {
    bool armed = false;
    Program program = compile(derived, {.lanes = 3, .max_batch = 8, .before_commit = [&](std::int64_t lane) {
                                          if (armed && lane == culprit) throw std::runtime_error("culprit");
                                        }});
    for (std::int64_t lane = 0; lane < 3; ++lane) program.initialise(lane, 9);
    const std::vector<LaneHyper> hyper(3);
    const std::vector<std::uint8_t> active(3, 1);
    std::vector<double> loss(3);
    const OwnedBatch batch = random_batch(derived, 8, 1);
    const Batch view = batch.view();
    program.train_step({&view, 1}, hyper, active, loss);
    const std::vector<State> before = all_states(program);

    armed = true;
    EXPECT_THROW(program.train_step({&view, 1}, hyper, active, loss), std::runtime_error);
    const std::vector<State> after = all_states(program);
    for (std::int64_t lane = 0; lane < 3; ++lane) {
      const auto i = static_cast<std::size_t>(lane);
      EXPECT_EQ(program.step_count(lane), lane == culprit ? 1 : 2);
      EXPECT_EQ(after[i] == before[i], lane == culprit);
      EXPECT_TRUE(lane == culprit || after[i] == after[culprit == 0 ? 1 : 0]);  // equal seeds, equal steps
    }

    // Its next try catches up with them.
    armed = false;
    std::vector<std::uint8_t> alone(3, 0);
    alone[static_cast<std::size_t>(culprit)] = 1;
    program.train_step({&view, 1}, hyper, alone, loss);
    EXPECT_EQ(all_states(program), std::vector<State>(3, after[culprit == 0 ? 1 : 0]));
  }
}

}  // namespace
}  // namespace lanista::program
