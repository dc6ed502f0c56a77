// Each allocation of some work fails once. The work must then throw std::bad_alloc and nothing else.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"

namespace {

long until_refused = -1;  // allocations until one fails; below zero: none fails

}  // namespace

void* operator new(std::size_t bytes) {
  if (until_refused >= 0 && until_refused-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lanista {
namespace {

/// Fails each allocation of the work once, and returns their number.
long refuse_each(const std::function<void()>& work) {
  for (long number = 0;; ++number) {
    until_refused = number;
    bool was_refused = false;
    try {
      work();
    } catch (const std::bad_alloc&) {
      was_refused = true;
    }
    const bool is_over = until_refused >= 0;
    until_refused = -1;
    if (is_over) return number;
    EXPECT_TRUE(was_refused) << "allocation " << number;
  }
}

constexpr const char* kModel =
    "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4, kernel=[3,3], padding=[1,1])\n%2 = batch_norm(%1)\n"
    "%3 = relu(%2)\n%4 = flatten(%3)\n%5 = dropout(%4, p=0.25)\n%6 = linear(%5, out=3)\n%7 = output(%6)\n";

TEST(AllocationFailures, InOperatorTable) {
  EXPECT_GT(refuse_each([] { static_cast<void>(graph::builtin_ops()); }), 100);
}

TEST(AllocationFailures, InModelReader) {
  ASSERT_TRUE(graph::parse(kModel));
  EXPECT_GT(refuse_each([] { static_cast<void>(graph::parse(kModel)); }), 20);
}

TEST(AllocationFailures, InTrainingStepDerivation) {
  const auto model = *graph::parse(kModel);
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  const auto step = autodiff::derive_training_step(model, {}, ops);
  ASSERT_TRUE(step) << step.error().text();
  EXPECT_GT(refuse_each([&] { static_cast<void>(autodiff::derive_training_step(model, {}, ops)); }), 100);
}

}  // namespace
}  // namespace lanista
