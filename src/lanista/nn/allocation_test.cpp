// Counts what a running program asks of the allocator. The counter sees every test of this binary, so it stands idle
// until a test switches it on for its own thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "lanista/nn/test_models.h"

namespace {

thread_local bool counting = false;
thread_local std::int64_t allocations = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting) ++allocations;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace lanista::nn {
namespace {

using namespace testing;

TEST(Program, AllocatesNothingWhenItRuns) {
  for (const TestModel& model : operator_models()) {
    for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
      const Derived derived = derive(model, step::Optimizer::kAdam);
      Program program = compile(derived, {.max_batch = 8, .precision = precision});
      program.initialise(0, 1);
      const OwnedBatch batch = random_batch(derived, 8, 2);
      std::vector<float> prediction(static_cast<std::size_t>(8 * program.prediction_size()));
      const LaneHyper hyper{.clip_norm = 1, .label_smoothing = 0.1};

      allocations = 0;
      counting = true;
      step_once(program, batch, hyper);
      program.predict(0, batch.view(), prediction);
      counting = false;

      EXPECT_EQ(allocations, 0) << model.name;
    }
  }
}

TEST(Program, AllocationsAreCounted) {
  allocations = 0;
  counting = true;
  const std::vector<int> some(100);
  counting = false;

  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(some[99], 0);
}

}  // namespace
}  // namespace lanista::nn
