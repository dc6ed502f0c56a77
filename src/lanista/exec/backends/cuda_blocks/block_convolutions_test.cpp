// Convolutions of random sizes on the block backend, with all their code paths: three taps at once, sums in chunks, and
// neither.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lanista/base/rng.h"
#include "support/exec/backends/cuda_blocks/block_test_devices.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 11;  // sums have any length

std::uint64_t num_models() { return runs_all_cases() ? 1000 : 60; }

// Two convolutions, most with stride and dilation 1 and three adjacent taps, over images of any size.
TestModel random_tap_model(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<std::int64_t> all) { return all.begin()[rng.below(all.size())]; };
  const auto seldom = [&](std::int64_t usual, std::int64_t low, std::int64_t high) {
    return std::to_string(rng.bernoulli(0.25) ? rng.between(low, high) : usual);
  };
  const std::int64_t channels = one_of({1, 2, 3, 4, 6, 8, 16}), between = one_of({3, 4, 6, 8, 12, 16});
  const auto convolution = [&](const std::string& from, std::int64_t in, std::int64_t out) {
    if (rng.bernoulli(0.25)) return "conv2d(" + from + ", out=" + std::to_string(out) + ", kernel=[1])";  // a product
    const std::int64_t groups = in % 2 == 0 && out % 2 == 0 && rng.bernoulli(0.2) ? 2 : 1;
    const std::string width = seldom(3, 1, 4), height = seldom(3, 1, 3);
    const std::string stride = seldom(1, 1, 2), dilation = seldom(1, 1, 2);
    const auto pad = [&] { return seldom(1, 0, 2); };
    return "conv2d(" + from + ", out=" + std::to_string(out) + ", kernel=[" + height + "," + width + "], stride=[" +
           stride + "," + stride + "], padding=[" + pad() + "," + pad() + "," + pad() + "," + pad() + "], dilation=[" +
           dilation + "," + dilation + "], groups=" + std::to_string(groups) +
           ", bias=" + (rng.bernoulli(0.5) ? "true" : "false") + ")";
  };
  const std::string shape = std::to_string(channels) + "," + std::to_string(rng.between(9, 17)) + "," +
                            std::to_string(rng.bernoulli(0.5) ? one_of({12, 16}) : rng.between(9, 17));
  const std::string norm = rng.bernoulli(0.5) ? "batch_norm(%1)" : "relu(%1)";
  return {.name = "drawn_taps_" + std::to_string(seed),
          .text = "%0 = input(shape=[" + shape + "], dtype=\"real\")\n%1 = " + convolution("%0", channels, between) +
                  "\n%2 = " + norm + "\n%3 = " + convolution("%2", between, one_of({4, 8, 16, 20})) +
                  "\n%4 = relu(%3)\n%5 = global_avg_pool(%4)\n%6 = linear(%5, out=10)\n%7 = output(%6)\n"};
}

TEST(BlockConvolutions, EqualTheCpuToTheBitForRandomSizes) {
  const kernels::FlushToZero as_workers;
  for (std::uint64_t seed = 0; seed < num_models(); ++seed) {
    const TestModel model = random_tap_model(seed);
    const Derived derived = derive(model);
    expect_equal_results(train(derived, host(), 2, 3, recipes(), true, kBatch),
                         train(derived, program::cpu_backend(), 2, 3, recipes(), true, kBatch), model.name);
    if (HasFailure()) FAIL() << model.text;
  }
}

TEST(BlockConvolutions, HaveNoRacesForRandomSizes) {
  for (std::uint64_t seed = 1000; seed < 1000 + num_models() / 12; ++seed) {
    const TestModel model = random_tap_model(seed);
    RaceDetectingDevice race_device;
    ASSERT_FALSE(train_on(race_device, derive(model)).empty()) << model.text;
    EXPECT_EQ(race_device.race_report.races, 0) << model.text << race_device.race_report.first;
  }
}

TEST(BlockOnCuda, EqualsTheCpuToTheBitForRandomConvolutions) {
  std::string why;
  const program::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  const kernels::FlushToZero as_workers;
  for (std::uint64_t seed = 0; seed < 2 * num_models(); ++seed) {
    const TestModel model = random_tap_model(seed);
    const Derived derived = derive(model);
    expect_equal_results(train(derived, *backend, 2, 3, recipes(), true, kBatch),
                         train(derived, program::cpu_backend(), 2, 3, recipes(), true, kBatch), model.name);
    if (HasFailure()) FAIL() << model.text;
  }
}

}  // namespace
}  // namespace lanista::device
