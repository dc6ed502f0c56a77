#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lanista::strategy {

/// Value of a function at x; writes its gradient, which has x's size. May give infinity or NaN where it is not defined.
using Differentiable = std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>;

/// A local minimum by L-BFGS (Liu & Nocedal, 1989; ten pairs) with backtracking; never worse than `x`.
std::vector<double> minimize_lbfgs(const Differentiable& f, std::vector<double> x, std::int64_t iterations);

}  // namespace lanista::strategy
