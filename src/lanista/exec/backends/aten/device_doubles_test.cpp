// Devices with a defect: kernels that depend on the position of a lane, and limited memory.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/aten_devices.h"
#include "lanista/exec/backends/aten/aten_executable.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// Host kernels with two optional defects: the last element of a call stays unwritten, or large calls run out of memory.
class LaneDependentKernels final : public LaneKernels {
 public:
  bool forgets = false;
  std::int64_t max_count = std::int64_t{1} << 40;
  mutable std::int64_t most = 0;  // largest count of a call

 protected:
  void start(const char* kernel, at::ScalarType type, std::int64_t count, Launch, const void* args,
             std::size_t bytes) const override {
    struct Any {
      std::array<std::byte, 4096> bytes;
    } any;
    ASSERT_LE(bytes, sizeof any);
    if (count > max_count) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "the fake device has no memory");
    most = std::max(most, count);
    std::memcpy(&any, args, bytes);
    const bool wrong = forgets && std::string_view(kernel).starts_with("product");
    host_lane_kernels().run(kernel, type, wrong ? count - 1 : count, any);
  }
};

// Runs a step while it is recorded, as the queue of a GPU does. So recording may run out of memory.
class WarmingQueue final : public AtenQueue {
 public:
  WarmingQueue() : AtenQueue(std::nullopt) {}
  std::function<void()> record(const std::function<void()>& step) override {
    step();
    return step;
  }
  void synchronise() override {}
};

class HostLikeDevice : public AtenDevice {
 public:
  explicit HostLikeDevice(const LaneKernels& kernels = host_lane_kernels()) : kernels_(kernels) {}
  at::Device device() const override { return aten_host().device(); }
  std::string_view name() const override { return "torch:double"; }
  std::string_view numeric_class() const override { return "aten/double"; }
  std::unique_ptr<AtenQueue> queue() const override { return std::make_unique<WarmingQueue>(); }
  const LaneKernels* kernels() const override { return &kernels_; }
  std::size_t steps_per_launch() const override { return 3; }
  bool runs_masked_lanes() const override { return true; }

 private:
  const LaneKernels& kernels_;
};

class DoubleBackend final : public program::Backend {
 public:
  explicit DoubleBackend(const AtenDevice& device) : device_(device) {}
  std::string_view name() const override { return device_.name(); }
  std::string_view numeric_class() const override { return device_.numeric_class(); }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    auto made = AtenExecutable::compile(train, infer, options, device_);
    if (made) last = static_cast<const AtenExecutable*>(made->get());
    return made;
  }
  mutable const AtenExecutable* last = nullptr;

 private:
  const AtenDevice& device_;
};

TEST(LaneProbe, ReportsLaneDependenceOnlyWhereItExists) {
  if (TORCH_VERSION_MAJOR >= 2) GTEST_SKIP() << "lanes of this LibTorch differ without a fake device";
  for (const bool forgets : {false, true}) {
    LaneDependentKernels kernels;
    kernels.forgets = forgets;
    const HostLikeDevice device(kernels);
    const DoubleBackend backend(device);
    for (const TestModel& model : {small_mlp(), small_cnn()}) {
      const Derived derived = derive(model);
      program::Program program = compile_empty(derived, {.lanes = 3, .max_batch = kBatch, .backend = &backend});
      EXPECT_EQ(program.describe().find("lanes differ: class aten/double/L3") != std::string::npos, forgets);
    }
    const Derived derived = derive(small_mlp());
    program::Program alone = compile_empty(derived, {.lanes = 1, .max_batch = kBatch, .backend = &backend});
    EXPECT_EQ(alone.describe().find("lanes differ"), std::string::npos) << "a single lane has no other lane";
    const std::vector<std::string> warnings = device.warnings().drain();
    ASSERT_EQ(warnings.size(), forgets ? 1U : 0U) << "the warning appears once";
    if (forgets) {
      EXPECT_NE(warnings[0].find("aten/double/L3"), std::string::npos) << warnings[0];
    }
    EXPECT_TRUE(device.warnings().drain().empty());
  }
}

