// Threads with executables of one device: requests that arrive during a launch share the next launch.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// The host as a device with slow launches. It counts launches and refuses programs with so many calls.
class SlowBlockDevice final : public BlockDevice {
 public:
  std::byte* allocate(MemoryKind kind, std::int64_t bytes) override {
    return host_block_device().allocate(kind, bytes);
  }
  void release(MemoryKind kind, std::byte* memory) noexcept override { host_block_device().release(kind, memory); }
  void copy(void* to, const void* from, std::int64_t bytes) override { host_block_device().copy(to, from, bytes); }
  void launch(std::span<const block::Lane> lanes) override {
    // One thread may launch several times before it waits.
    const std::thread::id before = launching.exchange(std::this_thread::get_id());
    EXPECT_TRUE(before == std::thread::id() || before == std::this_thread::get_id()) << "two launches at once";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::set<int> structures;
    bool refuses = false;
    for (const block::Lane& lane : lanes) {
      structures.insert(lane.call_count);
      refuses = refuses || lane.call_count == refused;
    }
    if (refuses) {
      throw std::runtime_error("the fake device refuses these calls");
    }
    host_block_device().launch(lanes);
    ++launches;
    most_structures = std::max(most_structures.load(), static_cast<int>(structures.size()));
  }
  void wait() override {
    std::thread::id mine = std::this_thread::get_id();
    launching.compare_exchange_strong(mine, std::thread::id());
  }

  int refused = -1;
  std::atomic<std::thread::id> launching = std::thread::id();
  std::atomic<int> launches = 0, most_structures = 0;
};

class SlowBlockBackend final : public program::Backend {
 public:
  explicit SlowBlockBackend(SlowBlockDevice& device) : device_(device) {}
  std::string_view name() const override { return "block:slow"; }
  std::string_view numeric_class() const override { return host().numeric_class(); }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    return BlockExecutable::compile(device_, train, infer, options);
  }

 private:
  SlowBlockDevice& device_;
};

constexpr std::int64_t kChunks = 12, kLanes = 2;

struct TrainingResult {
  std::vector<std::vector<Tensor>> states;
  std::vector<double> sums;
  std::int64_t failures = 0;
};

// Chunks of three steps. In chunk `bad_chunk` the labels of the second lane are invalid.
TrainingResult train_in_chunks(const Derived& derived, const program::Backend& backend, std::int64_t bad_chunk = -1) {
  const kernels::FlushToZero as_workers;
  TrainingResult outcome;
  program::Program program = compile_empty(derived, {.lanes = kLanes, .max_batch = kMaxBatch, .backend = &backend});
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    EXPECT_TRUE(program.begin(lane, 5 + static_cast<std::uint64_t>(lane)));
  const std::vector<LaneHyper> hyper(kLanes, {.lr = 0.05, .momentum = 0.9});
  const std::vector<std::uint8_t> active(kLanes, 1);
  std::vector<LaneResult> ends(kLanes);
  std::vector<OwnedBatch> owned(kLanes);
  std::vector<Batch> batches(kLanes);
  for (std::int64_t chunk = 0; chunk < kChunks; ++chunk) {
    program.run({.steps = 3,
                 .active = active,
                 .step_input =
                     [&](std::int64_t step) {
                       for (std::size_t lane = 0; lane < owned.size(); ++lane) {
                         owned[lane] =
                             random_batch(derived, kMaxBatch, static_cast<std::uint64_t>(3 * chunk + step) + lane);
                         if (lane == 1 && chunk == bad_chunk && step == 1) owned[lane].labels[0] = 99;
                         batches[lane] = owned[lane].view();
                       }
                       return StepInput{batches, hyper};
                     }},
                ends);
    for (const LaneResult& end : ends) outcome.failures += end.failure ? 1 : 0;
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    outcome.states.push_back(program.extract(lane));
    outcome.sums.push_back(ends[static_cast<std::size_t>(lane)].loss_sum);
  }
  return outcome;
}

const std::vector<Derived>& structures() {
  static const std::vector<Derived> all{derive(small_mlp()), derive(small_cnn()), derive(model_named("dropout")),
                                        derive(model_named("layer_norm")), derive(small_mlp(), "adam")};
  return all;
}

std::vector<TrainingResult> side_by_side(const program::Backend& backend, std::int64_t bad = -1) {
  std::vector<TrainingResult> outcomes(structures().size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    threads.emplace_back([&, i] {
      outcomes[i] = train_in_chunks(structures()[i], backend, static_cast<std::int64_t>(i) == bad ? 4 : -1);
    });
  }
  threads.clear();
  return outcomes;
}

