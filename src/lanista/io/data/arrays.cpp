#include "lanista/io/data/arrays.h"

#include <algorithm>
#include <limits>
#include <utility>

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

/// Reads `y` into labels or targets.
Result<void> read_targets(const Tensor& y, const std::string& task, const DataSpec* expected_spec,
                          std::vector<std::string> names, RawData& raw) {
  const std::int64_t rows = raw.rows();
  const bool single = y.shape.empty() && rows == 1;
  if (!single && (y.shape.empty() || y.shape.size() > 2 || y.shape.front() != rows || y.elements() == 0)) {
    return malformed(y, "targets must have the shape [" + std::to_string(rows) + "] or [" + std::to_string(rows) +
                            ", numbers], as there are " + std::to_string(rows) + " rows of features");
  }
  const bool one_a_row = y.elements() == rows;
  const bool classes = expected_spec != nullptr ? expected_spec->classes > 0
                                                : task == "classes" || (task == "auto" && is_whole(y) && one_a_row);
  DataSpec& spec = raw.spec;
  if (!classes) {
    spec.target_size = y.elements() / rows;
    if (expected_spec != nullptr && spec.target_size != expected_spec->target_size) {
      return malformed(y, std::to_string(spec.target_size) + " targets a row, the data set has " +
                              std::to_string(expected_spec->target_size));
    }
    const std::vector<double> origin = expected_spec != nullptr ? expected_spec->target_origin : std::vector<double>();
    raw.targets = floats_of(y, static_cast<std::size_t>(spec.target_size), origin, raw.exact_targets);
    raw.float32_targets = y.type == ElementType::kF32;
    spec.multilabel = expected_spec != nullptr ? expected_spec->multilabel : task == "multilabel";
    return {};
  }
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

Result<LoadedRows> rows_from_arrays(Arrays arrays, const std::string& task, const DataSpec* expected_spec) {
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
  }
  raw.features =
      floats_of(x, static_cast<std::size_t>(raw.spec.features.elements_per_sample()),
                expected_spec != nullptr ? expected_spec->origin : std::vector<double>(), raw.exact_features);
  raw.float32_features = x.type == ElementType::kF32;
  x.bytes = {};
  if (arrays.y) LANISTA_TRY(read_targets(*arrays.y, task, expected_spec, std::move(arrays.labels), raw));
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
