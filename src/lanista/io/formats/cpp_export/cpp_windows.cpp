// Convolutions and pools as C++ text.
#include <tuple>
#include <utility>

#include "lanista/io/formats/cpp_export/cpp_emitter_support.h"
#include "lanista/model/ops/op_rules.h"
#include "lanista/model/ops/window.h"

namespace lanista::formats::cpp {
namespace {

using graph::ops::without_batch;

/// The steps of a window: rows, then columns.
struct WindowSteps {
  std::pair<std::int64_t, std::int64_t> stride{1, 1}, dilation{1, 1};
  graph::ops::Pads pads{};
};

WindowSteps window_steps(const CppNode& node) {
  return {node.args.pair("stride"), node.args.pair("dilation"), graph::ops::pads_of(node.args)};
}

/// The $names of templates for a window that moves over `h` x `w` cells and gives `oh` x `ow`.
CppValues window_values(const graph::ops::ConvDims& dims, const WindowSteps& steps) {
  return {{"rows", text(dims.h)},
          {"columns", text(dims.w)},
          {"result_rows", text(dims.oh)},
          {"result_columns", text(dims.ow)},
          {"kernel_rows", text(dims.kh)},
          {"kernel_columns", text(dims.kw)},
          {"stride_rows", text(steps.stride.first)},
          {"stride_columns", text(steps.stride.second)},
          {"pad_rows", text(steps.pads.top)},
          {"pad_columns", text(steps.pads.left)},
          {"step_rows", text(steps.dilation.first)},
          {"step_columns", text(steps.dilation.second)}};
}

/// One convolution from value `x` to value `y`.
std::string convolution(const std::string& x, const std::string& y, const graph::ops::ConvDims& dims,
                        const WindowSteps& steps, const std::string& weight, const std::string& bias) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index o = 0; o < $out; ++o) {
  for (Index r = 0; r < $result_rows; ++r) {
    for (Index c = 0; c < $result_columns; ++c) {
      float sum = 0;
      for (Index i = 0; i < $group_in; ++i) {
        const Index channel = o / $group_out * $group_in + i;
        for (Index u = 0; u < $kernel_rows; ++u) {
          const Index row = r * $stride_rows - $pad_rows + u * $step_rows;
          if (row < 0 || row >= $rows) continue;
          for (Index v = 0; v < $kernel_columns; ++v) {
            const Index column = c * $stride_columns - $pad_columns + v * $step_columns;
            if (column < 0 || column >= $columns) continue;
            sum += $x[(channel * $rows + row) * $columns + column] *
                   $weight[((o * $group_in + i) * $kernel_rows + u) * $kernel_columns + v];
          }
        }
      }
      $y[(o * $result_rows + r) * $result_columns + c] = sum$bias;
    }
  }
}
)";
  CppValues values = window_values(dims, steps);
  values.merge(CppValues{{"x", x},
                         {"y", y},
                         {"size", text(dims.output().elements_per_sample())},
                         {"weight", weight},
                         {"bias", bias},
                         {"out", text(dims.out)},
                         {"group_in", text(dims.in / dims.groups)},
                         {"group_out", text(dims.out / dims.groups)}});
  return cpp_fill(kForm, values);
}

graph::ops::ConvDims conv_dims(const CppNode& node, std::int64_t out, std::int64_t groups) {
  return *graph::ops::conv_dims(node.args, without_batch(node.args.inputs[0].shape), out, groups);
}

std::string plain_conv(const CppNode& node, std::int64_t out, std::int64_t groups) {
  return convolution(node.inputs[0], node.value(), conv_dims(node, out, groups), window_steps(node),
                     node.param("weight"), plus_param(node, node.args.flag("bias"), "bias", "o"));
}

std::string conv2d(const CppNode& node) {
  return plain_conv(node, node.args.integer("out"), node.args.integer("groups"));
}

std::string depthwise_conv2d(const CppNode& node) {
  const std::int64_t channels = node.dims()[1];
  return plain_conv(node, channels * node.args.integer("multiplier"), channels);
}

std::string separable_conv2d(const CppNode& node) {
  const std::int64_t channels = node.dims()[1], out = node.args.integer("out");
  const graph::ops::ConvDims first = conv_dims(node, channels, channels);
  const graph::ops::ConvDims second{.in = channels,
                                    .h = first.oh,
                                    .w = first.ow,
                                    .out = out,
                                    .oh = first.oh,
                                    .ow = first.ow,
                                    .kh = 1,
                                    .kw = 1,
                                    .groups = 1};
  const std::string middle = node.value() + "_middle";
  return convolution(node.inputs[0], middle, first, window_steps(node), node.param("depthwise.weight"), "") +
         convolution(middle, node.value(), second, {}, node.param("pointwise.weight"),
                     plus_param(node, node.args.flag("bias"), "pointwise.bias", "o"));
}

