#include "lanista/io/data/export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "lanista/io/formats/csv_writer.h"
#include "lanista/io/formats/idx.h"
#include "lanista/io/formats/image.h"
#include "lanista/io/formats/npy.h"

namespace lanista::data {
namespace {

using Files = std::map<std::string, std::string>;

/// The rows as the data set has them.
struct ExportRows {
  const DataSpec& spec;
  std::size_t rows, width;
  std::vector<float> features, targets;
  std::vector<std::int32_t> labels;

  ExportRows(const Dataset& data, const std::vector<std::int64_t>& requested)
      : spec(data.spec()),
        rows(requested.size()),
        width(static_cast<std::size_t>(spec.features.elements_per_sample())),
        features(rows * width) {
    data.gather_features(requested, features);
    if (spec.classes > 0) {
      labels.resize(rows * static_cast<std::size_t>(spec.labels_per_sample()));
      data.gather_labels(requested, labels);
    } else {
      targets.resize(rows * static_cast<std::size_t>(spec.target_size));
      data.gather_raw_targets(requested, targets);
    }
  }

  /// A number as it is stored, and what was subtracted from it.
  struct Stored {
    float number = 0;
    double origin = 0;

    double value() const { return double{number} + origin; }
  };
  /// A feature: raw ones with the origin of the data set.
  Stored feature(std::size_t row, std::size_t feature) const {
    const double origin = has_raw_origins() ? spec.origin[feature * spec.origin.size() / width] : 0;
    return {features[row * width + feature], origin};
  }
  Stored target(std::size_t row, std::size_t target) const {
    const double origin = spec.target_origin.empty() ? 0 : spec.target_origin[target];
    return {targets[row * static_cast<std::size_t>(spec.target_size) + target], origin};
  }
  /// True: features are not normalised and lack their origin.
  bool has_raw_origins() const { return !spec.origin.empty() && spec.normalization == Normalization{}; }

  std::string label(std::size_t row) const {
    const auto label = static_cast<std::size_t>(labels[row]);
    return label < spec.labels.size() ? spec.labels[label] : std::to_string(label);
  }
};

Error unsupported_data(const ExportRows& numbers, const std::string& format, const std::string& why) {
  return {Code::kInvalidArgument, "data '" + numbers.spec.name + "' cannot be written as " + format + ": " + why, ""};
}

template <class T>
Tensor tensor(ElementType type, std::vector<std::int64_t> shape, std::span<const T> values) {
  Tensor out{.name = {}, .type = type, .shape = std::move(shape), .bytes = std::vector<std::byte>(values.size_bytes())};
  if (!values.empty()) std::memcpy(out.bytes.data(), values.data(), values.size_bytes());
  return out;
}

std::vector<std::int64_t> with_rows(const ExportRows& numbers, std::vector<std::int64_t> dims) {
  dims.insert(dims.begin(), static_cast<std::int64_t>(numbers.rows));
  return dims;
}

/// Checks that each row has one label, for formats that need it.
Result<void> require_single_label(const ExportRows& numbers, const std::string& format) {
  if (numbers.spec.positions == 0) return {};
  return unsupported_data(numbers, format, "its rows have a label at every position; write npy");
}

/// The shortest text of a number that reads back as it is stored.
std::string shortest_text(const ExportRows::Stored& stored) {
  std::array<char, 40> buffer{};
  const auto text_of = [&](const std::to_chars_result& done) { return std::string(buffer.data(), done.ptr); };
  if (stored.origin == 0) return text_of(std::to_chars(buffer.data(), buffer.data() + buffer.size(), stored.number));
  constexpr int kMostDigits = 17;
  for (int digits = 1; digits < kMostDigits; ++digits) {
    const auto done =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), stored.value(), std::chars_format::general, digits);
    double read = 0;
    std::from_chars(buffer.data(), done.ptr, read);
    if (static_cast<float>(read - stored.origin) != stored.number) continue;
    return text_of(std::to_chars(buffer.data(), buffer.data() + buffer.size(), read));
  }
  return text_of(std::to_chars(buffer.data(), buffer.data() + buffer.size(), stored.value()));
}

/// The names of features and targets: those of a table, else f0, f1, … and target, target1, …
std::vector<std::string> header_of(const ExportRows& numbers) {
  std::vector<std::string> names = feature_names(numbers.spec);
  for (std::size_t f = names.size(); f < numbers.width; ++f) names.push_back("f" + std::to_string(f));
  const auto targets = numbers.spec.classes > 0 ? std::size_t{1} : static_cast<std::size_t>(numbers.spec.target_size);
  const std::vector<std::string> known = target_names(numbers.spec);
  for (std::size_t t = 0; t < targets; ++t) {
    const bool has_name = known.size() == targets;
    names.push_back(has_name ? known[t] : "target" + (t == 0 ? "" : std::to_string(t)));
  }
  for (std::string& name : names) name = formats::csv_cell(name);
  return names;
}

Result<Files> as_csv(const ExportRows& numbers) {
  LANISTA_TRY(require_single_label(numbers, "CSV"));
  std::string text;
  std::vector<std::string> cells = header_of(numbers);
  formats::add_csv_row(text, cells);
  const auto targets = static_cast<std::size_t>(numbers.spec.target_size);
  for (std::size_t row = 0; row < numbers.rows; ++row) {
    cells.clear();
    for (std::size_t f = 0; f < numbers.width; ++f) {
      cells.push_back(shortest_text(numbers.feature(row, f)));
    }
    if (numbers.spec.classes > 0) cells.push_back(formats::csv_cell(numbers.label(row)));
    for (std::size_t t = 0; t < targets && numbers.spec.classes == 0; ++t) {
      cells.push_back(shortest_text(numbers.target(row, t)));
    }
    formats::add_csv_row(text, cells);
  }
  return Files{{"data.csv", std::move(text)}};
}

