#include "lanista/plan/sharing/materialize_rule.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/model/graph/text.h"

namespace lanista::sharing {
namespace {

const graph::Graph& prefix() {
  static const graph::Graph graph =
      *graph::parse("%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, kernel=[3], out=5)\n%2 = relu(%1)\n%3 = output(%2)\n");
  return graph;
}

/// Simple costs: `op` us for a convolution, 1 us for a byte that is read, and 4 us for a byte that is stored.
plan::Costs simple_costs(double op) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  plan::Costs costs{.table = {},
                    .machine = {},
                    .prices = {.gflops = kNoTime,
                               .gb_per_second = kNoTime,
                               .call_us = 0,
                               .load_gb_per_second = 1e-3,
                               .store_gb_per_second = 0.25e-3}};
  plan::CostKey key;
  key.work = "conv2d(kernel=[3], out=5) of [N, 1, 8, 8] batch 64";
  costs.table.put(key, {.microseconds = op, .flops = 0, .bytes = 0, .samples = 1});
  return costs;
}

constexpr std::int64_t kSamples = 128;  // Two batches.
constexpr std::int64_t kBytes = kSamples * 5 * 6 * 6 * 4;

/// Returns the decision for a convolution of `op` us.
Materialized decision(double op, std::int64_t epochs, std::int64_t cache_bytes) {
  return *materialization_of(prefix(), {.samples = kSamples, .epochs = epochs, .cache_bytes = cache_bytes},
                             graph::builtin_ops(), simple_costs(op));
}

TEST(Materialization, PaysIfLaterEpochsSaveMoreThanStoringNeeds) {
  // An epoch computes for 2 op us, reads for kBytes us, and stores for 4 kBytes us. If op is kBytes, each later epoch
  // saves kBytes us.
  const double op = static_cast<double>(kBytes);
  EXPECT_EQ(decision(op, 5, kBytes).why_not, "too few epochs: they save less time than storing needs");
  EXPECT_TRUE(decision(op, 6, kBytes).pays);
  EXPECT_EQ(decision(op, 6, kBytes - 1).why_not, "the values do not fit into the cache");
  EXPECT_EQ(decision(op / 2, 500, kBytes).why_not, "reading is not faster than computing");
  EXPECT_EQ(decision(op, 6, kBytes).bytes_per_sample, 5 * 6 * 6 * 4);
  EXPECT_EQ(decision(op, 6, kBytes).compute_us_per_epoch, 2 * op);
}

}  // namespace
}  // namespace lanista::sharing