std::string conv1d(const CppNode& node) {
  const auto [before, after] = node.args.pair("padding");
  const graph::ops::ConvDims dims{.in = node.dims()[1],
                                  .h = 1,
                                  .w = node.dims()[2],
                                  .out = node.shape.dims[1],
                                  .oh = 1,
                                  .ow = node.shape.dims[2],
                                  .kh = 1,
                                  .kw = node.args.integer("kernel"),
                                  .groups = node.args.integer("groups")};
  const WindowSteps steps{{1, node.args.integer("stride")}, {1, node.args.integer("dilation")}, {0, 0, before, after}};
  return convolution(node.inputs[0], node.value(), dims, steps, node.param("weight"),
                     plus_param(node, node.args.flag("bias"), "bias", "o"));
}

std::string conv_transpose2d(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size);
for (Index i = 0; i < $in; ++i) {
  for (Index r = 0; r < $rows; ++r) {
    for (Index c = 0; c < $columns; ++c) {
      for (Index k = 0; k < $group_out; ++k) {
        const Index channel = i / $group_in * $group_out + k;
        for (Index u = 0; u < $kernel_rows; ++u) {
          const Index row = r * $stride_rows - $pad_rows + u * $step_rows;
          if (row < 0 || row >= $result_rows) continue;
          for (Index v = 0; v < $kernel_columns; ++v) {
            const Index column = c * $stride_columns - $pad_columns + v * $step_columns;
            if (column < 0 || column >= $result_columns) continue;
            $y[(channel * $result_rows + row) * $result_columns + column] +=
                $x[(i * $rows + r) * $columns + c] *
                $weight[((i * $group_out + k) * $kernel_rows + u) * $kernel_columns + v];
          }
        }
      }
    }
  }
}
)";
  constexpr std::string_view kBias = R"(for (Index i = 0; i < $size; ++i) $y[i] += $bias[i / $positions];
)";
  const graph::ops::ConvDims dims = *graph::ops::transposed_dims(node.args);
  const WindowSteps steps = window_steps(node);
  const bool bias = node.args.flag("bias");
  // The windows are those of a convolution in the other direction: they move over the result.
  CppValues values = window_values(dims, steps);
  std::swap(values["rows"], values["result_rows"]);
  std::swap(values["columns"], values["result_columns"]);
  values.merge(CppValues{{"weight", node.param("weight")},
                         {"in", text(dims.out)},
                         {"group_in", text(dims.out / dims.groups)},
                         {"group_out", text(dims.in / dims.groups)}});
  return fill_template(kForm, node, values) +
         (bias ? fill_template(kBias, node, {{"bias", node.param("bias")}, {"positions", text(dims.h * dims.w)}}) : "");
}

/// A pooling in which window r of the rows covers the rows from `row_begin` to `row_end`, columns alike.
std::string pooling(const CppNode& node, std::string_view pattern, const CppValues& spans) {
  constexpr std::string_view kAround = R"(std::vector<float> $y($size);
for (Index k = 0; k < $channels; ++k) {
  for (Index r = 0; r < $result_rows; ++r) {
    for (Index c = 0; c < $result_columns; ++c) {
      const Index top = $top, bottom = $bottom, left = $left, right = $right;
$body    }
  }
}
)";
  // A sequence is an image of one row, and [N, C] one of one cell.
  const auto sides = [](const graph::Shape& shape) {
    const std::vector<std::int64_t>& dims = shape.dims;
    if (dims.size() == 4) return std::pair{dims[2], dims[3]};
    return std::pair{std::int64_t{1}, dims.size() == 3 ? dims[2] : std::int64_t{1}};
  };
  const auto [rows, columns] = sides(node.args.inputs[0].shape);
  const auto [result_rows, result_columns] = sides(node.shape);
  CppValues values{{"x", node.inputs[0]},
                   {"y", node.value()},
                   {"size", text(node.shape.elements_per_sample())},
                   {"channels", text(node.dims()[1])},
                   {"rows", text(rows)},
                   {"columns", text(columns)},
                   {"result_rows", text(result_rows)},
                   {"result_columns", text(result_columns)}};
  values.insert(spans.begin(), spans.end());
  for (const char* name : {"top", "bottom", "left", "right", "cells"}) values[name] = cpp_fill(values[name], values);
  values["body"] = cpp_indent(cpp_fill(pattern, values), 6);
  return cpp_fill(kAround, values);
}