std::vector<double> whole_features(const ExportRows& numbers) {
  std::vector<double> out;
  for (std::size_t row = 0; row < numbers.rows; ++row) {
    for (std::size_t f = 0; f < numbers.width; ++f) out.push_back(numbers.feature(row, f).value());
  }
  return out;
}

std::vector<double> whole_targets(const ExportRows& numbers) {
  std::vector<double> out;
  for (std::size_t row = 0; row < numbers.rows; ++row) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(numbers.spec.target_size); ++t) {
      out.push_back(numbers.target(row, t).value());
    }
  }
  return out;
}

Result<Files> as_npy(const ExportRows& numbers) {
  const auto dims = with_rows(numbers, numbers.spec.features.dims);
  const Tensor x = numbers.has_raw_origins() ? tensor<double>(ElementType::kF64, dims, whole_features(numbers))
                                             : tensor<float>(ElementType::kF32, dims, numbers.features);
  const std::int64_t positions = numbers.spec.positions;
  const std::vector<std::int64_t> label = positions > 0 ? std::vector{positions} : std::vector<std::int64_t>();
  const Tensor y =
      numbers.spec.classes > 0 ? tensor<std::int32_t>(ElementType::kI32, with_rows(numbers, label), numbers.labels)
      : numbers.spec.target_origin.empty()
          ? tensor<float>(ElementType::kF32, with_rows(numbers, {numbers.spec.target_size}), numbers.targets)
          : tensor<double>(ElementType::kF64, with_rows(numbers, {numbers.spec.target_size}), whole_targets(numbers));
  return Files{{"x.npy", formats::encode_npy(x)}, {"y.npy", formats::encode_npy(y)}};
}

Result<Files> as_idx(const ExportRows& numbers) {
  LANISTA_TRY(require_single_label(numbers, "IDX"));
  std::vector<std::int64_t> dims = numbers.spec.features.dims;
  if (numbers.spec.classes == 0) return unsupported_data(numbers, "IDX", "its targets are numbers, not classes");
  if (dims.size() == 3 && dims[0] == 1) dims.erase(dims.begin());
  std::vector<std::uint8_t> pixels, labels(numbers.labels.begin(), numbers.labels.end());
  for (const float x : numbers.features) {
    if (!(x >= 0 && x <= 255 && x == std::floor(x))) {
      return unsupported_data(numbers, "IDX", "it holds " + std::to_string(x) + ", no whole number from 0 to 255");
    }
    pixels.push_back(static_cast<std::uint8_t>(x));
  }
  Files files;
  const Tensor images = tensor<std::uint8_t>(ElementType::kU8, with_rows(numbers, dims), pixels);
  const Tensor classes = tensor<std::uint8_t>(ElementType::kU8, with_rows(numbers, {}), labels);
  LANISTA_ASSIGN(files["train-images-idx3-ubyte"], formats::encode_idx(images));
  LANISTA_ASSIGN(files["train-labels-idx1-ubyte"], formats::encode_idx(classes));
  return files;
}

/// A class as the name of a folder. Characters that could leave the folder, or hide it, are replaced.
std::string folder_name(std::string label) {
  for (char& c : label) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = '_';
  }
  return label.empty() || label.front() == '.' ? "_" + label : label;
}

Result<Files> as_folder(const ExportRows& numbers) {
  LANISTA_TRY(require_single_label(numbers, "a folder of images"));
  const auto& dims = numbers.spec.features.dims;
  if (numbers.spec.classes == 0)
    return unsupported_data(numbers, "a folder of images", "its targets are numbers, not classes");
  if (dims.size() != 3 || (dims[0] != 1 && dims[0] != 3)) {
    return unsupported_data(numbers, "a folder of images",
                            "its samples are " + numbers.spec.features.text() + ", images are [1, H, W] or [3, H, W]");
  }
  const auto [least, most] = std::minmax_element(numbers.features.begin(), numbers.features.end());
  if (*least < 0) return unsupported_data(numbers, "a folder of images", "it holds negative numbers");
  const float scale = *most > 0 ? 255 / *most : 1;
  Files files;
  for (std::size_t row = 0; row < numbers.rows; ++row) {
    formats::Image image{.channels = dims[0], .height = dims[1], .width = dims[2], .pixels = {}};
    for (const float x : std::span(numbers.features).subspan(row * numbers.width, numbers.width)) {
      image.pixels.push_back(static_cast<std::uint8_t>(std::lround(x * scale)));
    }
    std::string number = std::to_string(row);
    number.insert(0, 6 - std::min<std::size_t>(6, number.size()), '0');
    LANISTA_ASSIGN(files[folder_name(numbers.label(row)) + "/" + number + ".png"], formats::encode_png(image));
  }
  return files;
}

}  // namespace

Result<Files> export_rows(const Dataset& data, const std::vector<std::int64_t>& rows, ExportFormat format) {
  const ExportRows numbers(data, rows);
  switch (format) {
    case ExportFormat::kCsv:
      return as_csv(numbers);
    case ExportFormat::kNpy:
      return as_npy(numbers);
    case ExportFormat::kIdx:
      return as_idx(numbers);
    case ExportFormat::kFolder:
      return as_folder(numbers);
  }
  return Error{Code::kInternal, "unknown form", ""};
}

}  // namespace lanista::data
