#include "lanista/search/math/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace lanista::search {
namespace {

using Vector = std::vector<double>;
constexpr std::size_t kPairs = 10;
constexpr int kHalvings = 40;
constexpr double kSufficient = 1e-4;  ///< Share of the decrease that the slope predicts (Armijo).

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Returns x + step * along.
Vector moved(const Vector& x, double step, const Vector& along) {
  Vector out = x;
  for (std::size_t i = 0; i < x.size(); ++i) out[i] += step * along[i];
  return out;
}

/// A step s and the change y of the gradient over it.
struct Pair {
  Vector s, y;
};

/// Returns the search direction: minus the gradient times the inverse Hessian that the pairs approximate (two-loop
/// recursion).
Vector direction(const std::deque<Pair>& pairs, const Vector& gradient) {
  Vector q = gradient;
  std::vector<double> alphas(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alphas[i] = dot(pairs[i].s, q) / dot(pairs[i].s, pairs[i].y);
    q = moved(q, -alphas[i], pairs[i].y);
  }
  // Without pairs the first step has at most length one.
  double scale = 1 / std::max(1.0, std::sqrt(dot(gradient, gradient)));
  if (!pairs.empty()) scale = dot(pairs.back().s, pairs.back().y) / dot(pairs.back().y, pairs.back().y);
  for (double& v : q) v *= scale;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    q = moved(q, alphas[i] - dot(pairs[i].y, q) / dot(pairs[i].s, pairs[i].y), pairs[i].s);
  }
  for (double& v : q) v = -v;
  return q;
}

}  // namespace

Vector minimize_lbfgs(const Differentiable& f, Vector x, std::int64_t iterations) {
  std::deque<Pair> pairs;
  Vector gradient(x.size());
  double value = f(x, gradient);
  for (std::int64_t i = 0; i < iterations && std::isfinite(value); ++i) {
    const Vector along = direction(pairs, gradient);
    const double slope = dot(along, gradient);
    if (!(slope < -1e-10 * (1 + std::abs(value)))) break;  // The function is flat.
    Vector next, next_gradient(x.size());
    double next_value = 0, step = 1;
    int tries = 0;
    for (; tries < kHalvings; ++tries, step /= 2) {
      next = moved(x, step, along);
      next_value = f(next, next_gradient);
      if (next_value <= value + kSufficient * step * slope) break;
    }
    if (tries == kHalvings) break;
    Pair pair{moved(next, -1, x), moved(next_gradient, -1, gradient)};
    x = std::move(next);
    gradient = std::move(next_gradient);
    value = next_value;
    // Only pairs of positive curvature keep the direction a descent.
    if (dot(pair.s, pair.y) <= 1e-12 * dot(pair.y, pair.y)) continue;
    pairs.push_back(std::move(pair));
    if (pairs.size() > kPairs) pairs.pop_front();
  }
  return x;
}

}  // namespace lanista::search