TEST(LaunchBatcher, BatchesLaunchesOfDifferentModelsWithEqualBits) {
  SlowBlockDevice device;
  const SlowBlockBackend backend(device);
  const std::vector<TrainingResult> outcomes = side_by_side(backend);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const TrainingResult alone = train_in_chunks(structures()[i], program::cpu_backend());
    EXPECT_EQ(outcomes[i].failures, 0);
    EXPECT_EQ(outcomes[i].sums, alone.sums) << i;
    for (std::size_t lane = 0; lane < alone.states.size(); ++lane) {
      expect_same_states(outcomes[i].states[lane], alone.states[lane], std::to_string(i));
    }
  }
  const auto chunks = static_cast<std::int64_t>(outcomes.size()) * kChunks;
  EXPECT_GE(device.most_structures, 2);
  EXPECT_LT(device.launches, chunks * 3 / 4) << "of " << chunks;
  ::testing::Test::RecordProperty("launches", device.launches.load());
}

TEST(LaunchBatcher, SynchronisesChunks) {
  SlowBlockDevice device;
  const SlowBlockBackend backend(device);
  device.launch_batcher().set_max_wait(std::chrono::seconds(300));
  const auto began = std::chrono::steady_clock::now();
  const std::vector<TrainingResult> outcomes = side_by_side(backend);
  for (const TrainingResult& each : outcomes) EXPECT_EQ(each.failures, 0);
  // Clients that have shared a launch stay together. A client that finishes leaves, and no other client waits for it.
  EXPECT_LE(device.launches, 2 * kChunks);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(250));
}

TEST(LaunchBatcher, DoesNotWaitForAClientThatLeft) {
  SlowBlockDevice device;
  device.launch_batcher().set_max_wait(std::chrono::seconds(300));
  const std::vector<Derived>& all = structures();
  auto a = *BlockExecutable::compile(device, &all[0].train, all[0].infer, {.max_batch = kMaxBatch});
  auto b = *BlockExecutable::compile(device, &all[3].train, all[3].infer, {.max_batch = kMaxBatch});
  const auto began = std::chrono::steady_clock::now();
  const auto step = [&](program::Executable& executable, const Derived& derived) {
    const OwnedBatch owned = random_batch(derived, kMaxBatch, 4);
    const Batch batch = owned.view();
    const LaneHyper hyper{.lr = 0.05};
    const std::uint8_t one = 1;
    LaneResult end;
    executable.steps().run({.steps = 1,
                            .active = {&one, 1},
                            .step_input =
                                [&](std::int64_t) {
                                  return StepInput{{&batch, 1}, {&hyper, 1}};
                                }},
                           {&end, 1});
    executable.steps().wait();
    EXPECT_EQ(end.steps, 1);
  };
  a->lanes().attach(0, *a->memory().make_state(1));
  b->lanes().attach(0, *b->memory().make_state(1));
  step(*a, all[0]);
  static_cast<void>(a->lanes().extract_state(0));  // work outside of launches
  step(*b, all[3]);
  static_cast<void>(b->lanes().detach(0));
  step(*a, all[0]);
  a.reset();
  b->lanes().attach(0, *b->memory().make_state(1));
  step(*b, all[3]);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(250));
}

TEST(LaunchBatcher, LaunchesEveryChunkOfASingleClient) {
  SlowBlockDevice device;
  const SlowBlockBackend backend(device);
  static_cast<void>(train_in_chunks(structures()[0], backend));
  EXPECT_EQ(device.launches, kChunks);
}

TEST(LaunchBatcher, FailsOnlyClientsThatCannotBeLaunched) {
  SlowBlockDevice device;
  const SlowBlockBackend backend(device);
  // The device refuses the calls of convolutions. A thread with another structure has an invalid label.
  const auto refused =
      BlockExecutable::compile(device, &structures()[1].train, structures()[1].infer, {.max_batch = kMaxBatch});
  ASSERT_TRUE(refused.ok());
  const std::string text = (*refused)->describe();
  device.refused = std::stoi(text.substr(text.rfind("), ", text.find(" calls")) + 3));
  const std::vector<TrainingResult> outcomes = side_by_side(backend, 2);
  EXPECT_EQ(outcomes[1].failures, kChunks * kLanes);
  EXPECT_EQ(outcomes[2].failures, 1);
  for (const std::size_t i : {0U, 3U, 4U}) {
    EXPECT_EQ(outcomes[i].failures, 0) << i;
    const TrainingResult alone = train_in_chunks(structures()[i], program::cpu_backend());
    for (std::size_t lane = 0; lane < alone.states.size(); ++lane) {
      expect_same_states(outcomes[i].states[lane], alone.states[lane], std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace lanista::device
