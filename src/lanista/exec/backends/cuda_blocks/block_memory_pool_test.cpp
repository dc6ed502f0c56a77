// The memory pool, and executables that allocate memory for occupied lanes only.
#include "lanista/exec/backends/cuda_blocks/block_memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <new>

#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// The host as a device with limited memory. It counts calls, and new memory is filled with NaN.
class CountingBlockDevice final : public BlockDevice {
 public:
  explicit CountingBlockDevice(BlockMemoryPool::Limits idle = {.device = 1 << 24, .staging = 1 << 22})
      : BlockDevice(idle) {}
  ~CountingBlockDevice() override {
    memory_pool().empty(*this);
    EXPECT_TRUE(held.empty());
  }
  std::byte* allocate(MemoryKind kind, std::int64_t bytes) override {
    if (total() + bytes > max_bytes) throw std::bad_alloc();
    std::byte* const memory = host_block_device().allocate(kind, bytes);
    std::memset(memory, 0xff, static_cast<std::size_t>(bytes));
    held[memory] = bytes;
    ++allocations;
    return memory;
  }
  void release(MemoryKind kind, std::byte* memory) noexcept override {
    EXPECT_EQ(held.erase(memory), 1U);
    host_block_device().release(kind, memory);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    host_block_device().copy(to, from, bytes);
    copied += bytes;
    ++copies;
  }
  void launch(std::span<const block::Lane> lanes) override {
    host_block_device().launch(lanes);
    ++launches;
  }
  void wait() override { ++waits; }

  std::int64_t total() const {
    std::int64_t bytes = 0;
    for (const auto& [at, size] : held) bytes += size;
    return bytes;
  }
  std::map<const std::byte*, std::int64_t> held;
  std::int64_t max_bytes = std::int64_t{1} << 40;
  std::int64_t copied = 0;
  int allocations = 0, copies = 0, launches = 0, waits = 0;
};

TEST(BlockMemoryPool, ReusesFreedMemoryOfSimilarSize) {
  CountingBlockDevice device;
  BlockMemoryPool& store = device.memory_pool();
  const auto first = store.take(device, MemoryKind::kDevice, 1000);
  EXPECT_GE(first.bytes, 1000);
  EXPECT_LE(first.bytes, 1250);
  store.release_to_pool(device, MemoryKind::kDevice, first);
  EXPECT_EQ(store.idle_bytes(MemoryKind::kDevice), first.bytes);
  const auto other = store.take(device, MemoryKind::kStaging, 1000);
  EXPECT_NE(other.at, first.at);
  const auto small = store.take(device, MemoryKind::kDevice, 100);
  EXPECT_NE(small.at, first.at) << "most of that memory would be unused";
  EXPECT_EQ(store.take(device, MemoryKind::kDevice, 900).at, first.at);
  EXPECT_EQ(store.idle_bytes(MemoryKind::kDevice), 0);
  EXPECT_EQ(device.allocations, 3);
  store.release_to_pool(device, MemoryKind::kDevice, first);
  store.release_to_pool(device, MemoryKind::kDevice, small);
  store.release_to_pool(device, MemoryKind::kStaging, other);
}

TEST(BlockMemoryPool, KeepsTheLatestWithinItsLimit) {
  CountingBlockDevice device({.device = 4096, .staging = 0});
  BlockMemoryPool& store = device.memory_pool();
  const auto a = store.take(device, MemoryKind::kDevice, 2048), b = store.take(device, MemoryKind::kDevice, 2048),
             c = store.take(device, MemoryKind::kDevice, 2048), huge = store.take(device, MemoryKind::kDevice, 8192),
             staging = store.take(device, MemoryKind::kStaging, 256);
  for (const auto& each : {a, b, c}) store.release_to_pool(device, MemoryKind::kDevice, each);
  EXPECT_EQ(store.idle_bytes(MemoryKind::kDevice), 4096);
  EXPECT_FALSE(device.held.contains(a.at));
  store.release_to_pool(device, MemoryKind::kDevice, huge);
  store.release_to_pool(device, MemoryKind::kStaging, staging);
  EXPECT_EQ(device.held.size(), 2U) << "memory above the limit is freed at once and evicts nothing";
  EXPECT_EQ(device.total(), 4096);
}

