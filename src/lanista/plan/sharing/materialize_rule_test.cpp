#include "lanista/plan/sharing/materialize_rule.h"

#include <gtest/gtest.h>

#include "lanista/model/graph/text.h"

namespace lanista::fuse {
namespace {

const graph::Graph& prefix() {
  static const graph::Graph graph =
      *graph::parse("%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, kernel=[3], out=5)\n%2 = relu(%1)\n%3 = output(%2)\n");
  return graph;
}

/// Times that are easy to count with: 1 us an operator, a byte a microsecond.
class PlainCost final : public CostModel {
 public:
  explicit PlainCost(double op) : op_(op) {}
  double op_us(std::span<const OperatorWork* const> lanes, OpForm) const override {
    return lanes.front()->operation->op == "conv2d" ? op_ : 0;
  }
  double copy_us(double) const override { return 0; }
  double store_us(double bytes) const override { return 3 * bytes; }
  double load_us(double bytes) const override { return bytes; }

 private:
  double op_;
};

constexpr std::int64_t kSamples = 128;  // two batches
constexpr std::int64_t kBytes = kSamples * 5 * 6 * 6 * 4;

Materialized asked(double op, std::int64_t epochs, std::int64_t room) {
  return *materialization_of(prefix(), {.samples = kSamples, .epochs = epochs, .room = room}, graph::builtin_ops(),
                             PlainCost(op));
}

TEST(Keep, PaysWhereLaterEpochsSaveMoreThanStoringTakes) {
  // An epoch computes 2 op and reads kBytes, storing takes 3 kBytes: with op = kBytes each later epoch saves kBytes.
  const double op = static_cast<double>(kBytes);
  EXPECT_EQ(asked(op, 4, kBytes).why_not, "too few epochs to win back what storing takes");
  EXPECT_TRUE(asked(op, 5, kBytes).pays);
  EXPECT_EQ(asked(op, 5, kBytes - 1).why_not, "no room in the cache");
  EXPECT_EQ(asked(op / 2, 500, kBytes).why_not, "reading is no faster than computing");
  EXPECT_EQ(asked(op, 5, kBytes).bytes_per_sample, 5 * 6 * 6 * 4);
  EXPECT_EQ(asked(op, 5, kBytes).compute_us_per_epoch, 2 * op);
}

}  // namespace
}  // namespace lanista::fuse
