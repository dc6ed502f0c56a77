// Memory that waits for the next machine, and machines that have memory for the lanes in hand alone.
#include "lanista/exec/backends/cuda_blocks/block_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <new>

#include "lanista/exec/backends/cuda_blocks/block_machine.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// The host's blocks, of which so much may be held, counted; memory comes full of what is no number.
class CountedBlocks final : public BlockDevice {
 public:
  explicit CountedBlocks(BlockStore::Most idle = {.device = 1 << 24, .staging = 1 << 22}) : BlockDevice(idle) {}
  ~CountedBlocks() override {
    store().empty(*this);
    EXPECT_TRUE(held.empty());
  }
  std::byte* allocate(Memory kind, std::int64_t bytes) override {
    if (total() + bytes > room) throw std::bad_alloc();
    std::byte* const memory = host_blocks().allocate(kind, bytes);
    std::memset(memory, 0xff, static_cast<std::size_t>(bytes));
    held[memory] = bytes;
    ++allocations;
    return memory;
  }
  void release(Memory kind, std::byte* memory) noexcept override {
    EXPECT_EQ(held.erase(memory), 1U);
    host_blocks().release(kind, memory);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    host_blocks().copy(to, from, bytes);
    copied += bytes;
    ++copies;
  }
  void launch(std::span<const block::Lane> lanes) override {
    host_blocks().launch(lanes);
    ++launches;
  }
  void wait() override { ++waits; }

  std::int64_t total() const {
    std::int64_t bytes = 0;
    for (const auto& [at, size] : held) bytes += size;
    return bytes;
  }
  std::map<const std::byte*, std::int64_t> held;
  std::int64_t room = std::int64_t{1} << 40;
  std::int64_t copied = 0;
  int allocations = 0, copies = 0, launches = 0, waits = 0;
};

TEST(BlockStore, GivesWhatWasGivenBackToWhoeverWantsAboutAsMuchOfThatKind) {
  CountedBlocks device;
  BlockStore& store = device.store();
  const auto first = store.take(device, Memory::kDevice, 1000);
  EXPECT_GE(first.bytes, 1000);
  EXPECT_LE(first.bytes, 1250);
  store.give(device, Memory::kDevice, first);
  EXPECT_EQ(store.idle_bytes(Memory::kDevice), first.bytes);
  const auto other = store.take(device, Memory::kStaging, 1000);
  EXPECT_NE(other.at, first.at);
  const auto small = store.take(device, Memory::kDevice, 100);
  EXPECT_NE(small.at, first.at) << "of which most would be lost";
  EXPECT_EQ(store.take(device, Memory::kDevice, 900).at, first.at);
  EXPECT_EQ(store.idle_bytes(Memory::kDevice), 0);
  EXPECT_EQ(device.allocations, 3);
  store.give(device, Memory::kDevice, first);
  store.give(device, Memory::kDevice, small);
  store.give(device, Memory::kStaging, other);
}

TEST(BlockStore, KeepsNoMoreThanItMayAndTheLatest) {
  CountedBlocks device({.device = 4096, .staging = 0});
  BlockStore& store = device.store();
  const auto a = store.take(device, Memory::kDevice, 2048), b = store.take(device, Memory::kDevice, 2048),
             c = store.take(device, Memory::kDevice, 2048), huge = store.take(device, Memory::kDevice, 8192),
             staging = store.take(device, Memory::kStaging, 256);
  for (const auto& each : {a, b, c}) store.give(device, Memory::kDevice, each);
  EXPECT_EQ(store.idle_bytes(Memory::kDevice), 4096);
  EXPECT_FALSE(device.held.contains(a.at));
  store.give(device, Memory::kDevice, huge);
  store.give(device, Memory::kStaging, staging);
  EXPECT_EQ(device.held.size(), 2U) << "more than it may ever keep goes at once, and sends nobody away";
  EXPECT_EQ(device.total(), 4096);
}

