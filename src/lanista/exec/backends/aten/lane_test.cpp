// Guarantees of lanes on a device: states move in and out, and lanes do not affect each other. All comparisons are by
// bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "lanista/exec/backends/aten/cuda_kernels.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/opaque.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

const std::vector<const char*> kSome{"mlp",
                                     "conv_grouped",
                                     "batch_norm_image",
                                     "layer_norm",
                                     "max_pool_overlapping",
                                     "dropout",
                                     "attention_heads_2__dropout_0_3",
                                     "embedding",
                                     "resize_bilinear"};

const std::vector<program::LrRange> kRates{{0, 7, 0.5}, {9, 30, 2}};  // ranges of every third trial

program::LaneHyper hyper_of(std::uint64_t trial) {
  program::LaneHyper hyper{
      .lr = 0.02 + 0.01 * static_cast<double>(trial % 4), .momentum = trial % 2 == 0 ? 0.9 : 0.0, .clip_norm = 1};
  if (trial % 3 == 1) hyper.lr_ranges = kRates;
  return hyper;
}

// Steps of some lanes on shared batches. The step number selects the batch.
void steps(program::Program& program, const Derived& derived, const std::vector<std::uint64_t>& trials,
           std::int64_t from, std::int64_t count, std::vector<program::LaneResult>* ends = nullptr) {
  // Further lanes are empty.
  std::vector<std::uint8_t> active(static_cast<std::size_t>(program.lanes()));
  std::vector<program::LaneHyper> hyper(active.size());
  for (std::size_t lane = 0; lane < trials.size(); ++lane) {
    active[lane] = trials[lane] != 0;
    hyper[lane] = hyper_of(trials[lane]);
  }
  OwnedBatch owned;
  program::Batch batch;
  std::vector<program::LaneResult> own(active.size());
  std::vector<program::LaneResult>& all = ends != nullptr ? *ends : own;
  program.run({.steps = count,
               .active = active,
               .step_input = [&](std::int64_t step) -> program::StepInput {
                 owned = random_batch(derived, (from + step) % 3 == 2 ? 5 : kBatch,
                                      static_cast<std::uint64_t>(from + step));
                 batch = owned.view();
                 return {{&batch, 1}, hyper};
               }},
              all);
  for (const program::LaneResult& end : all) {
    if (end.failure) std::rethrow_exception(end.failure);
  }
}

class AtenLanes : public DeviceTest {
 public:
  void SetUp() override {
    if (TORCH_VERSION_MAJOR >= 2 && !std::string_view(GetParam()).starts_with("cuda")) {
      GTEST_SKIP() << "products of this LibTorch depend on the position of a matrix, so lanes differ by roundings";
    }
    DeviceTest::SetUp();
  }

 protected:
  program::ProgramOptions on_torch(std::int64_t lanes, Precision precision = Precision::kFloat32) const {
    return {.lanes = num_lanes_for(lanes), .max_batch = kBatch, .precision = precision, .backend = &backend()};
  }
  /// The states of a trial that trains alone in a program.
  std::vector<Tensor> alone(const Derived& derived, std::uint64_t trial, std::int64_t count) const {
    program::Program program = compile_empty(derived, on_torch(1));
    EXPECT_TRUE(program.begin(0, trial).ok());
    steps(program, derived, {trial}, 0, count);
    return program.extract(0);
  }
};

TEST_P(AtenLanes, AreIndependentOfOtherLanesOnDevice) {
  const std::vector<TestModel> models = operator_models();
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (!runs_all_cases() && i % 6 != 0) continue;
    const Derived derived = derive(models[i], autodiff::optimizer_names()[i / 6 % autodiff::optimizer_names().size()]);
    program::Program many = compile_empty(derived, on_torch(5));
    const std::vector<std::uint64_t> trials{4, 0, 7, 9, 2};
    for (std::size_t lane = 0; lane < trials.size(); ++lane) {
      if (trials[lane] != 0) {
        ASSERT_TRUE(many.begin(static_cast<std::int64_t>(lane), trials[lane]).ok());
      }
    }
    steps(many, derived, trials, 0, 3);
    EXPECT_EQ(many.extract(2), alone(derived, 7, 3)) << models[i].name;
    EXPECT_EQ(many.extract(4), alone(derived, 2, 3)) << models[i].name;
  }
}

