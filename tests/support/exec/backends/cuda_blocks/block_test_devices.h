#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "lanista/exec/backends/cuda_blocks/block_on_host.h"
#include "support/exec/backends/cuda_blocks/block_race_detector.h"
#include "support/exec/program/test_models.h"

// Host devices that run blocks with another thread order, or with the race detector.
namespace lanista::device::testing {

using namespace program::testing;

inline constexpr std::int64_t kRaceTestBatch = 7;

// The host device with a replaceable way to run a lane. It knows the size of every allocation.
class HostBlockDeviceBase : public BlockDevice {
 public:
  std::byte* allocate(MemoryKind kind, std::int64_t bytes) override {
    std::byte* const memory = host_block_device().allocate(kind, bytes);
    bytes_[memory] = bytes;
    return memory;
  }
  void release(MemoryKind kind, std::byte* memory) noexcept override {
    bytes_.erase(memory);
    host_block_device().release(kind, memory);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override { host_block_device().copy(to, from, bytes); }
  void wait() override {}

 protected:
  std::int64_t bytes_after(const void* p) const {
    const auto after = bytes_.upper_bound(static_cast<const std::byte*>(p));
    const auto [begin, bytes] = *std::prev(after);
    return bytes - (static_cast<const std::byte*>(p) - begin);
  }

 private:
  std::map<const std::byte*, std::int64_t> bytes_;
};

class ReorderedThreadsDevice final : public HostBlockDeviceBase {
 public:
  explicit ReorderedThreadsDevice(int (*order)(int)) : order_(order) {}
  void launch(std::span<const block::Lane> lanes) override {
    for (const block::Lane& lane : lanes) block::run_on_host(lane, order_);
  }

 private:
  int (*order_)(int);
};

class RaceDetectingDevice final : public HostBlockDeviceBase {
 public:
  void launch(std::span<const block::Lane> lanes) override {
    for (const block::Lane& lane : lanes) run_with_race_detector(lane, bytes_after(lane.slab), race_report);
  }
  RaceReport race_report;
};

// The state after two steps of a lane, or nothing if an operator is unsupported.
inline std::vector<Tensor> train_on(BlockDevice& device, const Derived& derived, std::int64_t size = kRaceTestBatch) {
  auto executable = BlockExecutable::compile(device, &derived.train, derived.infer, {.max_batch = size});
  if (!executable) return {};
  (*executable)->lanes().attach(0, *(*executable)->memory().make_state(3));
  const std::vector<program::LaneHyper> hyper{{.lr = 0.05, .momentum = 0.9, .clip_norm = 0.5}};
  const std::uint8_t active = 1;
  std::vector<program::LaneResult> ends(1);
  OwnedBatch owned;
  program::Batch batch;
  (*executable)
      ->steps()
      .run({.steps = 2,
            .active = {&active, 1},
            .step_input =
                [&](std::int64_t step) {
                  owned = random_batch(derived, size, 20 + static_cast<std::uint64_t>(step));
                  batch = owned.view();
                  return program::StepInput{{&batch, 1}, hyper};
                }},
           ends);
  (*executable)->steps().wait();
  EXPECT_FALSE(ends[0].failure);
  return (*executable)->lanes().extract_state(0);
}

}  // namespace lanista::device::testing
