#include "lanista/io/data/origin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::data {
namespace {

constexpr double kLargestExact = 1 << 24;  // whole numbers up to it are exact as float32
constexpr std::size_t kNamedColumns = 3;

/// Size of the numbers of one column.
struct ColumnSize {
  double largest = 0, mean = 0, deviation = 0;  ///< largest magnitude; mean and deviation
  std::size_t count = 0;
  bool is_exact = true;  ///< float32 holds all of them, and they are at most 2^24
};

ColumnSize size_of(std::span<const double> numbers) {
  ColumnSize out;
  std::optional<double> first;
  // Sums of differences from the first number do not lose the digits that large numbers have in common.
  double sum = 0, squares = 0;
  for (const double x : numbers) {
    if (std::isnan(x)) continue;
    if (!first) first = x;
    ++out.count;
    out.largest = std::max(out.largest, std::fabs(x));
    out.is_exact = out.is_exact && std::fabs(x) <= kLargestExact && static_cast<double>(static_cast<float>(x)) == x;
    sum += x - *first;
    squares += (x - *first) * (x - *first);
  }
  if (out.count == 0) return out;
  const auto n = static_cast<double>(out.count);
  out.mean = *first + sum / n;
  out.deviation = std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)));
  return out;
}

/// The number with the fewest significant decimal digits that is within `away` of `x`.
double with_few_digits(double x, double away) {
  constexpr int kMostDigits = 17;
  std::array<char, 40> text{};
  for (int digits = 0; digits < kMostDigits; ++digits) {
    const auto done = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::scientific, digits);
    double rounded = 0;
    std::from_chars(text.data(), done.ptr, rounded);
    if (std::fabs(rounded - x) <= away) return rounded;
  }
  return x;
}

bool is_coarse(const ColumnSize& column) {
  return column.deviation > 0 && float32_spacing(column.largest) > kCoarseSpacing * column.deviation;
}

/// The numbers of run `entry` of the rows `fitted`, from numbers [rows, width].
template <class T>
std::vector<double> numbers_of_entry(const std::vector<T>& numbers, std::size_t width, std::size_t entry,
                                     std::size_t run, const std::vector<std::int64_t>& fitted) {
  std::vector<double> out;
  out.reserve(fitted.size() * run);
  for (const std::int64_t row : fitted) {
    const T* const first = numbers.data() + static_cast<std::size_t>(row) * width + entry * run;
    for (std::size_t i = 0; i < run; ++i) out.push_back(static_cast<double>(first[i]));
  }
  return out;
}

/// Origins of `entries` equal runs of a row; empty if none needs one.
std::vector<double> origins_of(const std::vector<double>& numbers, std::size_t width, std::size_t entries,
                               const std::vector<std::int64_t>& fitted) {
  std::vector<double> out(entries);
  for (std::size_t e = 0; e < entries; ++e) {
    out[e] = fit_origin(numbers_of_entry(numbers, width, e, width / entries, fitted));
  }
  if (std::ranges::all_of(out, [](double x) { return x == 0; })) out.clear();
  return out;
}

/// Columns that float32 holds badly, with the size of the first one.
struct CoarseColumns {
  std::vector<std::string> names;
  ColumnSize first;

  void add(std::string name, const ColumnSize& column) {
    if (!is_coarse(column)) return;
    if (names.empty()) first = column;
    names.push_back(std::move(name));
  }

  void warn(const std::string& what, const std::string& way_out, std::vector<std::string>& warnings) const {
    if (names.empty()) return;
    std::string text = what + (names.size() == 1 ? " " : "s ");
    for (std::size_t i = 0; i < std::min(names.size(), kNamedColumns); ++i) text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > kNamedColumns) text += " and " + std::to_string(names.size() - kNamedColumns) + " more";
    warnings.push_back(text + (names.size() == 1 ? " loses" : " lose") + " digits: float32 near " +
                       short_number(first.largest) + " has steps of " + short_number(float32_spacing(first.largest)) +
                       ", the deviation is " + short_number(first.deviation) + "; " + way_out);
  }
};

/// The size of a fitted column of a table from its statistics.
ColumnSize size_of(const NumberStats& stats) {
  const bool constant = stats.min == stats.max;
  return {.largest = std::max(std::fabs(stats.min), std::fabs(stats.max)),
          .mean = stats.mean,
          .deviation = constant ? 0 : stats.scale};
}

void add_coarse_table_columns(const DataSpec& spec, CoarseColumns& out) {
  const auto columns = parse_columns(spec.schema.at("columns"));
  LANISTA_CHECK(columns.ok(), "a specification holds a sound schema");
  const auto add = [&](const Column& column, const NumberStats& stats) {
    out.add("\"" + column.name + "\"", size_of(stats));
  };
  for (const Column& column : *columns) {
    if (column.kind == ColumnKind::kNumber) add(column, column.stats);
    for (const NumberStats& part : column.parts) add(column, part);
  }
}