TEST_P(AtenLanes, AreUnaffectedByADivergedLaneOnDevice) {
  for (const char* name : kSome) {
    const Derived derived = derive(model_named(name), "adam");
    const std::vector<std::uint64_t> trials{1, 2, 3, 4};
    std::vector<std::vector<Tensor>> states;
    for (const bool diverges : {false, true}) {
      program::Program program = compile_empty(derived, on_torch(4));
      for (std::int64_t lane = 0; lane < 4; ++lane)
        ASSERT_TRUE(program.begin(lane, trials[static_cast<std::size_t>(lane)]).ok());
      steps(program, derived, trials, 0, 2);
      std::vector<program::LaneResult> ends(static_cast<std::size_t>(program.lanes()));
      if (diverges) {
        std::vector<Tensor> state = program.extract(1);
        elements_of<float>(state.front())[0] = std::numeric_limits<float>::quiet_NaN();
        ASSERT_TRUE(program.insert(1, state).ok());
      }
      steps(program, derived, trials, 2, 4, &ends);
      for (const std::int64_t lane : {0, 2, 3}) {
        states.push_back(program.extract(lane));
        EXPECT_EQ(ends[static_cast<std::size_t>(lane)].first_nonfinite_step, -1);
      }
      if (diverges && std::string(name) != "embedding") {
        EXPECT_EQ(ends[1].first_nonfinite_step, 0) << name;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(states[i], states[i + 3]) << name << " " << i;
  }
}

TEST_P(AtenLanes, SupportEvictRefillCloneAndCompact) {
  for (const char* name : kSome) {
    const Derived derived = derive(model_named(name), "adamw");
    program::Program program = compile_empty(derived, on_torch(3));
    ASSERT_TRUE(program.begin(0, 1).ok());
    ASSERT_TRUE(program.begin(2, 3).ok());
    steps(program, derived, {1, 0, 3}, 0, 2);

    program::LaneState evicted = program.detach(0);
    ASSERT_TRUE(program.clone(2, 0, 8).ok());  // the clone uses the masks of another trial
    steps(program, derived, {8, 0, 3}, 2, 1);
    program::Program smaller = compile_empty(derived, on_torch(2));
    smaller.attach(0, program.detach(2));
    smaller.attach(1, std::move(evicted));
    steps(smaller, derived, {3, 0}, 3, 2);
    steps(smaller, derived, {0, 1}, 2, 3);
    EXPECT_EQ(smaller.extract(0), alone(derived, 3, 5)) << name;
    EXPECT_EQ(smaller.extract(1), alone(derived, 1, 5)) << name;

    program::Program other = compile_empty(derived, on_torch(1));
    ASSERT_TRUE(other.begin(0, 3).ok());
    steps(other, derived, {3}, 0, 2);
    program::LaneState parent = other.detach(0);
    const std::vector<Tensor> before = parent.extract();
    auto child = parent.clone(8);
    ASSERT_TRUE(child.ok());
    other.attach(0, *std::move(child));
    steps(other, derived, {8}, 2, 1);
    EXPECT_EQ(program.extract(0), other.extract(0)) << name;
    EXPECT_EQ(parent.extract(), before) << name << ": a trained state must not share memory with a waiting one";
  }
}

TEST_P(AtenLanes, GiveEqualBitsForAChunkAndSingleSteps) {
  for (const char* name : kSome) {
    const Derived derived = derive(model_named(name), "rmsprop");
    std::vector<std::vector<Tensor>> states;
    std::vector<double> sums;
    for (const std::int64_t each : {6, 1}) {
      program::Program program = compile_empty(derived, on_torch(2));
      ASSERT_TRUE(program.begin(0, 5).ok());
      ASSERT_TRUE(program.begin(1, 6).ok());
      std::vector<program::LaneResult> ends(static_cast<std::size_t>(program.lanes()));
      for (std::int64_t at = 0; at < 6; at += each) steps(program, derived, {5, 6}, at, each, &ends);
      for (const std::int64_t lane : {0, 1}) states.push_back(program.extract(lane));
      EXPECT_EQ(ends[0].steps, each);
      sums.push_back(ends[0].loss_sum);
    }
    EXPECT_EQ(states[0], states[2]) << name;
    EXPECT_EQ(states[1], states[3]) << name;
    EXPECT_EQ(sums[0], sums[1]) << name;
  }
}

TEST_P(AtenLanes, ContinueOnTheCpuAndBack) {
  for (const char* name : kSome) {
    const Derived derived = derive(model_named(name), "adam");
    program::Program device = compile_empty(derived, on_torch(2, Precision::kFloat64));
    program::Program own = compile_empty(derived, {.max_batch = kBatch, .precision = Precision::kFloat64});
    program::Program whole_way = compile_empty(derived, {.max_batch = kBatch, .precision = Precision::kFloat64});
    ASSERT_TRUE(device.begin(1, 3).ok());
    ASSERT_TRUE(whole_way.begin(0, 3).ok());
    steps(whole_way, derived, {3}, 0, 9);
    steps(device, derived, {0, 3}, 0, 3);
    const std::vector<Tensor> saved = device.extract(1);
    own.attach(0, device.detach(1));
    EXPECT_EQ(own.extract(0), saved);
    steps(own, derived, {3}, 3, 3);
    device.attach(0, own.detach(0));
    steps(device, derived, {3, 0}, 6, 3);
    const std::vector<Tensor> a = device.extract(0), b = whole_way.extract(0);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].name.ends_with("in_proj_bias") || name == std::string("batch_norm_image")) continue;  // Adam
      EXPECT_LE(scaled_error(a[i], b[i]), 1e-10) << name << " " << a[i].name;
    }
    EXPECT_EQ(device.step_count(0), 9);
  }
}

