#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lanista::search {

/// A function that returns its value at `x` and writes its gradient, which has the size of `x`. It may return infinity
/// or NaN where it is not defined.
using Differentiable = std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

/// Returns a local minimum by L-BFGS (Liu and Nocedal, 1989; ten pairs) with backtracking. It starts at `x` and does at
/// most `iterations` iterations. The result is never worse than `x`.
std::vector<double> minimize_lbfgs(const Differentiable& f, std::vector<double> x, std::int64_t iterations);

}  // namespace lanista::search