TEST(BlockMemoryPool, FreesIdleMemoryAndRetriesAllocation) {
  CountingBlockDevice device;
  BlockMemoryPool& store = device.memory_pool();
  const auto a = store.take(device, MemoryKind::kDevice, 4096), b = store.take(device, MemoryKind::kStaging, 4096);
  store.release_to_pool(device, MemoryKind::kDevice, a);
  store.release_to_pool(device, MemoryKind::kStaging, b);
  device.max_bytes = 65536;
  const auto large = store.take(device, MemoryKind::kDevice, 65536);
  EXPECT_EQ(device.total(), 65536);
  EXPECT_THROW(store.take(device, MemoryKind::kDevice, 256), std::bad_alloc);
  store.release_to_pool(device, MemoryKind::kDevice, large);
}

program::LaneResult chunk(program::Executable& executable, const Derived& derived, std::int64_t steps,
                          std::int64_t lanes = 1) {
  const OwnedBatch owned = random_batch(derived, kMaxBatch, 4);
  const Batch batch = owned.view();
  std::vector<LaneHyper> hyper(static_cast<std::size_t>(executable.properties().lanes), {.lr = 0.05});
  std::vector<std::uint8_t> active(hyper.size(), 0);
  std::fill_n(active.begin(), lanes, std::uint8_t{1});
  std::vector<LaneResult> ends(hyper.size());
  const auto step_input = [&](std::int64_t) { return StepInput{{&batch, 1}, hyper}; };
  executable.steps().run({.steps = steps, .active = active, .step_input = step_input}, ends);
  executable.steps().wait();
  if (ends[0].failure) std::rethrow_exception(ends[0].failure);
  return ends[0];
}

TEST(BlockMemory, CoversOccupiedLanesAndTheCurrentChunk) {
  CountingBlockDevice device({.device = 0, .staging = 0});
  const Derived derived = derive(small_mlp());
  const auto compiled =
      BlockExecutable::compile(device, &derived.train, derived.infer, {.lanes = 64, .max_batch = kMaxBatch});
  ASSERT_TRUE(compiled.ok());
  program::Executable& executable = **compiled;
  const std::int64_t begin = device.total(), bytes = executable.memory().bytes();
  executable.lanes().attach(0, *executable.memory().make_state(1));
  EXPECT_EQ(device.total(), begin) << "memory for one lane is allocated at the start";
  executable.lanes().attach(7, *executable.memory().make_state(2));
  const std::int64_t two = device.total();
  EXPECT_GT(two, begin);
  EXPECT_LT(two - begin, bytes);
  chunk(executable, derived, 3);
  EXPECT_EQ(device.total(), two);
  static_cast<void>(executable.lanes().detach(7));
  EXPECT_EQ(device.total(), begin);
  ASSERT_TRUE(executable.memory().reserve_lanes(2).ok());
  EXPECT_EQ(device.total(), two);
  static_cast<void>(executable.lanes().detach(0));
  EXPECT_EQ(device.total(), two) << "reserved memory stays";
}

TEST(BlockMemory, FailsBeforeTrainingWhenExhausted) {
  CountingBlockDevice device;
  const Derived derived = derive(small_mlp());
  const auto compiled =
      BlockExecutable::compile(device, &derived.train, derived.infer, {.lanes = 4, .max_batch = kMaxBatch});
  ASSERT_TRUE(compiled.ok());
  program::Executable& executable = **compiled;
  executable.lanes().attach(0, *executable.memory().make_state(1));
  device.max_bytes = device.total();
  const auto reserved = executable.memory().reserve_lanes(3);
  ASSERT_FALSE(reserved.ok());
  EXPECT_EQ(reserved.error().code, Code::kResourceExhausted);
  EXPECT_NE(reserved.error().message.find("run.lanes"), std::string::npos) << reserved.error().message;
  EXPECT_EQ(executable.lanes().clone(0, 1, 5).error().code, Code::kResourceExhausted);
  program::LaneState state = *executable.memory().make_state(2);
  EXPECT_THROW(executable.lanes().attach(1, std::move(state)), std::bad_alloc);
  EXPECT_TRUE(static_cast<bool>(state)) << "the caller still owns the state";
  EXPECT_EQ(executable.steps().step_count(1), -1);
  EXPECT_THROW(chunk(executable, derived, 2), std::bad_alloc) << "no staging: the lane fails";
  device.max_bytes *= 100;
  EXPECT_EQ(chunk(executable, derived, 2).steps, 2);
}

