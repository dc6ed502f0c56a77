#include "lanista/exec/program/mean_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "lanista/base/rng.h"

namespace lanista::program {
namespace {

using graph::kBatch;
using graph::Shape;

const kernels::Kernels<double>& table() { return kernels::kernels<double>(kernels::Isa::kPortable); }

struct Case {
  Shape x, y;
  std::vector<std::int64_t> axes;
};

Case random_case(Rng& rng) {
  Case result;
  result.x.dims = {kBatch};
  result.y.dims = {kBatch};
  const std::int64_t rank = rng.between(2, 5);
  const bool keep = rng.bernoulli(0.5);
  for (std::int64_t axis = 1; axis < rank; ++axis) {
    const std::int64_t size = rng.between(1, 4);
    const bool reduced = rng.bernoulli(0.5);
    result.x.dims.push_back(size);
    if (reduced) result.axes.push_back(axis);
    if (!reduced || keep) result.y.dims.push_back(reduced ? 1 : size);
  }
  return result;
}

std::vector<double> to_memory(const Shape& shape, std::int64_t n, const std::vector<double>& values) {
  std::vector<double> result(values.size());
  Reorder::to_layout(shape, value_layout(shape)).convert(n, values.data(), result.data());
  return result;
}

// For every element of x in logical order, the element of y to which it contributes.
std::vector<std::size_t> owners(const Case& c, std::int64_t n) {
  std::vector<std::int64_t> dims = c.x.dims;
  dims[0] = n;
  std::vector<std::size_t> result;
  std::vector<std::int64_t> at(dims.size(), 0);
  for (std::int64_t e = 0; e < c.x.elements(n); ++e) {
    std::int64_t owner = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const bool reduced = std::find(c.axes.begin(), c.axes.end(), static_cast<std::int64_t>(axis)) != c.axes.end();
      if (!reduced) owner = owner * dims[axis] + at[axis];
    }
    result.push_back(static_cast<std::size_t>(owner));
    for (std::size_t axis = dims.size(); axis-- > 0 && ++at[axis] == dims[axis];) at[axis] = 0;
  }
  return result;
}

TEST(MeanPlan, ComputesMeanAndGradientForAnyAxesAndLayout) {
  Rng rng(5);
  for (int round = 0; round < 400; ++round) {
    const Case c = random_case(rng);
    const std::int64_t n = rng.between(1, 3);
    std::vector<double> x(static_cast<std::size_t>(c.x.elements(n)));
    std::vector<double> dy(static_cast<std::size_t>(c.y.elements(n)));
    for (double& value : x) value = rng.normal();
    for (double& value : dy) value = rng.normal();
    const auto owner = owners(c, n);
    const double count = static_cast<double>(x.size()) / static_cast<double>(dy.size());
    std::vector<double> y(dy.size(), 0);
    std::vector<double> dx(x.size());
    for (std::size_t e = 0; e < x.size(); ++e) {
      y[owner[e]] += x[e] / count;
      dx[e] = dy[owner[e]] / count;
    }

    const MeanPlan plan(c.x, c.axes, c.y);
    std::vector<double> scratch(static_cast<std::size_t>(plan.scratch(n)));
    std::vector<double> got_y(y.size());
    std::vector<double> got_dx(dx.size());
    plan.mean(table(), n, to_memory(c.x, n, x).data(), got_y.data(), scratch.data());
    plan.gradient(table(), n, to_memory(c.y, n, dy).data(), got_dx.data(), scratch.data());

    const auto wanted_y = to_memory(c.y, n, y);
    const auto wanted_dx = to_memory(c.x, n, dx);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(got_y[i], wanted_y[i], 1e-14) << c.x.text() << c.y.text();
    for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(got_dx[i], wanted_dx[i], 1e-14) << c.x.text();
  }
}

}  // namespace
}  // namespace lanista::program