TEST_P(AtenLanes, KeepTheirStateWhenAStepThrows) {
  const Derived derived = derive(model_named("batch_norm_image"), "adam");
  program::ProgramOptions options = on_torch(3);
  bool throws = false;
  options.before_commit = [&](std::int64_t lane) {
    if (throws && lane == 1) throw std::runtime_error("planned");
  };
  program::Program program = compile(derived, options);
  steps(program, derived, {1, 2, 3}, 0, 2);
  const std::vector<Tensor> before = program.extract(1);
  throws = true;
  EXPECT_THROW(steps(program, derived, {1, 2, 3}, 2, 2), std::runtime_error);
  EXPECT_EQ(program.extract(1), before);
  EXPECT_EQ(program.step_count(0), 4);
  EXPECT_EQ(program.step_count(2), 4);
}

TEST_P(AtenLanes, CommitGradientsAsAStepDoes) {
  const Derived derived = derive(model_named("batch_norm_image"), "sgd");
  program::Program whole_step = compile(derived, on_torch(2)), halves = compile(derived, on_torch(2));
  const OwnedBatch batch = random_batch(derived, kBatch, 4);
  const program::LaneHyper hyper = hyper_of(2);
  const auto lanes = static_cast<std::size_t>(whole_step.lanes());
  const std::vector<program::LaneHyper> all(lanes, hyper);
  const program::Batch view = batch.view();
  std::vector<double> loss(lanes);
  std::vector<std::uint8_t> active(lanes);
  active[1] = 1;
  whole_step.train_step({&view, 1}, all, active, loss);
  auto gradients = halves.make_gradients();
  ASSERT_TRUE(gradients.ok());
  const double sum = halves.gradients(1, view, kBatch, hyper, *gradients);
  halves.commit(1, *gradients, hyper);
  const std::vector<Tensor> a = whole_step.extract(1), b = halves.extract(1);
  // A split step is a program of one lane.
  if (has_equal_bits_at_any_size()) {
    EXPECT_EQ(a, b);
  }
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(scaled_error(a[i], b[i]), 1e-5) << a[i].name;
  EXPECT_NEAR(sum / kBatch, loss[1], has_equal_bits_at_any_size() ? 1e-12 : 1e-5);
}

TEST(AtenTable, HasAnEntryForEveryKernel) {
  const std::vector<std::string> known = aten_operators();
  for (const auto& [name, entry] : program::kernel_table<float>()) {
    if (entry.fusion) continue;
    EXPECT_TRUE(std::ranges::binary_search(known, name)) << name;
  }
}

// LANISTA_FULL_EQUIVALENCE=1 compiles for the older architecture too.
TEST(LaneKernels, CompileForCurrentArchitectures) {
  for (const int architecture : {90, 80}) {
    if (architecture != 90 && !runs_all_cases()) break;
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const auto cubin = compile_lane_kernels(type, architecture);
      if (!cubin && cubin.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << cubin.error().message;
      ASSERT_TRUE(cubin.ok()) << cubin.error().message;
      EXPECT_GT(cubin->size(), 10000U);
    }
  }
}

TEST(AtenBackend, ReportsMissingDevices) {
  for (const char* name : {"cuda:99", "cuda:-1", "cuda:x", "tpu"}) {
    const auto none = aten_backend(name);
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message.find("torch:" + std::string(name)), std::string::npos);
  }
}

TEST_P(AtenLanes, RejectUnsupportedOperatorsWithAdvice) {
  const Derived derived = derive(model_named("mlp"));
  program::ProgramOptions options = on_torch(1);
  options.shards = 2;
  const auto parts = program::Program::compile(derived.train, derived.infer, options);
  ASSERT_FALSE(parts.ok());
  EXPECT_EQ(parts.error().code, Code::kUnimplemented);
  EXPECT_NE(parts.error().message.find("run.devices: [cpu]"), std::string::npos);

  MemoryBudget little(1000);
  options = on_torch(4);
  options.budget = &little;
  const auto poor = program::Program::compile(derived.train, derived.infer, options);
  ASSERT_FALSE(poor.ok());
  EXPECT_EQ(poor.error().code, Code::kResourceExhausted);

  program::Program program = compile(derived, on_torch(1));
  OwnedBatch batch = random_batch(derived, 4, 1);
  batch.labels[2] = 99;
  EXPECT_THROW(step_once(program, batch, {}), InternalError);
}

INSTANTIATE_TEST_SUITE_P(On, AtenLanes, kDevices, device_name);

}  // namespace
}  // namespace lanista::device