TEST(BlockMemory, ReusesFreedSlabWithoutDriverCall) {
  const kernels::FlushToZero as_workers;
  CountingBlockDevice device;
  for (const bool again : {false, true}) {
    const int before = device.allocations;
    for (const TestModel& model : operator_models()) {
      const Derived derived = derive(model);
      auto compiled = BlockExecutable::compile(device, &derived.train, derived.infer, {.max_batch = kMaxBatch});
      if (!compiled) continue;
      (*compiled)->lanes().attach(0, *(*compiled)->memory().make_state(3));
      chunk(**compiled, derived, 3);
      if (again) continue;
      auto cpu = program::cpu_backend().compile(&derived.train, derived.infer, {.max_batch = kMaxBatch});
      (*cpu)->lanes().attach(0, *(*cpu)->memory().make_state(3));
      chunk(**cpu, derived, 3);
      expect_same_states((*compiled)->lanes().extract_state(0), (*cpu)->lanes().extract_state(0), model.name);
    }
    if (again) {
      EXPECT_EQ(device.allocations, before);
    }
  }
  EXPECT_LT(device.allocations, 60);
}

TEST(BlockCalls, OfAChunkAreOneUploadAndOneLaunch) {
  CountingBlockDevice device;
  const Derived derived = derive(small_mlp());
  auto executable =
      *BlockExecutable::compile(device, &derived.train, derived.infer, {.lanes = 3, .max_batch = kMaxBatch});
  for (std::int64_t lane = 0; lane < 3; ++lane) executable->lanes().attach(lane, *executable->memory().make_state(1));
  chunk(*executable, derived, 1, 3);
  device.copies = device.launches = device.waits = 0;
  chunk(*executable, derived, 20, 3);
  EXPECT_EQ(device.copies, 1);
  EXPECT_EQ(device.launches, 1);
  EXPECT_EQ(device.waits, 1);
}

// Two executables of different structures read one batch, a third has its own.
TEST(BlockSharedLaunch, UploadsASharedBatchOnce) {
  const kernels::FlushToZero as_workers;
  CountingBlockDevice device;
  const std::vector<Derived> all{derive(small_mlp()), derive(small_mlp(), "adam"), derive(small_mlp(), "lion")};
  const auto run = [&](bool together) {
    std::vector<std::unique_ptr<program::Executable>> executables;
    std::vector<LaneHyper> hyper(1, {.lr = 0.05});
    const std::uint8_t one = 1;
    std::vector<LaneResult> ends(3);
    OwnedBatch owned, other;
    Batch batch, own;
    std::vector<program::Chunk> chunks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      executables.push_back(*BlockExecutable::compile(device, &all[i].train, all[i].infer, {.max_batch = kMaxBatch}));
      executables.back()->lanes().attach(0, *executables.back()->memory().make_state(i));
      chunks.push_back({.steps = i == 1 ? 30 : 40, .active = {&one, 1}, .step_input = [&, i](std::int64_t step) {
                          OwnedBatch& to = i == 2 ? other : owned;
                          if (i != 1 || !together)
                            to = random_batch(all[i], kMaxBatch, static_cast<std::uint64_t>(step) + i / 2);
                          (i == 2 ? own : batch) = to.view();
                          return StepInput{{i == 2 ? &own : &batch, 1}, hyper};
                        }});
    }
    std::vector<LaunchPart> parts;
    for (std::size_t i = 0; i < all.size(); ++i) parts.push_back({executables[i].get(), &chunks[i], {&ends[i], 1}});
    if (together) {
      run_in_one_launch(parts);
    } else {
      for (const LaunchPart& part : parts) run_in_one_launch({&part, 1});
    }
    std::vector<std::vector<Tensor>> states;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(ends[i].steps, i == 1 ? 30 : 40);
      states.push_back(executables[i]->lanes().extract_state(0));
    }
    return states;
  };
  const auto together = run(true);
  const std::int64_t sent = std::exchange(device.copied, 0);
  EXPECT_EQ(run(false), together);
  EXPECT_GT(device.copied - sent, 30 * kMaxBatch * 4) << "30 of 110 batches are not shared";
}

}  // namespace
}  // namespace lanista::device