TEST(BlockStore, LetsGoOfAllWhereMemoryEndsAndTriesAgain) {
  CountedBlocks device;
  BlockStore& store = device.store();
  const auto a = store.take(device, Memory::kDevice, 4096), b = store.take(device, Memory::kStaging, 4096);
  store.give(device, Memory::kDevice, a);
  store.give(device, Memory::kStaging, b);
  device.room = 65536;
  const auto large = store.take(device, Memory::kDevice, 65536);
  EXPECT_EQ(device.total(), 65536);
  EXPECT_THROW(store.take(device, Memory::kDevice, 256), std::bad_alloc);
  store.give(device, Memory::kDevice, large);
}

nn::LaneEnd chunk(nn::Machine& machine, const Derived& derived, std::int64_t steps, std::int64_t lanes = 1) {
  const OwnedBatch owned = random_batch(derived, kMost, 4);
  const Batch batch = owned.view();
  std::vector<LaneHyper> hyper(static_cast<std::size_t>(machine.facts().lanes), {.lr = 0.05});
  std::vector<std::uint8_t> active(hyper.size(), 0);
  std::fill_n(active.begin(), lanes, std::uint8_t{1});
  std::vector<LaneEnd> ends(hyper.size());
  const auto work = [&](std::int64_t) { return StepWork{{&batch, 1}, hyper}; };
  machine.run({.steps = steps, .active = active, .work = work}, ends);
  machine.wait();
  if (ends[0].failure) std::rethrow_exception(ends[0].failure);
  return ends[0];
}

TEST(BlockMemory, IsOfLanesThatSomebodySitsInAndOfTheChunkUnderWay) {
  CountedBlocks device({.device = 0, .staging = 0});
  const Derived derived = derive(small_mlp());
  const auto compiled =
      BlockMachine::compile(device, &derived.train, derived.infer, {.lanes = 64, .max_batch = kMost});
  ASSERT_TRUE(compiled.ok());
  nn::Machine& machine = **compiled;
  const std::int64_t begin = device.total(), bytes = machine.bytes();
  machine.attach(0, *machine.make_state(1));
  EXPECT_EQ(device.total(), begin) << "there is room for one from the first";
  machine.attach(7, *machine.make_state(2));
  const std::int64_t two = device.total();
  EXPECT_GT(two, begin);
  EXPECT_LT(two - begin, bytes);
  chunk(machine, derived, 3);
  EXPECT_EQ(device.total(), two);
  static_cast<void>(machine.detach(7));
  EXPECT_EQ(device.total(), begin);
  ASSERT_TRUE(machine.make_room(2).ok());
  EXPECT_EQ(device.total(), two);
  static_cast<void>(machine.detach(0));
  EXPECT_EQ(device.total(), two) << "who was promised room has it";
}

TEST(BlockMemory, ThatEndsIsToldBeforeAnythingIsTrained) {
  CountedBlocks device;
  const Derived derived = derive(small_mlp());
  const auto compiled = BlockMachine::compile(device, &derived.train, derived.infer, {.lanes = 4, .max_batch = kMost});
  ASSERT_TRUE(compiled.ok());
  nn::Machine& machine = **compiled;
  machine.attach(0, *machine.make_state(1));
  device.room = device.total();
  const auto room = machine.make_room(3);
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(room.error().code, Code::kResourceExhausted);
  EXPECT_NE(room.error().message.find("run.lanes"), std::string::npos) << room.error().message;
  EXPECT_EQ(machine.clone(0, 1, 5).error().code, Code::kResourceExhausted);
  nn::LaneState state = *machine.make_state(2);
  EXPECT_THROW(machine.attach(1, std::move(state)), std::bad_alloc);
  EXPECT_TRUE(static_cast<bool>(state)) << "it is the caller's as before";
  EXPECT_EQ(machine.step_count(1), -1);
  EXPECT_THROW(chunk(machine, derived, 2), std::bad_alloc) << "no staging: the lane fails";
  device.room *= 100;
  EXPECT_EQ(chunk(machine, derived, 2).steps, 2);
}

