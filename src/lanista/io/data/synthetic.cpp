#include <cmath>

#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {
namespace {

constexpr double kPi = 3.14159265358979323846;

struct SyntheticSize {
  std::int64_t rows, classes, features;
};

/// Classes are arms that turn one and a half times around the origin. Features beyond the second are noise.
void spirals(const SyntheticSize& size, const Rng& rng, std::vector<float>& features,
             std::vector<std::int32_t>& labels) {
  for (std::int64_t row = 0; row < size.rows; ++row) {
    Rng own = rng.split(static_cast<std::uint64_t>(row));
    const std::int64_t label = row % size.classes;
    const double radius = std::sqrt(own.uniform());
    const double angle = 3 * kPi * radius + 2 * kPi * static_cast<double>(label) / static_cast<double>(size.classes);
    features.push_back(static_cast<float>(radius * portable_cos(angle) + 0.02 * own.normal()));
    features.push_back(static_cast<float>(radius * portable_cos(angle - kPi / 2) + 0.02 * own.normal()));
    for (std::int64_t f = 2; f < size.features; ++f) features.push_back(static_cast<float>(own.normal()));
    labels.push_back(static_cast<std::int32_t>(label));
  }
}

/// Classes are normal clouds of deviation 1 around centres that are sampled with deviation 3.
void blobs(const SyntheticSize& size, const Rng& rng, std::vector<float>& features, std::vector<std::int32_t>& labels) {
  std::vector<double> centres;
  Rng centre = rng.split("centres");
  for (std::int64_t i = 0; i < size.classes * size.features; ++i) centres.push_back(3 * centre.normal());
  for (std::int64_t row = 0; row < size.rows; ++row) {
    Rng own = rng.split(static_cast<std::uint64_t>(row));
    const std::int64_t label = row % size.classes;
    for (std::int64_t f = 0; f < size.features; ++f) {
      const double middle = centres[static_cast<std::size_t>(label * size.features + f)];
      features.push_back(static_cast<float>(middle + own.normal()));
    }
    labels.push_back(static_cast<std::int32_t>(label));
  }
}

/// y = w.x + cos(v.x) + noise of deviation 0.1, with normal x and weights of norm about 1.
void regression(const SyntheticSize& size, const Rng& rng, std::vector<float>& features, std::vector<float>& targets) {
  std::vector<double> w, v;
  Rng weights = rng.split("weights");
  const double scale = 1 / std::sqrt(static_cast<double>(size.features));
  for (std::int64_t f = 0; f < size.features; ++f) {
    w.push_back(scale * weights.normal());
    v.push_back(scale * weights.normal());
  }
  for (std::int64_t row = 0; row < size.rows; ++row) {
    Rng own = rng.split(static_cast<std::uint64_t>(row));
    double linear = 0, phase = 0;
    for (std::size_t f = 0; f < w.size(); ++f) {
      const double x = own.normal();
      features.push_back(static_cast<float>(x));
      linear += w[f] * x;
      phase += v[f] * x;
    }
    targets.push_back(static_cast<float>(linear + portable_cos(phase) + 0.1 * own.normal()));
  }
}

}  // namespace

Result<LoadedRows> read_synthetic(const ReadRequest& request) {
  const Source& source = request.source;
  const bool numbers = source.argument == "regression";
  if (!numbers && source.argument != "spirals" && source.argument != "blobs") {
    return source.error("unknown set \"" + source.argument + "\"; there are spirals, blobs, regression");
  }
  if (numbers) LANISTA_TRY(source.check_option_names({"rows", "features", "seed"}));
  SyntheticSize size{};
  LANISTA_ASSIGN(size.rows, source.integer("rows", 1000, 1, 10'000'000));
  LANISTA_ASSIGN(size.classes, source.integer("classes", 3, 2, 1000));
  const bool spiral = source.argument == "spirals";
  LANISTA_ASSIGN(size.features, source.integer("features", spiral ? 2 : 8, spiral ? 2 : 1, 10'000));
  LANISTA_ASSIGN(const std::int64_t seed, source.integer("seed", 1, 0, INT64_MAX));
  if (size.rows * size.features > 1'000'000'000) return source.error("rows times features is above 10^9");

  LoadedRows found;
  RawData& raw = found.raw;
  raw.spec.name = source.argument;
  raw.spec.features.dims = {size.features};
  raw.spec.classes = numbers ? 0 : size.classes;
  for (std::int64_t c = 0; c < raw.spec.classes; ++c) raw.spec.labels.push_back(std::to_string(c));
  raw.features.reserve(static_cast<std::size_t>(size.rows * size.features));
  const Rng rng = Rng(static_cast<std::uint64_t>(seed)).split(source.argument);
  if (numbers) {
    regression(size, rng, raw.features, raw.targets);
  } else if (spiral) {
    spirals(size, rng, raw.features, raw.labels);
  } else {
    blobs(size, rng, raw.features, raw.labels);
  }
  return found;
}

}  // namespace lanista::data