/// The windows of a pooling of images, or of sequences as images of one row.
CppValues has_windows(const CppNode& node) {
  const bool image = node.shape.rank() == 4;
  std::pair<std::int64_t, std::int64_t> kernel, stride;
  graph::ops::Pads pads{};
  if (image) {
    kernel = node.args.pair("kernel");
    stride = graph::ops::pool_stride(node.args);
    pads = graph::ops::pads_of(node.args);
  } else {
    kernel = {1, node.args.integer("kernel")};
    stride = {1, node.args.integer("stride") > 0 ? node.args.integer("stride") : kernel.second};
    std::tie(pads.left, pads.right) = node.args.pair("padding");
  }
  const auto begin = [](const char* at, std::int64_t step, std::int64_t pad) {
    return std::string(at) + " * " + text(step) + " - " + text(pad);
  };
  const std::string row = begin("r", stride.first, pads.top), column = begin("c", stride.second, pads.left);
  // If padding counts, only the part of a last window after the padding is absent.
  const auto counted = [](const std::string& from, std::int64_t size, const char* end, std::int64_t after) {
    return "std::min<Index>(" + text(size) + ", " + end + " + " + text(after) + " - (" + from + "))";
  };
  const std::string cells = node.args.flag("ceil_mode")
                                ? "static_cast<float>(" + counted(row, kernel.first, "$rows", pads.bottom) + " * " +
                                      counted(column, kernel.second, "$columns", pads.right) + ")"
                                : text(kernel.first * kernel.second) + ".0f";
  return {{"top", "std::max<Index>(" + row + ", 0)"},
          {"bottom", "std::min<Index>(" + row + " + " + text(kernel.first) + ", $rows)"},
          {"left", "std::max<Index>(" + column + ", 0)"},
          {"right", "std::min<Index>(" + column + " + " + text(kernel.second) + ", $columns)"},
          {"cells", cells}};
}

// A NaN wins, as in training.
std::string max_pool(const CppNode& node) {
  constexpr std::string_view kForm = R"(float most = -std::numeric_limits<float>::infinity();
for (Index row = top; row < bottom; ++row) {
  for (Index column = left; column < right; ++column) {
    const float value = $x[(k * $rows + row) * $columns + column];
    if (!(value <= most)) most = value;
  }
}
$y[(k * $result_rows + r) * $result_columns + c] = most;
)";
  return pooling(node, kForm, has_windows(node));
}

std::string global_max_pool(const CppNode& node) {
  constexpr std::string_view kForm = R"(std::vector<float> $y($size, -std::numeric_limits<float>::infinity());
for (Index i = 0; i < $size * $positions; ++i) {
  float& most = $y[i / $positions];
  if (!($x[i] <= most)) most = $x[i];
}
)";
  return fill_template(kForm, node, {{"positions", text(node.dims()[2] * node.dims()[3])}});
}

constexpr std::string_view kWindowMean = R"(float sum = 0;
for (Index row = top; row < bottom; ++row) {
  for (Index column = left; column < right; ++column) sum += $x[(k * $rows + row) * $columns + column];
}
$y[(k * $result_rows + r) * $result_columns + c] = sum / $cells;
)";
constexpr const char* kCellsInside = "static_cast<float>((bottom - top) * (right - left))";

std::string avg_pool(const CppNode& node) {
  CppValues spans = has_windows(node);
  if (!node.args.flag("count_include_pad")) spans["cells"] = kCellsInside;
  return pooling(node, kWindowMean, spans);
}

std::string adaptive_pool(const CppNode& node) {
  return pooling(node, kWindowMean,
                 {{"top", "r * $rows / $result_rows"},
                  {"bottom", "((r + 1) * $rows + $result_rows - 1) / $result_rows"},
                  {"left", "c * $columns / $result_columns"},
                  {"right", "((c + 1) * $columns + $result_columns - 1) / $result_columns"},
                  {"cells", kCellsInside}});
}

}  // namespace

CppEmitters window_emitters() {
  return {{"conv2d", conv2d},
          {"depthwise_conv2d", depthwise_conv2d},
          {"separable_conv2d", separable_conv2d},
          {"conv_transpose2d", conv_transpose2d},
          {"conv1d", conv1d},
          {"max_pool2d", max_pool},
          {"max_pool1d", max_pool},
          {"avg_pool2d", avg_pool},
          {"avg_pool1d", avg_pool},
          {"adaptive_avg_pool2d", adaptive_pool},
          {"global_avg_pool", adaptive_pool},
          {"global_max_pool", global_max_pool}};
}

}  // namespace lanista::formats::cpp
