// Steps whose places share nothing but one piece of memory, as processes do, or not even that, as on other machines:
// each has made its program anew. Processes and connections themselves are in tests/pipeline_proof.cpp.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "lanista/base/rng.h"
#include "lanista/model/ops/rules.h"
#include "lanista/model/graph/text.h"
#include "support/exec/pipeline_parallel/stages_support.h"

namespace lanista::nn {
namespace {

using namespace testing;

constexpr std::int64_t kMost = 16, kParts = 4;
constexpr std::int64_t kSizes[] = {16, 13, 3, 16};
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

ProgramOptions options_of(const Stages* stages, Precision precision, std::int64_t parts) {
  return {.max_batch = kMost, .accumulate = parts, .stages = stages, .precision = precision};
}

std::shared_ptr<ThreadPlaces> places_of(const Derived& derived, const Stages& stages, Precision precision,
                                        const Operators* operators = nullptr) {
  const auto make = [&derived, stages, precision, operators] {
    Stages theirs = stages;
    theirs.elsewhere = std::make_shared<ThreadPlaces>(0, ThreadPlaces::Make());
    ProgramOptions options = options_of(&theirs, precision, stages.pieces());
    options.operators = operators;
    return *StageMember::compile(kernels::best_isa(), derived.train, derived.infer, options);
  };
  return std::make_shared<ThreadPlaces>(stages.places.size() - 1, make, stages.apart);
}

struct Apart {
  Apart(const Derived& derived, std::size_t count, std::int64_t parts, std::size_t places = 2,
        Precision precision = Precision::kFloat32, const Operators* operators = nullptr, bool by_line = false) {
    Stages stages = in_stages(derived.model, count, parts, places);
    stages.apart = by_line;
    at = places_of(derived, stages, precision, operators);
    stages.elsewhere = at;
    ProgramOptions options = options_of(&stages, precision, parts);
    options.operators = operators;
    program = std::make_unique<Program>(compile(derived, options));
  }
  std::shared_ptr<ThreadPlaces> at;
  std::unique_ptr<Program> program;
};

class StagedApart : public ::testing::TestWithParam<TestModel> {};

TEST_P(StagedApart, TrainAsOneThread) {
  const Derived derived = derive(GetParam(), "adam");
  if (!derived.train.renewed.empty()) GTEST_SKIP() << "exchanges values between parts";
  for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const std::size_t count : {2U, 7U}) {
      for (const std::int64_t parts : {std::int64_t{1}, kParts}) {
        Apart ours(derived, count, parts, 3, precision);
        Program plain = compile(derived, options_of(nullptr, precision, parts));
        Apart far(derived, count, parts, 3, precision, nullptr, true);
        for (std::size_t i = 0; i < std::size(kSizes); ++i) {
          const OwnedBatch batch = random_batch(derived, kSizes[i], 10 + i);
          const double loss = step_once(plain, batch, kHyper);
          EXPECT_EQ(step_once(*ours.program, batch, kHyper), loss) << count << ", " << i;
          EXPECT_EQ(step_once(*far.program, batch, kHyper), loss) << count << ", " << i;
        }
        EXPECT_TRUE(ours.program->extract(0) == plain.extract(0)) << count << " stages, " << parts << " parts";
        EXPECT_TRUE(far.program->extract(0) == plain.extract(0)) << count << " stages, " << parts << " parts";
        EXPECT_FALSE(ours.at->is_entered || far.at->is_entered);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, StagedApart, ::testing::ValuesIn(operator_models()),
                         [](const auto& of) { return of.param.name; });

// Whatever is lost when: nothing of the step was done, and the next one goes on from the same state.
class PlacesApart : public ::testing::TestWithParam<bool> {
 protected:
  static Apart of(const Derived& derived, std::size_t count, std::size_t places = 2,
                  const Operators* operators = nullptr) {
    return Apart(derived, count, kParts, places, Precision::kFloat32, operators, GetParam());
  }
};

TEST_P(PlacesApart, LeaveALaneAsItWasWhereAPlaceIsLost) {
  const Derived derived = derive(small_cnn(), "adam");
  Apart ours = of(derived, 4, 3);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  Rng rng(7);
  int lost = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    if (rng.bernoulli(0.3)) ours.at->fails_at_entering = 1;
    ours.at->fails_at_look = static_cast<int>(rng.below(3));
    double loss = 0;
    for (bool done = false; !done;) {
      const auto before = ours.program->extract(0);
      try {
        loss = step_once(*ours.program, batch, kHyper);
        done = true;
      } catch (const PlacesLost&) {
        ++lost;
        EXPECT_FALSE(ours.at->is_entered);
        EXPECT_TRUE(ours.program->extract(0) == before);
      }
    }
    EXPECT_EQ(loss, step_once(plain, batch, kHyper)) << i;
  }
  EXPECT_GT(lost, 3);
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

// Who waits for a place that does nothing looks whether it is there.
TEST_P(PlacesApart, WaitForNobodyWhoIsGone) {
  const Derived derived = derive(small_mlp());
  for (const std::size_t count : {2U, 3U, 5U}) {
    Apart ours = of(derived, count, 3);
    const OwnedBatch batch = random_batch(derived, kMost, 1);
    ours.at->is_idle = true;
    ours.at->fails_at_look = 3;
    EXPECT_THROW(step_once(*ours.program, batch, kHyper), PlacesLost) << count;
    ours.at->is_idle = false;
    Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper)) << count;
    EXPECT_EQ(ours.at->begun, 2);
  }
}

TEST_P(PlacesApart, AddToGradientsThatAreThere) {
  const Derived derived = derive(small_mlp());
  const Stages stages = in_stages(derived.model, 3, kParts, 3);
  Apart ours = of(derived, 3, 3);
  Program threads = compile(derived, options_of(&stages, Precision::kFloat32, kParts));
  auto seen = ours.program->make_gradients(), wanted = threads.make_gradients(), other = ours.program->make_gradients();
  ASSERT_TRUE(seen.ok() && wanted.ok() && other.ok());
  for (std::uint64_t i = 0; i < 3; ++i) {
    OwnedBatch batch = random_batch(derived, kMost, i);
    for (std::int64_t w = 0; w < kMost; ++w) batch.weights.push_back(static_cast<float>(w % 3));
    EXPECT_EQ(ours.program->gradients(0, batch.view(), 3 * kMost, kHyper, *seen, i > 0),
              threads.gradients(0, batch.view(), 3 * kMost, kHyper, *wanted, i > 0));
    EXPECT_TRUE(seen->extract() == wanted->extract()) << i;
    ours.program->gradients(0, random_batch(derived, kMost, 90).view(), kMost, kHyper, *other);  // in the same memory
  }
}

TEST_P(PlacesApart, ReadABatchWhereverItIsRead) {
  const Derived derived = derive(TestModel{"two",
                                           "%0 = input(shape=[6])\n%1 = linear(%0, out=5)\n%2 = linear(%0, out=5)\n"
                                           "%3 = add(%1, %2)\n%4 = linear(%3, out=5)\n%5 = output(%4)\n"});
  Apart ours = of(derived, 4, 3);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper));
  }
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