TEST(BlockMemory, OfAMachineThatWentServesTheNextWithoutACallAndAnythingMayBeInIt) {
  const kernels::FlushToZero as_workers;
  CountedBlocks device;
  for (const bool again : {false, true}) {
    const int before = device.allocations;
    for (const TestModel& model : operator_models()) {
      const Derived derived = derive(model);
      auto compiled = BlockMachine::compile(device, &derived.train, derived.infer, {.max_batch = kMost});
      if (!compiled) continue;
      (*compiled)->attach(0, *(*compiled)->make_state(3));
      chunk(**compiled, derived, 3);
      if (again) continue;
      auto cpu = nn::cpu_backend().compile(&derived.train, derived.infer, {.max_batch = kMost});
      (*cpu)->attach(0, *(*cpu)->make_state(3));
      chunk(**cpu, derived, 3);
      expect_same((*compiled)->copy_out(0), (*cpu)->copy_out(0), model.name);
    }
    if (again) {
      EXPECT_EQ(device.allocations, before);
    }
  }
  EXPECT_LT(device.allocations, 60);
}

TEST(BlockCalls, OfAChunkAreACopyUpAndALaunch) {
  CountedBlocks device;
  const Derived derived = derive(small_mlp());
  auto machine = *BlockMachine::compile(device, &derived.train, derived.infer, {.lanes = 3, .max_batch = kMost});
  for (std::int64_t lane = 0; lane < 3; ++lane) machine->attach(lane, *machine->make_state(1));
  chunk(*machine, derived, 1, 3);
  device.copies = device.launches = device.waits = 0;
  chunk(*machine, derived, 20, 3);
  EXPECT_EQ(device.copies, 1);
  EXPECT_EQ(device.launches, 1);
  EXPECT_EQ(device.waits, 1);
}

// Two machines of other structures read one batch, a third has its own.
TEST(BlockPopulation, SendsABatchThatSeveralReadUpOnce) {
  const kernels::FlushToZero as_workers;
  CountedBlocks device;
  const std::vector<Derived> all{derive(small_mlp()), derive(small_mlp(), "adam"), derive(small_mlp(), "lion")};
  const auto run = [&](bool together) {
    std::vector<std::unique_ptr<nn::Machine>> machines;
    std::vector<LaneHyper> hyper(1, {.lr = 0.05});
    const std::uint8_t one = 1;
    std::vector<LaneEnd> ends(3);
    OwnedBatch owned, other;
    Batch batch, own;
    std::vector<nn::Chunk> chunks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      machines.push_back(*BlockMachine::compile(device, &all[i].train, all[i].infer, {.max_batch = kMost}));
      machines.back()->attach(0, *machines.back()->make_state(i));
      chunks.push_back({.steps = i == 1 ? 30 : 40, .active = {&one, 1}, .work = [&, i](std::int64_t step) {
                          OwnedBatch& to = i == 2 ? other : owned;
                          if (i != 1 || !together) to = random_batch(all[i], kMost, static_cast<std::uint64_t>(step) + i / 2);
                          (i == 2 ? own : batch) = to.view();
                          return StepWork{{i == 2 ? &own : &batch, 1}, hyper};
                        }});
    }
    std::vector<PopulationPart> parts;
    for (std::size_t i = 0; i < all.size(); ++i) parts.push_back({machines[i].get(), &chunks[i], {&ends[i], 1}});
    if (together) {
      run_population(parts);
    } else {
      for (const PopulationPart& part : parts) run_population({&part, 1});
    }
    std::vector<std::vector<Tensor>> states;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(ends[i].steps, i == 1 ? 30 : 40);
      states.push_back(machines[i]->copy_out(0));
    }
    return states;
  };
  const auto together = run(true);
  const std::int64_t sent = std::exchange(device.copied, 0);
  EXPECT_EQ(run(false), together);
  EXPECT_GT(device.copied - sent, 30 * kMost * 4) << "30 batches of 110 are another one's";
}

}  // namespace
}  // namespace lanista::device