TEST(LaneProbe, FindsEqualLanesForEveryOperatorModelOnTheHost) {
  if (TORCH_VERSION_MAJOR >= 2) GTEST_SKIP() << "lanes of this LibTorch differ by roundings";
  const HostLikeDevice device;
  const DoubleBackend backend(device);
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model, "adam");
    program::Program program = compile_empty(derived, {.lanes = 3, .max_batch = kBatch, .backend = &backend});
    EXPECT_EQ(program.describe().find("lanes differ"), std::string::npos) << model.name;
    EXPECT_EQ(backend.last->step_count(0), -1);
  }
  EXPECT_TRUE(device.warnings().drain().empty());
}

std::string failure_of(const program::LaneResult& end) {
  try {
    if (end.failure) std::rethrow_exception(end.failure);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

struct ProgramSet {
  std::vector<program::LaneResult> ends;
  std::vector<std::vector<lanista::Tensor>> states;
  std::vector<double> losses;  // of the evaluation
  std::int64_t at_once = 0;
};

// Seven steps of some lanes with shared batches or one batch per lane, then an evaluation.
ProgramSet train(const Derived& derived, const DoubleBackend& backend, std::int64_t lanes, bool shared) {
  program::Program program = compile_empty(derived, {.lanes = lanes, .max_batch = kBatch, .backend = &backend});
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    EXPECT_TRUE(program.begin(lane, 3 + static_cast<std::uint64_t>(lane)));
  ProgramSet several;
  several.ends.resize(static_cast<std::size_t>(lanes));
  std::vector<program::LaneHyper> hyper(several.ends.size(), program::LaneHyper{.lr = 0.05, .momentum = 0.9});
  for (std::size_t lane = 0; lane < hyper.size(); ++lane) hyper[lane].lr *= 1 + 0.1 * static_cast<double>(lane);
  std::vector<std::uint8_t> active(several.ends.size(), 1);
  active[1] = lanes > 2 ? 0 : 1;
  std::vector<OwnedBatch> owned;
  std::vector<program::Batch> batches;
  program.run({.steps = 7,
               .active = active,
               .step_input = [&](std::int64_t step) -> program::StepInput {
                 owned.clear();
                 batches.clear();
                 for (std::int64_t lane = 0; lane < (shared ? 1 : lanes); ++lane) {
                   owned.push_back(random_batch(derived, (step + lane) % 4 == 3 ? 5 : kBatch,
                                                static_cast<std::uint64_t>(100 * step + lane)));
                 }
                 for (const OwnedBatch& each : owned) batches.push_back(each.view());
                 return {batches, hyper};
               }},
              several.ends);
  const program::Metrics asked{.loss = derived.train.options.loss};
  std::vector<program::LaneMetrics> measured{{.lane = 0, .requested = &asked},
                                             {.lane = lanes - 1, .requested = &asked}};
  const OwnedBatch batch = random_batch(derived, kBatch, 99);
  const program::Batch view = batch.view();
  bool is_done = false;
  program.evaluate([&]() -> const program::Batch* { return std::exchange(is_done, true) ? nullptr : &view; }, measured);
  for (const program::LaneMetrics& each : measured) several.losses.push_back(each.sums.loss);
  for (std::int64_t lane = 0; lane < lanes; ++lane) several.states.push_back(program.extract(lane));
  several.at_once = backend.last->lanes_per_launch();
  return several;
}

TEST(LimitedMemory, RunsFewerLanesPerLaunchWithEqualBits) {
  if (TORCH_VERSION_MAJOR >= 2) GTEST_SKIP() << "lanes of this LibTorch differ by roundings";
  Rng rng(51);
  int halved = 0;
  for (int round = 0; round < 24; ++round) {
    const Derived derived =
        derive(round % 2 == 0 ? small_cnn() : model_named("dropout"), round % 3 == 0 ? "adam" : "sgd");
    const std::int64_t lanes = rng.between(2, 6);
    const bool shared = rng.bernoulli(0.5);
    LaneDependentKernels kernels;
    const HostLikeDevice device(kernels);
    const DoubleBackend backend(device);
    const ProgramSet one = train(derived, backend, 1, shared);
    const std::int64_t least = kernels.most;
    const ProgramSet plenty = train(derived, backend, lanes, shared);
    EXPECT_EQ(plenty.at_once, lanes);
    EXPECT_TRUE(device.warnings().drain().empty());

    kernels.max_count = rng.between(least, least * lanes);
    const ProgramSet poor = train(derived, backend, lanes, shared);
    EXPECT_LE(poor.at_once * (least - 4), kernels.max_count) << "some kernels compute four elements per thread";
    if (poor.at_once < lanes) {
      ++halved;
      const auto warnings = device.warnings().drain();
      ASSERT_FALSE(warnings.empty());
      EXPECT_NE(warnings[0].find("torch:double"), std::string::npos) << warnings[0];
    }
    EXPECT_TRUE(poor.states == plenty.states) << "round " << round;
    EXPECT_EQ(poor.losses, plenty.losses);
    for (std::size_t lane = 0; lane < poor.ends.size(); ++lane) {
      EXPECT_EQ(failure_of(poor.ends[lane]), "");
      EXPECT_EQ(poor.ends[lane].steps, plenty.ends[lane].steps);
      EXPECT_EQ(poor.ends[lane].loss_sum, plenty.ends[lane].loss_sum);
    }
  }
  EXPECT_GT(halved, 12);
}

TEST(LimitedMemory, FailsALaneThatDoesNotFitAlone) {
  const Derived derived = derive(small_cnn());
  LaneDependentKernels kernels;
  const HostLikeDevice device(kernels);
  const DoubleBackend backend(device);
  program::Program program = compile(derived, {.lanes = 3, .max_batch = kBatch, .backend = &backend});
  const std::vector<lanista::Tensor> before = program.extract(2);
  kernels.max_count = 4;
  const OwnedBatch owned = random_batch(derived, kBatch, 1);
  const program::Batch batch = owned.view();
  const std::vector<program::LaneHyper> hyper(3);
  const std::vector<std::uint8_t> active{1, 0, 1};
  std::vector<program::LaneResult> ends(3);
  program.run({.steps = 2,
               .active = active,
               .step_input =
                   [&](std::int64_t) {
                     return program::StepInput{{&batch, 1}, hyper};
                   }},
              ends);
  EXPECT_FALSE(ends[1].failure);
  for (const std::size_t lane : {0U, 2U}) {
    ASSERT_TRUE(ends[lane].failure);
    EXPECT_EQ(ends[lane].steps, 0);
    try {
      std::rethrow_exception(ends[lane].failure);
    } catch (const DeviceOutOfMemory& error) {
      EXPECT_EQ(std::string(error.what()),
                "device torch:double has no memory for a step of 1 lane with 8 samples; use a smaller batch "
                "(data.batch) or model, or run on the CPU (run.devices: [cpu])");
    }
  }
  EXPECT_EQ(program.extract(2), before);
  kernels.max_count = std::int64_t{1} << 40;
  std::vector<program::LaneResult> later(3);
  program.run({.steps = 2,
               .active = active,
               .step_input =
                   [&](std::int64_t) {
                     return program::StepInput{{&batch, 1}, hyper};
                   }},
              later);
  EXPECT_EQ(later[2].steps, 2) << "freed memory is used again";
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(LimitedMemory, CompilesFewerLanesWhenStatesDoNotFit) {
  class NoProbe final : public AtenDevice {
   public:
    at::Device device() const override { return aten_cpu().device(); }
    std::string_view name() const override { return "torch:double"; }
    std::string_view numeric_class() const override { return "aten/double"; }
    std::unique_ptr<AtenQueue> queue() const override { return aten_cpu().queue(); }
    bool lanes_may_differ() const override { return false; }
  };
  const NoProbe device;
  const DoubleBackend backend(device);
  const Derived derived = derive(small_mlp());
  const std::int64_t state = compile_empty(derived, {.backend = &backend}).state_format().bytes();
  const std::int64_t lanes = (std::int64_t{256} << 20) / state;
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (std::int64_t{160} << 20));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  auto program = program::Program::compile(derived.train, derived.infer, {.lanes = lanes, .backend = &backend});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_LT(program->lanes(), lanes);
  EXPECT_GE(program->lanes(), lanes / 8);
  EXPECT_EQ(device.warnings().drain().size(), 1U);
}
#endif

}  // namespace
}  // namespace lanista::device
