// Slices, resizing of images, and operators along the channels, as C++ text.

#include "lanista/io/formats/cpp_export/cpp_emitter_support.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::formats::cpp {
namespace {

using graph::ops::unbatched;

std::int64_t product(std::vector<std::int64_t>::const_iterator begin, std::vector<std::int64_t>::const_iterator end) {
  return unbatched({begin, end}).elements_per_sample();
}

std::string slice(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index r = 0; r < $outer; ++r) std::copy_n(&$x[r * $all + $begin], $run, &$y[r * $run]);
)";
  const graph::ops::SliceRange range = *graph::ops::slice_range(node.args);
  const auto& dims = node.dims();
  const auto axis = dims.begin() + static_cast<std::ptrdiff_t>(range.axis);
  const std::int64_t inner = product(axis + 1, dims.end());
  return fill_template(kForm, node,
                       {{"outer", text(product(dims.begin() + 1, axis))},
                        {"all", text(*axis * inner)},
                        {"begin", text(range.begin * inner)},
                        {"run", text(range.len * inner)}});
}

std::string scale(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $size; ++i) $y[i] = $x[i] * $gate[$channel];
)";
  const auto& dims = node.dims();
  const std::string channel = dims.size() == 4 ? "i / " + text(dims[2] * dims[3]) : "i % " + text(dims.back());
  return fill_template(kForm, node, {{"gate", node.inputs[1]}, {"channel", channel}});
}

std::string channel_shuffle(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index c = 0; c < $channels; ++c) {
  std::copy_n(&$x[c * $positions], $positions, &$y[(c % $run * $groups + c / $run) * $positions]);
}
)";
  const auto& dims = node.dims();
  const std::int64_t groups = node.args.integer("groups");
  return fill_template(kForm, node,
                       {{"channels", text(dims[1])},
                        {"positions", text(dims[2] * dims[3])},
                        {"groups", text(groups)},
                        {"run", text(dims[1] / groups)}});
}

std::string lrn(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index c = 0; c < $channels; ++c) {
  const Index first = std::max<Index>(c - $before, 0), end = std::min<Index>(c + $after + 1, $channels);
  for (Index i = 0; i < $positions; ++i) {
    float squares = 0;
    for (Index k = first; k < end; ++k) squares += $x[k * $positions + i] * $x[k * $positions + i];
    const Index place = c * $positions + i;
    $y[place] = $x[place] * std::pow($bias + $slope * squares, -$beta);
  }
}
)";
  const auto& dims = node.dims();
  const std::int64_t size = node.args.integer("size"), before = (size - 1) / 2;
  return fill_template(kForm, node,
                       {{"channels", text(dims[1])},
                        {"positions", text(dims[2] * dims[3])},
                        {"before", text(before)},
                        {"after", text(size - 1 - before)},
                        {"slope", cpp_float(node.args.real("alpha") / static_cast<double>(size))},
                        {"bias", cpp_float(node.args.real("bias"))},
                        {"beta", cpp_float(node.args.real("beta"))}});
}

std::string nearest(const CppNode& node, const CppValues& sizes) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index k = 0; k < $channels; ++k) {
  for (Index r = 0; r < $result_rows; ++r) {
    const Index row = k * $rows + r * $rows / $result_rows;
    for (Index c = 0; c < $result_columns; ++c) {
      $y[(k * $result_rows + r) * $result_columns + c] = $x[row * $columns + c * $columns / $result_columns];
    }
  }
}
)";
  return fill_template(kForm, node, sizes);
}

// Positions are counted in halves of a cell of the result, so that no rounding decides which cells are read.
std::string bilinear(const CppNode& node, const CppValues& sizes) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index r = 0; r < $result_rows; ++r) {
  const Index row_halves = std::max<Index>((2 * r + 1) * $rows - $result_rows, 0);
  const Index top = row_halves / (2 * $result_rows), bottom = std::min<Index>(top + 1, $rows - 1);
  const float low = static_cast<float>(row_halves % (2 * $result_rows)) / static_cast<float>(2 * $result_rows);
  for (Index c = 0; c < $result_columns; ++c) {
    const Index column_halves = std::max<Index>((2 * c + 1) * $columns - $result_columns, 0);
    const Index left = column_halves / (2 * $result_columns), right = std::min<Index>(left + 1, $columns - 1);
    const float far =
        static_cast<float>(column_halves % (2 * $result_columns)) / static_cast<float>(2 * $result_columns);
    for (Index k = 0; k < $channels; ++k) {
      const auto* image = &$x[k * $rows * $columns];
      const float upper = (1 - far) * image[top * $columns + left] + far * image[top * $columns + right];
      const float lower = (1 - far) * image[bottom * $columns + left] + far * image[bottom * $columns + right];
      $y[(k * $result_rows + r) * $result_columns + c] = (1 - low) * upper + low * lower;
    }
  }
}
)";
  return fill_template(kForm, node, sizes);
}

std::string resize(const CppNode& node) {
  const CppValues sizes{{"channels", text(node.dims()[1])},
                        {"rows", text(node.dims()[2])},
                        {"columns", text(node.dims()[3])},
                        {"result_rows", text(node.shape.dims[2])},
                        {"result_columns", text(node.shape.dims[3])}};
  return node.args.text("mode") == "bilinear" ? bilinear(node, sizes) : nearest(node, sizes);
}

}  // namespace

CppEmitters image_emitters() {
  return {{"slice", slice}, {"scale", scale},   {"channel_shuffle", channel_shuffle},
          {"lrn", lrn},     {"resize", resize}, {"upsample", resize}};
}

}  // namespace lanista::formats::cpp
