#include "lanista/search/math/extrapolation.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::search {
namespace {

/// The shape of a learning curve: a power or an exponential of the epoch.
struct Shape {
  bool is_power = true;
  double rate = 1;

  double raw(double t) const { return is_power ? portable_pow(t, -rate) : portable_exp(-rate * t); }
};

/// Returns the grid of shapes for a schedule of so many epochs.
std::vector<Shape> shapes(double epochs) {
  std::vector<Shape> out;
  for (const double power : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0}) out.push_back({true, power});
  for (const double falls : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) out.push_back({false, falls / epochs});
  return out;
}

/// The predicted loss at the last epoch by one shape: a Student's t distribution and its evidence.
struct Predicted {
  double log_evidence = 0;  ///< Logarithm, up to a constant that all shapes share.
  double mean = 0, scale = 1, degrees = 3;
};

constexpr double kPriorWeight = 1e-3;  ///< Weight of the prior of offset and fall, in samples.
/// Prior standard deviation of the noise, in ranges of the losses. It keeps the variance of an exact fit positive.
constexpr double kPriorNoise = 1e-3;

/// Returns the prediction by one shape. Losses are scaled to [0, 1]. The shape is scaled to 1 at the first epoch and 0
/// at the last, so that the offset is the loss at the end.
Predicted predict(std::span<const double> losses, double epochs, const Shape& shape) {
  const double top = shape.raw(1), bottom = shape.raw(epochs);
  const double c0 = losses.back(), a0 = losses.front() - losses.back();
  double s_cc = kPriorWeight, s_ca = 0, s_aa = kPriorWeight, z_c = 0, z_a = 0, z_z = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double f = (shape.raw(static_cast<double>(i + 1)) - bottom) / (top - bottom);
    const double z = losses[i] - c0 - a0 * f;
    s_cc += 1;
    s_ca += f;
    s_aa += f * f;
    z_c += z;
    z_a += z * f;
    z_z += z * z;
  }
  const double determinant = s_cc * s_aa - s_ca * s_ca;
  const double c = (s_aa * z_c - s_ca * z_a) / determinant, a = (s_cc * z_a - s_ca * z_c) / determinant;
  const double left = std::max(0.0, z_z - c * z_c - a * z_a);
  Predicted out;
  out.degrees = 1 + static_cast<double>(losses.size());
  const double rate = (kPriorNoise * kPriorNoise + left) / 2;
  out.mean = c0 + c;
  out.scale = std::sqrt(2 * rate / out.degrees * (1 + s_aa / determinant));
  out.log_evidence = -(portable_log(determinant) + out.degrees * portable_log(rate)) / 2;
  return out;
}

}  // namespace

double student_cdf(double t, double degrees) {
  const double z = std::sqrt(degrees * portable_log(1 + t * t / degrees)) * (8 * degrees + 1) / (8 * degrees + 3);
  return portable_normal_cdf(t < 0 ? -z : z);
}

double probability_below(std::span<const double> losses, std::int64_t epochs, double target) {
  LANISTA_CHECK(losses.size() >= 3 && std::ssize(losses) < epochs,
                "a curve needs three losses or more, and fewer than its epochs");
  const auto [low, high] = std::minmax_element(losses.begin(), losses.end());
  const double lowest = *low, range = *high - *low;
  if (range == 0) return lowest < target ? 1 : 0;  // The curve is constant.
  std::vector<double> unit;
  for (const double loss : losses) unit.push_back((loss - lowest) / range);
  const double goal = (target - lowest) / range, end = static_cast<double>(epochs);

  std::vector<Predicted> all;
  for (const Shape& shape : shapes(end)) all.push_back(predict(unit, end, shape));
  const double most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
                        return a.log_evidence < b.log_evidence;
                      })->log_evidence;
  double chance = 0, weights = 0;
  for (const Predicted& one : all) {
    const double weight = portable_exp(one.log_evidence - most);
    weights += weight;
    chance += weight * student_cdf((goal - one.mean) / one.scale, one.degrees);
  }
  return chance / weights;
}

}  // namespace lanista::search
