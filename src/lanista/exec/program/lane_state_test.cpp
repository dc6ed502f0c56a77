// Some tensors of a state, and the state of another trial.
#include "lanista/exec/program/lane_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

Program program_of(const TestModel& model, const std::string& optimizer) {
  return compile(derive(model, optimizer), {.max_batch = 4});
}

TEST(LaneStateAssign, SetsOnlyTheNamedTensors) {
  for (const TestModel& model : operator_models()) {
    SCOPED_TRACE(model.name);
    const Program program = program_of(model, "adam");
    const std::vector<Tensor> donor = program.make_state(11)->extract();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Rng rng(seed);
      LaneState state = *program.make_state(5);
      std::vector<Tensor> wanted = state.extract(), given;
      for (std::size_t i = 0; i < donor.size(); ++i) {
        if (donor[i].name == "step" || donor[i].name == "seed" || rng.bernoulli(0.5)) continue;
        given.push_back(donor[i]);
        for (std::byte& byte : given.back().bytes) byte = static_cast<std::byte>(rng.below(64));
        wanted[i].bytes = given.back().bytes;
      }
      std::ranges::reverse(given);

      const auto assigned = state.assign(given);

      ASSERT_TRUE(assigned) << assigned.error().text();
      EXPECT_TRUE(state.extract() == wanted);
    }
  }
}

TEST(LaneStateAssign, KeepsTheStateWhenATensorDoesNotFit) {
  const Program program = program_of(small_mlp(), "sgd");
  LaneState state = *program.make_state(5);
  const std::vector<Tensor> before = state.extract();
  const std::vector<Tensor> donor = program.make_state(11)->extract();
  const auto expect_refused = [&](const std::vector<Tensor>& given, const std::string& why) {
    const auto assigned = state.assign(given);
    ASSERT_FALSE(assigned);
    EXPECT_EQ(assigned.error().code, Code::kInvalidArgument);
    EXPECT_NE(assigned.error().message.find(why), std::string::npos) << assigned.error().message;
    EXPECT_TRUE(state.extract() == before);
  };
  std::vector<Tensor> first(donor.begin(), donor.begin() + 2);
  expect_refused({first[0], first[0]}, "'" + first[0].name + "' stands twice");
  expect_refused(donor, "is unknown to this program");  // steps and seeds are not assigned
  Tensor other = first[1];
  other.name = "n99.weight";
  expect_refused({first[0], other}, "'n99.weight' is unknown to this program");
  other = first[1];
  other.shape.push_back(1);
  expect_refused({first[0], other}, "'" + other.name + "' has shape");
  other = first[1];
  other.type = ElementType::kI32;
  expect_refused({first[0], other}, "another element type");
  other = first[1];
  other.bytes.pop_back();
  expect_refused({first[0], other}, "bytes for");
}

TEST(LaneStateClone, ForAnotherTrialChangesOnlyTheSeed) {
  const Program program = program_of(small_cnn(), "adam");
  LaneState state = *program.make_state(5);
  state.count_step();
  std::vector<Tensor> wanted = state.extract();
  elements_of<std::int64_t>(wanted.back())[0] = 77;

  const LaneState clone = *state.clone(77);

  EXPECT_TRUE(clone.extract() == wanted);
  EXPECT_EQ(clone.seed(), 77U);
  EXPECT_EQ(clone.step_count(), 1);
  EXPECT_EQ(state.seed(), 5U);
}

TEST(LaneStateClone, SharesMemoryUntilTheFirstWrite) {
  const Program program = program_of(small_cnn(), "adam");
  LaneState state = *program.make_state(5);
  const std::vector<Tensor> before = state.extract();
  LaneState first = *state.clone(), second = *state.clone();
  EXPECT_TRUE(state.is_shared());
  EXPECT_EQ(first.parameters<float>(), state.parameters<float>());

  first.initialise(9);

  EXPECT_NE(first.parameters<float>(), state.parameters<float>());
  EXPECT_FALSE(first.is_shared());
  EXPECT_TRUE(state.extract() == before);
  EXPECT_TRUE(second.extract() == before);
  EXPECT_FALSE(first.extract() == before);
  second = {};
  EXPECT_FALSE(state.is_shared()) << "the last owner writes in place";
  const float* const place = state.parameters<float>();
  state.ensure_unique();
  EXPECT_EQ(state.parameters<float>(), place);
}

TEST(LaneStateClone, InsertsAndExtractsItsOwnTensors) {
  const Program program = program_of(small_mlp(), "sgd");
  const LaneState state = *program.make_state(5);
  const std::vector<Tensor> before = state.extract(), other = program.make_state(6)->extract();
  LaneState inserted = *state.clone(), assigned = *state.clone();

  ASSERT_TRUE(inserted.insert(other));
  ASSERT_TRUE(assigned.assign(std::span(other).first(1)));

  EXPECT_TRUE(inserted.extract() == other);
  EXPECT_TRUE(state.extract() == before);
}

}  // namespace
}  // namespace lanista::program
