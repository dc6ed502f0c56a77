#include "bench/functions.h"

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"

namespace lanista::bench {
namespace {

constexpr double kNoise = 0.05;  ///< standard deviation of a measurement of mf_hartmann

double real(const space::Sample& sample, const char* name) { return std::get<double>(sample.at(name)); }
std::int64_t bit(const space::Sample& sample, const char* name) { return std::get<std::int64_t>(sample.at(name)); }

/// Branin's function (Dixon and Szego, 1978). It has three equal minima, at (-pi, 12.275), (pi, 2.275), (3 pi, 2.475).
double branin(const space::Sample& sample) {
  const double x = real(sample, "x"), y = real(sample, "y"), pi = std::numbers::pi;
  const double bent = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return bent * bent + 10 * (1 - 1 / (8 * pi)) * portable_cos(x) + 10;
}

/// Hartmann's function of six variables (Dixon and Szego, 1978). A `part` below 1 lowers the weights of its hills,
/// which moves the minimum. This is the form for several fidelities (Kandasamy et al., BOCA, ICML'17).
double hartmann6(const space::Sample& sample, double part) {
  constexpr std::array<double, 4> kWeight{1.0, 1.2, 3.0, 3.2};
  constexpr std::array<std::array<double, 6>, 4> kScale{
      {{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}};
  constexpr std::array<std::array<double, 6>, 4> kMiddle{{{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                                          {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                                          {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                                          {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}}};
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double exponent = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      const double x = real(sample, ("x" + std::to_string(k)).c_str()) - kMiddle[i][k];
      exponent -= kScale[i][k] * x * x;
    }
    sum -= (kWeight[i] - 0.1 * (1 - part)) * portable_exp(exponent);
  }
  return sum;
}
double whole_hartmann6(const space::Sample& sample) { return hartmann6(sample, 1); }

/// A function with conditions (Jenatton et al., ICML'17). Two of three switches select a leaf, and each leaf has its
/// own numbers. The lowest leaf is 0.1.
double tree(const space::Sample& sample) {
  const auto leaf = [&](const char* square, double offset, const char* line) {
    return real(sample, square) * real(sample, square) + offset + real(sample, line);
  };
  if (bit(sample, "first") == 0) {
    return bit(sample, "left") == 0 ? leaf("x4", 0.1, "r8") : leaf("x5", 0.2, "r8");
  }
  return bit(sample, "right") == 0 ? leaf("x6", 0.3, "r9") : leaf("x7", 0.4, "r9");
}

/// A measurement of hartmann6 after `part` of the epochs, with noise.
double noisy_hartmann6(const space::Sample& sample, double part, Rng rng) {
  return hartmann6(sample, part) + kNoise * rng.normal();
}

/// A measurement that equals the true value.
template <double (*function)(const space::Sample&)>
double exactly(const space::Sample& sample, double, Rng) {
  return function(sample);
}

void add(space::SearchSpace& params, const std::string& name, space::Domain domain,
         std::vector<space::Parameter::Condition> when = {}) {
  LANISTA_CHECK(params.add({name, std::move(domain), std::move(when)}).ok(),
                "the parameter of a test function is valid");
}

space::FloatRange range(double lo, double hi) { return {lo, hi, 0, false}; }

space::SearchSpace cube_of_six() {
  space::SearchSpace out;
  for (int k = 0; k < 6; ++k) add(out, "x" + std::to_string(k), range(0, 1));
  return out;
}

space::SearchSpace tree_space() {
  const space::Value zero(std::int64_t{0}), one(std::int64_t{1});
  const space::Categorical either{{zero, one}};
  space::SearchSpace out;
  add(out, "first", either);
  add(out, "left", either, {{"first", {zero}}});
  add(out, "right", either, {{"first", {one}}});
  add(out, "r8", range(0, 1), {{"first", {zero}}});
  add(out, "r9", range(0, 1), {{"first", {one}}});
  add(out, "x4", range(-1, 1), {{"left", {zero}}});
  add(out, "x5", range(-1, 1), {{"left", {one}}});
  add(out, "x6", range(-1, 1), {{"right", {zero}}});
  add(out, "x7", range(-1, 1), {{"right", {one}}});
  return out;
}

}  // namespace

search::Context TestFunction::context(std::uint64_t seed) const {
  auto base = mutate::builtin_base("small-mlp", {{1}}, 2);
  LANISTA_CHECK(base.ok(), "a built-in base");
  std::vector<mutate::BaseModel> bases{*std::move(base)};
  auto models = mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), {}, {}, {});
  LANISTA_CHECK(models.ok(), "a space of one base");
  return {std::make_shared<const mutate::ModelSpace>(*std::move(models)), params, {{false, "loss"}}, epochs, Rng(seed)};
}

std::vector<TestFunction> test_functions() {
  space::SearchSpace plane;
  add(plane, "x", range(-5, 10));
  add(plane, "y", range(0, 15));
  constexpr double kHartmann6 = -3.32236801141551;  // by Newton's method from the published minimum
  return {
      {"branin", "Dixon and Szego 1978", 1, 0.397887357729738, plane, branin, exactly<branin>},
      {"hartmann6", "Dixon and Szego 1978", 1, kHartmann6, cube_of_six(), whole_hartmann6, exactly<whole_hartmann6>},
      {"tree", "Jenatton et al. 2017", 1, 0.1, tree_space(), tree, exactly<tree>},
      {"mf_hartmann", "Kandasamy et al. 2017, with noise", 27, kHartmann6, cube_of_six(), whole_hartmann6,
       noisy_hartmann6}};
}

}  // namespace lanista::bench