TEST_P(PlacesApart, RenewBuffersAsThreadsDo) {
  const Derived derived = derive(model_named("batch_norm"));
  ASSERT_FALSE(derived.train.renewed.empty());
  const Stages stages = in_stages(derived.model, 3, kParts);
  Apart ours = of(derived, 3);
  Program threads = compile(derived, options_of(&stages, Precision::kFloat32, kParts));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(threads, batch, kHyper));
  }
  EXPECT_TRUE(ours.program->extract(0) == threads.extract(0));
}

TEST_P(PlacesApart, TakeTheirOwnNumbersOfALane) {
  const Derived derived = derive(kDropouts);
  Apart ours = of(derived, 5);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  const std::vector<double> of_ours = own_numbers(ours.program->lane_numbers()),
                            of_plain = own_numbers(plain.lane_numbers());
  LaneHyper hyper = kHyper;
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  hyper.numbers = of_ours;
  const double seen = step_once(*ours.program, batch, hyper);
  hyper.numbers = of_plain;
  EXPECT_EQ(seen, step_once(plain, batch, hyper));
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

TEST(StagesApart, RehearseByThemselves) {
  const Derived derived = derive(small_cnn());
  Apart ours(derived, 3, kParts);
  std::size_t lines = 0;
  ours.program->rehearse(random_batch(derived, kMost, 1).view(), kHyper, [&] { ++lines; });
  EXPECT_EQ(lines, ours.program->plan().size());
  EXPECT_EQ(ours.at->begun, 0);
}

// In a place of another's, and in the first.
TEST_P(PlacesApart, TellWhatIsThrownElsewhere) {
  const auto left = std::make_shared<std::atomic<int>>(-1);
  const Operators operators = with_thrower(left);
  const graph::OpTable ops = step::training_ops(operators.table());
  for (const char* text : {"%0 = input(shape=[6])\n%1 = thrower(%0)\n%2 = linear(%1, out=6)\n%3 = linear(%2, out=6)\n"
                           "%4 = linear(%3, out=5)\n%5 = output(%4)\n",
                           "%0 = input(shape=[6])\n%1 = linear(%0, out=6)\n%2 = linear(%1, out=6)\n%3 = thrower(%2)\n"
                           "%4 = linear(%3, out=5)\n%5 = output(%4)\n"}) {
    const auto model = graph::parse(text);
    const Derived derived{*model, *step::derive_training_step(*model, {}, ops),
                          *step::derive_inference_step(*model, ops)};
    Apart ours = of(derived, 2, 2, &operators);
    const OwnedBatch batch = random_batch(derived, kMost, 1);
    for (int calls = 0; calls < 4; ++calls) {
      const auto before = ours.program->extract(0);
      *left = calls;
      try {
        step_once(*ours.program, batch, kHyper);
        ADD_FAILURE() << "nothing was thrown after " << calls << " calls";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "no more");
      }
      EXPECT_TRUE(ours.program->extract(0) == before);
      *left = -1;
      step_once(*ours.program, batch, kHyper);
      EXPECT_FALSE(ours.program->extract(0) == before);
    }
  }
}

TEST(StagesApart, KnowProgramsThatAreNotTheirs) {
  const Derived derived = derive(small_mlp());
  const auto member = [&](std::size_t count, std::int64_t parts) {
    Stages stages = in_stages(derived.model, count, parts);
    stages.elsewhere = std::make_shared<ThreadPlaces>(0, ThreadPlaces::Make());
    return *StageMember::compile(kernels::best_isa(), derived.train, derived.infer,
                                 options_of(&stages, Precision::kFloat32, parts));
  };
  const auto one = member(3, kParts);
  EXPECT_TRUE(member(3, kParts)->map().program == one->map().program);
  EXPECT_FALSE(member(2, kParts)->map().program == one->map().program);
  EXPECT_FALSE(member(3, 2)->map().program == one->map().program);
}

INSTANTIATE_TEST_SUITE_P(Ways, PlacesApart, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "ByWord" : "ByMemory"; });

}  // namespace
}  // namespace lanista::nn
