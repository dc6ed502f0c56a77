#include "lanista/io/data/normalization.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lanista/io/data/constant_columns.h"

namespace lanista::data {
namespace {

Error normalization_error(std::string message) { return {Code::kDataLoss, "normalization: " + std::move(message), ""}; }

Result<std::vector<double>> numbers_at(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_array()) {
    return normalization_error("\"" + std::string(key) + "\" is not a list of numbers");
  }
  std::vector<double> numbers;
  for (const auto& number : json[key]) {
    if (!number.is_number() || !std::isfinite(number.get<double>())) {
      return normalization_error("\"" + std::string(key) + "\" holds " + number.dump().substr(0, 32) +
                                 ", which is no finite number");
    }
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

/// Replaces every number of whole rows by `f` of it and of its entry.
template <class F>
void for_each_value(const Normalization& by, std::span<float> rows, std::int64_t width, F&& f) {
  const auto w = static_cast<std::size_t>(width), entries = by.mean.size();
  LANISTA_CHECK(w > 0 && by.scale.size() == entries && entries > 0 && w % entries == 0,
                "the entries of a normalisation must divide the features");
  const std::size_t run = w / entries;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t entry = i % w / run;
    rows[i] = static_cast<float>(f(static_cast<double>(rows[i]), by.mean[entry], by.scale[entry]));
  }
}

}  // namespace

void Normalization::apply(std::span<float> rows, std::int64_t width) const {
  for_each_value(*this, rows, width, [](double x, double m, double s) { return (x - m) / s; });
}

void Normalization::undo(std::span<float> rows, std::int64_t width) const {
  for_each_value(*this, rows, width, [](double x, double m, double s) { return x * s + m; });
}

Normalization less_origin(Normalization normalization, std::span<const double> origin) {
  if (origin.empty() || normalization == Normalization{}) return normalization;
  LANISTA_CHECK(origin.size() == normalization.mean.size(), "a normalisation must have one origin for each entry");
  for (std::size_t i = 0; i < origin.size(); ++i) normalization.mean[i] -= origin[i];
  return normalization;
}

std::int64_t normalization_entries(const graph::Shape& features) {
  return features.rank() == 3 ? features.dims.front() : 1;
}

Normalization fit_normalization(std::span<const float> features, std::int64_t width, std::int64_t entries,
                                std::span<const std::int64_t> rows) {
  LANISTA_CHECK(entries > 0 && width % entries == 0, "the entries of a normalisation must divide the features");
  const auto w = static_cast<std::size_t>(width), n = static_cast<std::size_t>(entries);
  const std::size_t run = w / n;
  const auto average = [&](auto&& term) {
    std::vector<double> total(n, 0.0);
    for (const std::int64_t row : rows) {
      const float* first = features.data() + static_cast<std::size_t>(row) * w;
      for (std::size_t f = 0; f < w; ++f) total[f / run] += term(f / run, static_cast<double>(first[f]));
    }
    for (double& t : total) t /= static_cast<double>(rows.size()) * static_cast<double>(run);
    return total;
  };
  Normalization out;
  out.mean = average([](std::size_t, double x) { return x; });
  out.scale = average([&](std::size_t e, double x) { return (x - out.mean[e]) * (x - out.mean[e]); });
  for (double& s : out.scale) s = s > 0 ? std::sqrt(s) : 1.0;
  return out;
}

void settle_constants(std::span<const float> numbers, std::int64_t width, std::span<const std::int64_t> rows,
                      std::span<const double> origin, Normalization& normalization) {
  const auto w = static_cast<std::size_t>(width), run = w / normalization.mean.size();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t entry = 0; entry < normalization.mean.size(); ++entry) {
    double least = kInfinity, most = -kInfinity;
    for (const std::int64_t row : rows) {
      const auto part = numbers.subspan(static_cast<std::size_t>(row) * w + entry * run, run);
      const auto [low, high] = std::ranges::minmax(part);
      least = std::min(least, double{low});
      most = std::max(most, double{high});
    }
    settle_constant(least, most, origin.empty() ? 0 : origin[entry], normalization.mean[entry],
                    normalization.scale[entry]);
  }
}

nlohmann::json normalization_json(const Normalization& normalization) {
  return {{"mean", normalization.mean}, {"scale", normalization.scale}};
}

Result<Normalization> parse_normalization(const nlohmann::json& json, std::int64_t width, const std::string& what) {
  Normalization out;
  LANISTA_ASSIGN(out.mean, numbers_at(json, "mean"));
  LANISTA_ASSIGN(out.scale, numbers_at(json, "scale"));
  const auto entries = static_cast<std::int64_t>(out.mean.size());
  if (out.scale.size() != out.mean.size() || entries == 0 || width % entries != 0) {
    return normalization_error(std::to_string(entries) + " means and " + std::to_string(out.scale.size()) +
                               " scales do not fit " + std::to_string(width) + " " + what);
  }
  if (std::count(out.scale.begin(), out.scale.end(), 0.0) > 0) return normalization_error("a scale is 0");
  return out;
}

}  // namespace lanista::data
