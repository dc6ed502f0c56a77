#include "lanista/io/data/origin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::data {
namespace {

constexpr double kLargestExact = 1 << 24;  // whole numbers up to it are exact as float32
constexpr std::size_t kNamedColumns = 3;

/// Size of the numbers of one column.
struct ColumnSize {
  double largest = 0, mean = 0, deviation = 0;  ///< Largest magnitude; mean and deviation.
  bool is_exact = true;                         ///< True: float32 holds all of them, and they are at most 2^24.
};

/// Sums over the numbers of one column.
class ColumnSums {
 public:
  void add(double x) {
    if (std::isnan(x)) return;
    if (count_++ == 0) first_ = x;
    largest_ = std::max(largest_, std::fabs(x));
    is_exact_ = is_exact_ && std::fabs(x) <= kLargestExact && static_cast<double>(static_cast<float>(x)) == x;
    // Differences from the first number do not lose the digits that large numbers have in common.
    sum_ += x - first_;
    squares_ += (x - first_) * (x - first_);
  }
  ColumnSize size() const {
    if (count_ == 0) return {};
    const double n = static_cast<double>(count_), away = sum_ / n;
    return {.largest = largest_,
            .mean = first_ + away,
            .deviation = std::sqrt(std::max(0.0, squares_ / n - away * away)),
            .is_exact = is_exact_};
  }

 private:
  std::size_t count_ = 0;
  double first_ = 0, largest_ = 0, sum_ = 0, squares_ = 0;
  bool is_exact_ = true;
};

/// The sizes of `entries` equal runs of the rows `fitted`, from numbers [rows, width], in one pass.
template <class T>
std::vector<ColumnSize> sizes_of(const std::vector<T>& numbers, std::size_t width, std::size_t entries,
                                 const std::vector<std::int64_t>& fitted) {
  std::vector<ColumnSums> sums(entries);
  const std::size_t run = width / entries;
  for (const std::int64_t row : fitted) {
    const T* const first = numbers.data() + static_cast<std::size_t>(row) * width;
    for (std::size_t i = 0; i < width; ++i) sums[i / run].add(static_cast<double>(first[i]));
  }
  std::vector<ColumnSize> out;
  for (const ColumnSums& each : sums) out.push_back(each.size());
  return out;
}

bool needs_origin(const ColumnSize& column) {
  const double spacing = float32_spacing(column.largest);
  return !column.is_exact && std::isfinite(spacing) && spacing > kOriginSpacing * column.deviation;
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

/// The origin of numbers of this size, which need one; 0 if it would not halve the spacing.
double origin_of(const ColumnSize& column, std::span<const double> numbers) {
  const double origin = with_few_digits(column.mean, column.deviation);
  double farthest = 0;
  for (const double x : numbers) {
    if (!std::isnan(x)) farthest = std::max(farthest, std::fabs(x - origin));
  }
  return 2 * float32_spacing(farthest) <= float32_spacing(column.largest) ? origin : 0;
}

/// Origins of `entries` equal runs of a row; empty if none needs one.
std::vector<double> origins_of(const std::vector<double>& numbers, std::size_t width, std::size_t entries,
                               const std::vector<std::int64_t>& fitted) {
  const std::vector<ColumnSize> sizes = sizes_of(numbers, width, entries, fitted);
  const std::size_t run = width / entries;
  std::vector<double> out(entries), of_entry;
  for (std::size_t e = 0; e < entries; ++e) {
    if (!needs_origin(sizes[e])) continue;
    of_entry.clear();
    for (const std::int64_t row : fitted) {
      const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width + e * run);
      of_entry.insert(of_entry.end(), first, first + static_cast<std::ptrdiff_t>(run));
    }
    out[e] = origin_of(sizes[e], of_entry);
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

  void add_warning(const std::string& what, const std::string& way_out, std::vector<std::string>& warnings) const {
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
  const auto sizes = exact.empty() ? sizes_of(stored, width, width, fitted) : sizes_of(exact, width, width, fitted);
  for (std::size_t e = 0; e < width; ++e) {
    out.add(e < names.size() ? "\"" + names[e] + "\"" : std::to_string(e), sizes[e]);
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
  ColumnSums sums;
  for (const double x : numbers) sums.add(x);
  const ColumnSize column = sums.size();
  return needs_origin(column) ? origin_of(column, numbers) : 0;
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
  features.add_warning(table ? "column" : "feature",
                       raw.float32_features ? kFloat64File : "data.normalize: auto keeps the digits",
                       raw.data_warnings);
  targets.add_warning("target", raw.float32_targets ? kFloat64File : "data.targets: standardize keeps the digits",
                      raw.data_warnings);
  raw.exact_features = {};
  raw.exact_targets = {};
}

}  // namespace lanista::data
