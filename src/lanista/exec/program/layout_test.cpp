#include "lanista/exec/program/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lanista/base/rng.h"

namespace lanista::program {
namespace {

using graph::kBatch;
using graph::Shape;

const kernels::Kernels<double>& table() { return kernels::kernels<double>(kernels::Isa::kPortable); }

std::vector<double> counting(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

std::vector<double> copied(const Reorder& reorder, std::int64_t n, const std::vector<double>& x) {
  std::vector<double> by_kernel(x.size());
  std::vector<double> by_hand(x.size());
  reorder.apply(table(), n, x.data(), by_kernel.data());
  reorder.convert(n, x.data(), by_hand.data());
  EXPECT_EQ(by_kernel, by_hand);
  return by_kernel;
}

TEST(Reorder, PutsChannelsLast) {
  const Shape image{{kBatch, 3, 2, 4}};
  const auto x = counting(2 * 24);

  const auto y = copied(Reorder::to_layout(image, Layout::kImage), 2, x);

  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 8; ++p) EXPECT_EQ(y[n * 24 + p * 3 + c], x[n * 24 + c * 8 + p]);
    }
  }
  EXPECT_EQ(copied(Reorder::from_layout(image, Layout::kImage), 2, y), x);
}

TEST(Reorder, IsItsInverseForEveryLayout) {
  const std::vector<std::pair<Layout, Shape>> cases{{Layout::kPlain, {{kBatch, 3, 4}}},
                                                    {Layout::kImage, {{kBatch, 1, 4, 5}}},
                                                    {Layout::kImage, {{kBatch, 4, 1, 5}}},
                                                    {Layout::kImage, {{kBatch, 4, 3, 5}}},
                                                    {Layout::kLinearWeight, {{4, 7}}},
                                                    {Layout::kConvWeight, {{4, 2, 3, 5}}},
                                                    {Layout::kConvWeight, {{4, 2, 5}}},
                                                    {Layout::kMap, {{4, 2, 3}}},
                                                    {Layout::kPlain, {{}}}};
  for (const auto& [layout, shape] : cases) {
    const auto x = counting(shape.has_batch() ? 3 * shape.elements_per_sample() : shape.elements_per_sample());
    const auto y = copied(Reorder::to_layout(shape, layout), 3, x);
    EXPECT_EQ(copied(Reorder::from_layout(shape, layout), 3, y), x) << shape.text();
    EXPECT_EQ(y == x, Reorder::to_layout(shape, layout).is_identity()) << shape.text();
  }
}

TEST(Reorder, IsIdentityForSomeImages) {
  EXPECT_TRUE(Reorder::to_layout({{kBatch, 1, 8, 8}}, Layout::kImage).is_identity());
  EXPECT_TRUE(Reorder::to_layout({{kBatch, 7, 1, 1}}, Layout::kImage).is_identity());
  EXPECT_FALSE(Reorder::to_layout({{kBatch, 2, 1, 2}}, Layout::kImage).is_identity());
}

TEST(Reorder, FollowsAnyPermutation) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const auto rank = static_cast<std::uint32_t>(rng.between(1, 5));
    std::vector<std::int64_t> dims;
    for (std::uint32_t i = 0; i < rank; ++i) dims.push_back(rng.between(1, 4));
    const auto as_axes = [](const std::vector<std::uint32_t>& p) {
      return std::vector<std::size_t>(p.begin(), p.end());
    };
    const auto from = as_axes(rng.permutation(rank));
    const auto to = as_axes(rng.permutation(rank));
    const Reorder reorder(dims, from, to);
    const auto x = counting(reorder.elements(1));

    const auto y = copied(reorder, 1, x);

    // Element by element: the offset of a logical position in both orders.
    const auto offset = [&](const std::vector<std::size_t>& order, const std::vector<std::int64_t>& at) {
      std::int64_t result = 0;
      for (const std::size_t axis : order) result = result * dims[axis] + at[axis];
      return static_cast<std::size_t>(result);
    };
    std::vector<std::int64_t> at(rank, 0);
    for (std::size_t e = 0; e < x.size(); ++e) {
      EXPECT_EQ(y[offset(to, at)], x[offset(from, at)]);
      for (std::size_t axis = rank; axis-- > 0 && ++at[axis] == dims[axis];) at[axis] = 0;
    }
  }
}

TEST(AxisView, CountsOuterAndInnerElementsOfAnAxis) {
  const Shape image{{kBatch, 3, 4, 5}};
  const auto sizes = [&](std::size_t axis) {
    const kernels::AxisShape s = axis_view(image, Layout::kImage, axis).at(2);
    return std::vector<std::int64_t>{s.outer, s.len, s.inner};
  };
  EXPECT_EQ(sizes(1), (std::vector<std::int64_t>{40, 3, 1}));
  EXPECT_EQ(sizes(2), (std::vector<std::int64_t>{2, 4, 15}));
  EXPECT_EQ(sizes(3), (std::vector<std::int64_t>{8, 5, 3}));
}

}  // namespace
}  // namespace lanista::program