/// Adds the columns of float32 numbers [rows, width], or of `exact` numbers unless it is empty.
void add_coarse_entries(const std::vector<float>& stored, const std::vector<double>& exact, std::size_t width,
                        const std::vector<std::string>& names, const std::vector<std::int64_t>& fitted,
                        CoarseColumns& out) {
  for (std::size_t e = 0; e < width; ++e) {
    const std::vector<double> numbers =
        exact.empty() ? numbers_of_entry(stored, width, e, 1, fitted) : numbers_of_entry(exact, width, e, 1, fitted);
    out.add(e < names.size() ? "\"" + names[e] + "\"" : std::to_string(e), size_of(numbers));
  }
}

constexpr const char* kFloat64File = "a file with float64 keeps the digits";

}  // namespace

double float32_spacing(double x) {
  const auto held = static_cast<float>(std::fabs(x));
  if (!std::isfinite(held)) return std::numeric_limits<double>::infinity();
  const auto next = std::bit_cast<float>(std::bit_cast<std::uint32_t>(held) + 1);
  return static_cast<double>(next) - static_cast<double>(held);
}

double fit_origin(std::span<const double> numbers) {
  const ColumnSize column = size_of(numbers);
  const double spacing = float32_spacing(column.largest);
  if (column.is_exact || !std::isfinite(spacing) || spacing <= kOriginSpacing * column.deviation) return 0;
  const double origin = with_few_digits(column.mean, column.deviation);
  double farthest = 0;
  for (const double x : numbers) {
    if (!std::isnan(x)) farthest = std::max(farthest, std::fabs(x - origin));
  }
  return 2 * float32_spacing(farthest) <= spacing ? origin : 0;
}

std::vector<float> floats_less_origin(std::span<const double> rows, std::size_t width, std::span<const double> origin) {
  LANISTA_CHECK(width > 0 && (origin.empty() || width % origin.size() == 0),
                "origins must divide the numbers of a row");
  std::vector<float> out(rows.size());
  const std::size_t run = origin.empty() ? width : width / origin.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out[i] = static_cast<float>(rows[i] - (origin.empty() ? 0 : origin[i % width / run]));
  }
  return out;
}

std::vector<double> exact_numbers(const Table& table, const std::vector<std::size_t>& columns) {
  std::vector<double> out;
  out.reserve(table.rows() * columns.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const std::size_t column : columns) out.push_back(table.number(table.text(row, column)).value_or(0));
  }
  return out;
}

void fit_origins(RawData& raw, const std::vector<std::int64_t>& fitted, const study::DataConfig& config) {
  DataSpec& spec = raw.spec;
  const auto width = static_cast<std::size_t>(spec.features.elements_per_sample());
  const auto outputs = static_cast<std::size_t>(spec.target_size);
  const bool table = !spec.schema.is_null();
  const bool numbers = spec.targets().kind == autodiff::TargetKind::kNumbers;
  if (config.normalize != "none" && !raw.exact_features.empty()) {
    // Columns with one mean in common would lose each other's digits, so each gets its own.
    const bool image = spec.features.rank() == 3;
    const auto entries = image ? static_cast<std::size_t>(normalization_entries(spec.features)) : width;
    spec.origin = origins_of(raw.exact_features, width, entries, fitted);
    if (!spec.origin.empty()) raw.features = floats_less_origin(raw.exact_features, width, spec.origin);
  }
  if (numbers && config.targets != "raw" && !raw.exact_targets.empty()) {
    spec.target_origin = origins_of(raw.exact_targets, outputs, outputs, fitted);
    if (!spec.target_origin.empty()) raw.targets = floats_less_origin(raw.exact_targets, outputs, spec.target_origin);
  }
  CoarseColumns features, targets;
  if (table && config.normalize == "none") add_coarse_table_columns(spec, features);
  if (raw.float32_features || (config.normalize == "none" && !raw.exact_features.empty())) {
    add_coarse_entries(raw.features, raw.exact_features, width, {}, fitted, features);
  }
  if (numbers && (raw.float32_targets || (config.targets == "raw" && !raw.exact_targets.empty()))) {
    add_coarse_entries(raw.targets, raw.exact_targets, outputs, target_names(spec), fitted, targets);
  }
  features.warn(table ? "column" : "feature",
                raw.float32_features ? kFloat64File : "data.normalize: auto keeps the digits", raw.data_warnings);
  targets.warn("target", raw.float32_targets ? kFloat64File : "data.targets: standardize keeps the digits",
               raw.data_warnings);
  raw.exact_features = {};
  raw.exact_targets = {};
}

}  // namespace lanista::data
