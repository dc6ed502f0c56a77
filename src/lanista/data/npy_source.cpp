#include <algorithm>
#include <utility>

#include "lanista/data/readers.h"
#include "lanista/formats/npy.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{8} << 30;
constexpr std::int64_t kMaxClasses = 100'000;

Error broken(std::string message) { return {Code::kDataLoss, "data: " + std::move(message), ""}; }

Result<Tensor> read_array(FileSystem& fs, const std::string& path) {
  LANISTA_ASSIGN(const std::string bytes, read_capped(fs, path, kMaxFile));
  auto tensor = formats::decode_npy(bytes);
  if (!tensor) return at_file(tensor.error(), path);
  return tensor;
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

Result<std::vector<std::int32_t>> labels_of(const Tensor& y, DataSpec& spec) {
  std::vector<std::int32_t> labels;
  const auto raw = numbers_of<std::int64_t>(y);
  for (std::size_t row = 0; row < raw.size(); ++row) {
    if (raw[row] < 0 || raw[row] >= kMaxClasses) {
      return broken("label of row " + std::to_string(row) + " is " + std::to_string(raw[row]) + ", allowed is 0 to " +
                    std::to_string(kMaxClasses - 1));
    }
    labels.push_back(static_cast<std::int32_t>(raw[row]));
    spec.classes = std::max(spec.classes, raw[row] + 1);
  }
  for (std::int64_t c = 0; c < spec.classes; ++c) spec.labels.push_back(std::to_string(c));
  return labels;
}

}  // namespace

Result<Dataset> read_npy(const Source& source, const study::DataConfig& config, const std::string& folder,
                         FileSystem& fs) {
  LANISTA_TRY(source.allow_only({"task"}));
  LANISTA_ASSIGN(const std::string task, source.choice("task", {"auto", "classes", "numbers"}));
  const std::vector<std::string> paths = split_at_commas(source.argument);
  if (paths.size() != 2 || paths[0].empty() || paths[1].empty()) {
    return source.error("expected two files, npy:FEATURES.npy,TARGETS.npy");
  }
  const std::string x_path = resolve_path(paths[0], folder), y_path = resolve_path(paths[1], folder);
  LANISTA_ASSIGN(const Tensor x, read_array(fs, x_path));
  LANISTA_ASSIGN(const Tensor y, read_array(fs, y_path));
  if (x.shape.size() < 2 || x.elements() == 0) {
    return at_file(broken("features must have the shape [rows, …] and hold numbers"), x_path);
  }
  const std::int64_t rows = x.shape.front();
  if (y.shape.empty() || y.shape.size() > 2 || y.shape.front() != rows || y.elements() == 0) {
    return at_file(broken("targets must have the shape [" + std::to_string(rows) + "] or [" + std::to_string(rows) +
                          ", numbers], as there are " + std::to_string(rows) + " rows of features"),
                   y_path);
  }
  const bool whole = y.type != ElementType::kF32 && y.type != ElementType::kF64;
  const bool classes = task == "classes" || (task == "auto" && whole && y.elements() == rows);
  if (classes && (!whole || y.elements() != rows)) {
    return at_file(broken("classes must be whole numbers, one a row"), y_path);
  }

  DataSpec spec;
  spec.name = stem_of(x_path);
  spec.source = source.text;
  spec.features.dims.assign(x.shape.begin() + 1, x.shape.end());
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  if (classes) {
    auto found = labels_of(y, spec);
    if (!found) return at_file(found.error(), y_path);
    labels = *std::move(found);
  } else {
    spec.target_size = y.elements() / rows;
    targets = numbers_of<float>(y);
  }
  auto made = Dataset::make(std::move(spec), numbers_of<float>(x), std::move(labels), std::move(targets), config);
  if (!made && made.error().code == Code::kDataLoss) return at_file(made.error(), x_path);
  return made;
}

}  // namespace lanista::data
