#include "lanista/io/data/arrays.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "lanista/io/data/label_kinds.h"
#include "lanista/io/data/origin.h"

namespace lanista::data {
namespace {

constexpr std::int64_t kMaxClasses = 100'000;

Error malformed(const Tensor& tensor, std::string message) {
  return {Code::kDataLoss, "data: " + std::move(message), tensor.name};
}

template <class To>
std::vector<To> numbers_of(const Tensor& tensor) {
  const auto copy = [](auto from) {
    std::vector<To> out(from.size());
    std::transform(from.begin(), from.end(), out.begin(), [](auto v) { return static_cast<To>(v); });
    return out;
  };
  switch (tensor.type) {
    case ElementType::kF32:
      return copy(elements_of<float>(tensor));
    case ElementType::kF64:
      return copy(elements_of<double>(tensor));
    case ElementType::kI32:
      return copy(elements_of<std::int32_t>(tensor));
    case ElementType::kI64:
      return copy(elements_of<std::int64_t>(tensor));
    case ElementType::kU8:
      return copy(elements_of<std::uint8_t>(tensor));
  }
  LANISTA_CHECK(false, "unknown element type");
  return {};
}

/// The elements as float32, less `origin`: one number for each equal run of a row of `width`, or empty. `exact` gets
/// them in double if there is no origin and float32 changes one of them.
std::vector<float> floats_of(const Tensor& tensor, std::size_t width, const std::vector<double>& origin,
                             std::vector<double>& exact) {
  if (!origin.empty()) return floats_less_origin(numbers_of<double>(tensor), width, origin);
  std::vector<float> out = numbers_of<float>(tensor);
  if (tensor.type == ElementType::kF32 || tensor.type == ElementType::kU8) return out;
  exact = numbers_of<double>(tensor);
  if (std::ranges::equal(out, exact, [](float held, double x) { return double{held} == x; })) exact = {};
  return out;
}

bool is_whole(const Tensor& tensor) { return tensor.type != ElementType::kF32 && tensor.type != ElementType::kF64; }

std::string shape_text(const std::vector<std::int64_t>& dims) { return graph::Shape{dims}.text(); }

/// Whether samples of one shape may replace those of the other: equal except for dimensions of 1, or one of them flat.
bool is_compatible_shape(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  const auto size = [](const auto& dims) { return graph::Shape{dims}.elements_per_sample(); };
  if (size(a) != size(b)) return false;
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b || a.size() <= 1 || b.size() <= 1;
}

/// The number of samples of the known shape in `x`.
Result<std::int64_t> rows_of_expected_shape(const Tensor& x, const graph::Shape& sample) {
  if (!x.shape.empty() && is_compatible_shape({x.shape.begin() + 1, x.shape.end()}, sample.dims))
    return x.shape.front();
  if (is_compatible_shape(x.shape, sample.dims)) return 1;
  return malformed(x, "an array " + shape_text(x.shape) + " holds no samples " + sample.text());
}

Result<std::vector<std::int32_t>> labels_of(const Tensor& y, std::int64_t max_classes) {
  std::vector<std::int32_t> labels;
  const auto raw = numbers_of<std::int64_t>(y);
  for (std::size_t row = 0; row < raw.size(); ++row) {
    if (raw[row] < 0 || raw[row] >= max_classes) {
      return malformed(y, "label of row " + std::to_string(row) + " is " + std::to_string(raw[row]) +
                              ", allowed is 0 to " + std::to_string(max_classes - 1));
    }
    labels.push_back(static_cast<std::int32_t>(raw[row]));
  }
  return labels;
}

/// The whole numbers of an array. None if a number is not whole or, as a float, beyond 2^53.
std::optional<std::vector<std::int64_t>> whole_numbers_of(const Tensor& y) {
  if (is_whole(y)) return numbers_of<std::int64_t>(y);
  constexpr double kExact = 9007199254740992.0;
  std::vector<std::int64_t> out;
  for (const double value : numbers_of<double>(y)) {
    if (!(std::abs(value) < kExact) || value != std::trunc(value)) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

/// The column of the single 1 of each row [rows, columns]. None if a row is not one-hot.
std::optional<std::vector<std::int32_t>> one_hot_labels(const std::vector<std::int64_t>& values, std::size_t columns) {
  std::vector<std::int32_t> out;
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    const auto row = std::span(values).subspan(begin, columns);
    const auto is_label = [](std::int64_t v) { return v == 0 || v == 1; };
    if (!std::ranges::all_of(row, is_label) || std::ranges::count(row, 1) != 1) return std::nullopt;
    out.push_back(static_cast<std::int32_t>(std::ranges::find(row, 1) - row.begin()));
  }
  return out;
}

std::string first_fraction_text(const Tensor& y) {
  const auto values = numbers_of<double>(y);
  const auto at = std::ranges::find_if(values, [](double v) { return v != std::trunc(v); }) - values.begin();
  if (at == std::ssize(values)) return "one number is beyond 2^53";
  return "row " + std::to_string(at) + " holds " + short_number(values[static_cast<std::size_t>(at)]);
}

/// Sets the labels of rows with one whole number each. Each different value is a class.
Result<void> label_values(const Tensor& y, const std::vector<std::int64_t>& values, RawData& raw) {
  std::map<std::int64_t, std::int32_t> classes;
  for (const std::int64_t value : values) classes.try_emplace(value, 0);
  if (std::ssize(classes) > kMaxClasses) {
    return malformed(y, std::to_string(classes.size()) + " different numbers are more than " +
                            std::to_string(kMaxClasses) + " classes; task=numbers reads numbers");
  }
  if (classes.size() < 2)
    return malformed(y, "a target needs at least two classes; all rows have " + std::to_string(values.front()));
  for (auto& [value, label] : classes) {
    label = static_cast<std::int32_t>(raw.spec.labels.size());
    raw.spec.labels.push_back(std::to_string(value));
  }
  raw.spec.classes = std::ssize(raw.spec.labels);
  for (const std::int64_t value : values) raw.labels.push_back(classes.at(value));
  return {};
}

/// Reads `y` by the rule of tables. False: it is numbers. They are labels if spec.multilabel is set.
Result<bool> read_classes_as_in_tables(const Tensor& y, const std::string& task, RawData& raw) {
  if (task == "numbers" || task == "multilabel") return false;
  const std::int64_t rows = raw.rows();
  const auto columns = static_cast<std::size_t>(y.elements() / rows);
  const auto values = whole_numbers_of(y);
  const bool must = task == "classes";
  if (!values) {
    if (!must) return false;
    return malformed(y,
                     "classes must be whole numbers, but " + first_fraction_text(y) + "; task=numbers reads numbers");
  }
  if (columns > 1) {
    if (auto labels = one_hot_labels(*values, columns)) {
      raw.labels = *std::move(labels);
      for (std::size_t c = 0; c < columns; ++c) raw.spec.labels.push_back(std::to_string(c));
      raw.spec.classes = std::ssize(raw.spec.labels);
      if (!must) raw.decisions.push_back({"target", label_rows_text(columns, true)});
      return true;
    }
    if (must) return malformed(y, "classes must be one number a row, or rows of zeros with a single 1");
    raw.spec.multilabel = std::ranges::all_of(*values, [](std::int64_t v) { return v == 0 || v == 1; });
    if (raw.spec.multilabel) raw.decisions.push_back({"target", label_rows_text(columns, false)});
    return false;
  }
  const std::set<std::int64_t> different(values->begin(), values->end());
  const WholeTarget target{.rows = static_cast<std::size_t>(rows),
                           .different = different.size(),
                           .min = static_cast<double>(*different.begin()),
                           .max = static_cast<double>(*different.rbegin())};
  const bool classes = must || are_classes(target, static_cast<std::size_t>(kMaxClasses));
  if (!must) raw.decisions.push_back({"target", whole_target_text(target, classes)});
  if (classes) LANISTA_TRY(label_values(y, *values, raw));
  return classes;
}

/// The class of each name that is a whole number, in ascending order. Empty if names are something else.
std::map<std::int64_t, std::int32_t> classes_of_numbers(const std::vector<std::string>& names) {
  std::map<std::int64_t, std::int32_t> out;
  for (const std::string& name : names) {
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (failed != std::errc() || end != name.data() + name.size()) return {};
    if (!out.empty() && value <= out.rbegin()->first) return {};
    out.emplace(value, static_cast<std::int32_t>(out.size()));
  }
  return out;
}

/// Reads the classes of new rows: the values that are names of classes, their numbers if the names are texts, or
/// one-hot rows.
Result<void> read_known_classes(const Tensor& y, const DataSpec& expected, RawData& raw) {
  const auto columns = static_cast<std::size_t>(y.elements() / raw.rows());
  const auto values = whole_numbers_of(y);
  if (!values) return malformed(y, "classes must be whole numbers, but " + first_fraction_text(y));
  raw.spec.classes = expected.classes;
  raw.spec.labels = expected.labels;
  if (columns > 1) {
    auto labels = std::cmp_equal(columns, expected.classes) ? one_hot_labels(*values, columns) : std::nullopt;
    if (!labels) {
      return malformed(y, "classes must be one number a row, or rows of " + std::to_string(expected.classes) +
                              " zeros with a single 1");
    }
    raw.labels = *std::move(labels);
    return {};
  }
  const auto classes = classes_of_numbers(expected.labels);
  for (std::size_t row = 0; row < values->size(); ++row) {
    const std::int64_t value = (*values)[row];
    const auto known = classes.find(value);
    const bool is_number = classes.empty() && value >= 0 && value < expected.classes;
    if (known == classes.end() && !is_number) {
      return malformed(y, "label of row " + std::to_string(row) + " is " + std::to_string(value) +
                              ", which is none of the " + std::to_string(expected.classes) + " classes");
    }
    raw.labels.push_back(is_number ? static_cast<std::int32_t>(value) : known->second);
  }
  return {};
}

/// The error for a finite number that a float cannot hold. None if there is no such number.
std::optional<Error> find_beyond_float(const Tensor& tensor, const std::string& what) {
  if (tensor.type != ElementType::kF64 || tensor.elements() == 0) return std::nullopt;
  const auto values = elements_of<double>(tensor);
  const auto at =
      std::ranges::find_if(values, [](double v) { return std::isfinite(v) && !std::isfinite(static_cast<float>(v)); });
  if (at == values.end()) return std::nullopt;
  const std::int64_t index = at - values.begin(), width = tensor.elements() / tensor.shape.front();
  return malformed(tensor, what + " " + std::to_string(index % width) + " of row " + std::to_string(index / width) +
                               " is " + short_number(*at) + ", which is finite but beyond float32 (3.4e38)");
}

/// Reads `y` as numbers, or labels if `multilabel`.
Result<void> read_numbers(const Tensor& y, const DataSpec* expected_spec, bool multilabel, RawData& raw) {
  raw.spec.target_size = y.elements() / raw.rows();
  if (expected_spec != nullptr && raw.spec.target_size != expected_spec->target_size) {
    return malformed(y, std::to_string(raw.spec.target_size) + " targets a row, the data set has " +
                            std::to_string(expected_spec->target_size));
  }
  if (const auto beyond = find_beyond_float(y, "target")) return *beyond;
  const std::vector<double> origin = expected_spec != nullptr ? expected_spec->target_origin : std::vector<double>();
  raw.targets = floats_of(y, static_cast<std::size_t>(raw.spec.target_size), origin, raw.exact_targets);
  raw.float32_targets = y.type == ElementType::kF32;
  raw.spec.multilabel = expected_spec != nullptr ? expected_spec->multilabel : multilabel;
  return {};
}

/// The warning for images with their channels last; empty for other samples.
std::string axes_warning(const graph::Shape& sample) {
  if (sample.dims.size() != 3) return {};
  const auto is_channels = [](std::int64_t size) { return size == 1 || size == 3 || size == 4; };
  if (!is_channels(sample.dims[2]) || is_channels(sample.dims[0]) || sample.dims[1] < 4) return {};
  return "samples " + sample.text() +
         " look like images with the channels last; the order of axes is [channels, height, width]: write "
         "x.transpose(0, 3, 1, 2)";
}

/// The warnings for columns of features [rows, columns] that count the rows from 0 or 1.
std::vector<std::string> counter_warnings(const std::vector<float>& features, std::size_t columns) {
  constexpr std::size_t kFewest = 20;
  std::vector<std::string> out;
  const std::size_t rows = features.size() / columns;
  for (std::size_t c = 0; rows >= kFewest && c < columns; ++c) {
    const float first = features[c];
    std::size_t row = 0;
    while (row < rows && features[row * columns + c] == first + static_cast<float>(row)) ++row;
    if (row < rows || (first != 0 && first != 1)) continue;
    out.push_back(
        "feature " + std::to_string(c) +
        " counts the rows, as an index does, so that a model may learn the order of the file; leave it out of "
        "the array");
  }
  return out;
}

/// The warning for samples [a, b] with entries of an axis that have very different ranges, as channels of a time series
/// may have; empty for others. All entries have one mean and deviation.
std::string range_warning(const std::vector<float>& features, const graph::Shape& sample) {
  if (sample.rank() != 2) return {};
  constexpr float kFarApart = 1000;
  const auto steps = static_cast<std::size_t>(sample.dims[0]), last = static_cast<std::size_t>(sample.dims[1]);
  for (const std::size_t axis : {std::size_t{1}, std::size_t{0}}) {
    const std::size_t entries = axis == 0 ? steps : last;
    std::vector<float> low(entries, std::numeric_limits<float>::infinity()), high(entries, -low[0]), ranges;
    for (std::size_t i = 0; i < features.size(); ++i) {
      const std::size_t entry = axis == 0 ? i / last % steps : i % last;
      low[entry] = std::min(low[entry], features[i]);
      high[entry] = std::max(high[entry], features[i]);
    }
    for (std::size_t e = 0; e < entries; ++e) {
      if (high[e] > low[e]) ranges.push_back(high[e] - low[e]);
    }
    const auto [least, most] = std::minmax_element(ranges.begin(), ranges.end());
    if (ranges.empty() || !(*most >= kFarApart * *least)) continue;
    return "axis " + std::to_string(axis + 1) + " of the features [rows, " + std::to_string(steps) + ", " +
           std::to_string(last) + "] has entries with ranges from " + short_number(*least) + " to " +
           short_number(*most) +
           ", but all have one mean and deviation; scale them, or give the array the shape [rows, " +
           std::to_string(steps * last) + "]";
  }
  return {};
}

/// Reads `y` into labels or targets.
Result<void> read_targets(const Tensor& y, const std::string& task, const DataSpec* expected_spec,
                          std::vector<std::string> names, ArrayRule rule, RawData& raw) {
  const std::int64_t rows = raw.rows();
  const bool single = y.shape.empty() && rows == 1;
  if (!single && (y.shape.empty() || y.shape.size() > 2 || y.shape.front() != rows || y.elements() == 0)) {
    return malformed(y, "targets must have the shape [" + std::to_string(rows) + "] or [" + std::to_string(rows) +
                            ", numbers], as there are " + std::to_string(rows) + " rows of features");
  }
  if (rule == ArrayRule::kAsTables) {
    if (expected_spec != nullptr && expected_spec->classes > 0) return read_known_classes(y, *expected_spec, raw);
    bool has_labels = false;
    if (expected_spec == nullptr) {
      LANISTA_ASSIGN(has_labels, read_classes_as_in_tables(y, task, raw));
    }
    if (has_labels) return {};
    return read_numbers(y, expected_spec, raw.spec.multilabel || task == "multilabel", raw);
  }
  const bool one_a_row = y.elements() == rows;
  const bool classes = expected_spec != nullptr ? expected_spec->classes > 0
                                                : task == "classes" || (task == "auto" && is_whole(y) && one_a_row);
  DataSpec& spec = raw.spec;
  if (!classes) return read_numbers(y, expected_spec, task == "multilabel", raw);
  if (!is_whole(y) || !one_a_row) return malformed(y, "classes must be whole numbers, one a row");
  const auto named = static_cast<std::int64_t>(names.size());
  const std::int64_t max_classes = expected_spec != nullptr ? expected_spec->classes : named > 0 ? named : kMaxClasses;
  LANISTA_ASSIGN(raw.labels, labels_of(y, max_classes));
  spec.classes = named > 0 ? named : std::int64_t{*std::ranges::max_element(raw.labels)} + 1;
  spec.labels = std::move(names);
  for (std::int64_t c = named; c < spec.classes; ++c) spec.labels.push_back(std::to_string(c));
  return {};
}

}  // namespace

Result<LoadedRows> rows_from_arrays(Arrays arrays, const std::string& task, const DataSpec* expected_spec,
                                    ArrayRule rule) {
  Tensor& x = arrays.x;
  LoadedRows found;
  RawData& raw = found.raw;
  if (expected_spec == nullptr && (x.shape.size() < 2 || x.elements() == 0)) {
    return malformed(x, "features must have the shape [rows, …] and hold numbers, not " + shape_text(x.shape));
  }
  if (x.elements() > kMaxFeatures) {
    return Error{Code::kResourceExhausted,
                 "features " + shape_text(x.shape) + " are more than " + std::to_string(kMaxFeatures) + " numbers",
                 x.name};
  }
  if (expected_spec != nullptr) {
    LANISTA_ASSIGN(const std::int64_t rows, rows_of_expected_shape(x, expected_spec->features));
    if (rows == 0) return malformed(x, "there are no rows");
    raw.spec.features = expected_spec->features;
  } else {
    raw.spec.features.dims.assign(x.shape.begin() + 1, x.shape.end());
    raw.has_feature_columns = rule == ArrayRule::kAsTables && raw.spec.features.rank() == 1;
    if (std::string warning = axes_warning(raw.spec.features); !warning.empty()) {
      raw.data_warnings.push_back(std::move(warning));
    }
  }
  if (const auto beyond = find_beyond_float(x, "feature")) return *beyond;
  raw.features =
      floats_of(x, static_cast<std::size_t>(raw.spec.features.elements_per_sample()),
                expected_spec != nullptr ? expected_spec->origin : std::vector<double>(), raw.exact_features);
  raw.float32_features = x.type == ElementType::kF32;
  if (rule == ArrayRule::kAsTables && expected_spec == nullptr) {
    std::string warning = range_warning(raw.features, raw.spec.features);
    if (!warning.empty()) raw.data_warnings.push_back(std::move(warning));
  }
  if (raw.has_feature_columns) {
    std::ranges::move(counter_warnings(raw.features, static_cast<std::size_t>(raw.spec.features.elements_per_sample())),
                      std::back_inserter(raw.data_warnings));
  }
  x.bytes = {};
  if (arrays.y) LANISTA_TRY(read_targets(*arrays.y, task, expected_spec, std::move(arrays.labels), rule, raw));
  raw.names = std::move(arrays.names);
  if (arrays.first_test_row >= 0) {
    for (std::int64_t row = arrays.first_test_row; row < raw.rows(); ++row) found.test.push_back(row);
  }
  return found;
}

Result<void> append_rows(Tensor& to, const Tensor& more) {
  const auto sample = [](const Tensor& t) { return std::vector<std::int64_t>(t.shape.begin() + 1, t.shape.end()); };
  if (to.shape.empty() || more.shape.empty() || to.type != more.type || sample(to) != sample(more)) {
    return malformed(
        more, "an array " + shape_text(more.shape) + " does not continue " + shape_text(to.shape) + " of " + to.name);
  }
  to.shape.front() += more.shape.front();
  to.bytes.insert(to.bytes.end(), more.bytes.begin(), more.bytes.end());
  return {};
}

}  // namespace lanista::data
