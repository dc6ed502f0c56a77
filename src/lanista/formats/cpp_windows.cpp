// Convolutions and pools as C++ text.
#include <utility>

#include "lanista/formats/cpp_forms.h"
#include "lanista/graph/ops/rules.h"
#include "lanista/graph/ops/window.h"

namespace lanista::formats::cpp {
namespace {

using graph::ops::without_batch;

/// One convolution from value `x` to value `y`.
std::string convolution(const CppNode& node, const std::string& x, const std::string& y,
                        const graph::ops::ConvDims& dims, const std::string& weight, const std::string& bias,
                        bool windowed = true) {
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
  const auto window = [&](const char* name, std::int64_t plain) {
    return windowed ? node.args.pair(name) : std::pair{plain, plain};
  };
  const auto stride = window("stride", 1), padding = window("padding", 0), dilation = window("dilation", 1);
  return cpp_fill(kForm, {{"x", x},
                          {"y", y},
                          {"size", text(dims.output().elements_per_sample())},
                          {"weight", weight},
                          {"bias", bias},
                          {"out", text(dims.out)},
                          {"group_in", text(dims.in / dims.groups)},
                          {"group_out", text(dims.out / dims.groups)},
                          {"rows", text(dims.h)},
                          {"columns", text(dims.w)},
                          {"result_rows", text(dims.oh)},
                          {"result_columns", text(dims.ow)},
                          {"kernel_rows", text(dims.kh)},
                          {"kernel_columns", text(dims.kw)},
                          {"stride_rows", text(stride.first)},
                          {"stride_columns", text(stride.second)},
                          {"pad_rows", text(padding.first)},
                          {"pad_columns", text(padding.second)},
                          {"step_rows", text(dilation.first)},
                          {"step_columns", text(dilation.second)}});
}

graph::ops::ConvDims conv_dims(const CppNode& node, std::int64_t out, std::int64_t groups) {
  return *graph::ops::conv_dims(node.args, without_batch(node.args.inputs[0].shape), out, groups);
}

std::string plain_conv(const CppNode& node, std::int64_t out, std::int64_t groups) {
  return convolution(node, node.inputs[0], node.value(), conv_dims(node, out, groups), node.param("weight"),
                     plus(node, node.args.flag("bias"), "bias", "o"));
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
  return convolution(node, node.inputs[0], middle, first, node.param("depthwise.weight"), "") +
         convolution(node, middle, node.value(), second, node.param("pointwise.weight"),
                     plus(node, node.args.flag("bias"), "pointwise.bias", "o"), false);
}

/// A pooling in which window r of the rows covers the rows from `row_begin` to `row_end`, columns alike.
std::string pooling(const CppNode& node, std::string_view form, const CppValues& spans) {
  constexpr std::string_view kAround = R"(std::vector<float> $y($size);
for (Index k = 0; k < $channels; ++k) {
  for (Index r = 0; r < $result_rows; ++r) {
    for (Index c = 0; c < $result_columns; ++c) {
      const Index top = $top, bottom = $bottom, left = $left, right = $right;
$body    }
  }
}
)";
  const bool image = node.shape.rank() == 4;
  CppValues values{{"x", node.inputs[0]},
                   {"y", node.value()},
                   {"size", text(node.shape.elements_per_sample())},
                   {"channels", text(node.dims()[1])},
                   {"rows", text(node.dims()[2])},
                   {"columns", text(node.dims()[3])},
                   {"result_rows", text(image ? node.shape.dims[2] : 1)},
                   {"result_columns", text(image ? node.shape.dims[3] : 1)}};
  values.insert(spans.begin(), spans.end());
  for (const char* name : {"top", "bottom", "left", "right"}) values[name] = cpp_fill(values[name], values);
  values["body"] = cpp_indent(cpp_fill(form, values), 6);
  return cpp_fill(kAround, values);
}

CppValues sliding(const CppNode& node) {
  const auto kernel = node.args.pair("kernel"), padding = node.args.pair("padding");
  const auto stride = node.args.list("stride").empty() ? kernel : node.args.pair("stride");
  const auto begin = [](const char* at, std::int64_t step, std::int64_t pad) {
    return std::string(at) + " * " + text(step) + " - " + text(pad);
  };
  const std::string row = begin("r", stride.first, padding.first), column = begin("c", stride.second, padding.second);
  return {{"top", "std::max<Index>(" + row + ", 0)"},
          {"bottom", "std::min<Index>(" + row + " + " + text(kernel.first) + ", $rows)"},
          {"left", "std::max<Index>(" + column + ", 0)"},
          {"right", "std::min<Index>(" + column + " + " + text(kernel.second) + ", $columns)"},
          {"cells", text(kernel.first * kernel.second) + ".0f"}};
}

// A NaN wins, as it does in training.
std::string max_pool2d(const CppNode& node) {
  constexpr std::string_view kForm = R"(float most = -std::numeric_limits<float>::infinity();
for (Index row = top; row < bottom; ++row) {
  for (Index column = left; column < right; ++column) {
    const float value = $x[(k * $rows + row) * $columns + column];
    if (!(value <= most)) most = value;
  }
}
$y[(k * $result_rows + r) * $result_columns + c] = most;
)";
  return pooling(node, kForm, sliding(node));
}

constexpr std::string_view kWindowMean = R"(float sum = 0;
for (Index row = top; row < bottom; ++row) {
  for (Index column = left; column < right; ++column) sum += $x[(k * $rows + row) * $columns + column];
}
$y[(k * $result_rows + r) * $result_columns + c] = sum / $cells;
)";
constexpr const char* kCellsInside = "static_cast<float>((bottom - top) * (right - left))";

std::string avg_pool2d(const CppNode& node) {
  CppValues spans = sliding(node);
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
          {"max_pool2d", max_pool2d},
          {"avg_pool2d", avg_pool2d},
          {"adaptive_avg_pool2d", adaptive_pool},
          {"global_avg_pool", adaptive_pool}};
}

}  // namespace lanista::formats::cpp
