// Convolutions and pools as ONNX nodes.
#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_images.h"
#include "lanista/io/formats/onnx/onnx_windows.h"
#include "lanista/model/ops/window.h"

namespace lanista::formats::onnx {

std::vector<float> window_means(std::int64_t size, std::int64_t out, bool transposed) {
  std::vector<float> matrix(static_cast<std::size_t>(size * out));
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t begin = i * size / out, end = ((i + 1) * size + out - 1) / out;
    for (std::int64_t j = begin; j < end; ++j) {
      matrix[static_cast<std::size_t>(transposed ? j * out + i : i * size + j)] = 1 / static_cast<float>(end - begin);
    }
  }
  return matrix;
}

namespace {

using Attributes = OnnxWriter::Attributes;
using List = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

List pair_list(const OnnxWriter& w, std::string_view attr) {
  const auto [a, b] = w.args().pair(attr);
  return {a, b};
}

Attributes window(const OnnxWriter& w) {
  const auto [top, bottom, left, right] = graph::ops::pads_of(w.args());
  return {{"kernel_shape", pair_list(w, "kernel")}, {"pads", List{top, left, bottom, right}}};
}

Attributes conv_window(const OnnxWriter& w, std::int64_t groups) {
  Attributes attributes = window(w);
  attributes["strides"] = pair_list(w, "stride");
  attributes["dilations"] = pair_list(w, "dilation");
  attributes["group"] = groups;
  return attributes;
}

Result<void> conv(OnnxWriter& w, std::int64_t groups) {
  Names inputs{w.input(), w.param("weight")};
  if (w.args().flag("bias")) inputs.push_back(w.param("bias"));
  w.add("Conv", std::move(inputs), conv_window(w, groups));
  return {};
}

Result<void> separable(OnnxWriter& w) {
  const std::string middle =
      w.add("Conv", {w.input(), w.param("depthwise.weight")}, conv_window(w, w.dims()[1]), "depthwise");
  Names inputs{middle, w.param("pointwise.weight")};
  if (w.args().flag("bias")) inputs.push_back(w.param("pointwise.bias"));
  w.add("Conv", std::move(inputs), {{"kernel_shape", List{1, 1}}});
  return {};
}

Result<void> conv_transpose(OnnxWriter& w) {
  Names inputs{w.input(), w.param("weight")};
  if (w.args().flag("bias")) inputs.push_back(w.param("bias"));
  Attributes attributes = conv_window(w, w.args().integer("groups"));
  attributes["output_padding"] = pair_list(w, "output_padding");
  w.add("ConvTranspose", std::move(inputs), std::move(attributes));
  return {};
}

/// The window of a sequence.
Attributes line_window(const OnnxWriter& w) {
  const auto [before, after] = w.args().pair("padding");
  return {{"kernel_shape", List{w.args().integer("kernel")}},
          {"pads", List{before, after}},
          {"strides", List{w.args().integer("stride")}}};
}

Result<void> conv1d(OnnxWriter& w) {
  Names inputs{w.input(), w.param("weight")};
  if (w.args().flag("bias")) inputs.push_back(w.param("bias"));
  Attributes attributes = line_window(w);
  attributes["dilations"] = List{w.args().integer("dilation")};
  attributes["group"] = w.args().integer("groups");
  w.add("Conv", std::move(inputs), std::move(attributes));
  return {};
}

/// Windows of a pooling: the numbers of each axis, rows first.
struct PoolWindows {
  std::vector<graph::ops::Window> axes;
  List sizes;  ///< of the input along them
};

/// The effect of a window beyond the padding on the result of an axis.
enum class LastWindow {
  kNone,     ///< There is no such window.
  kCounts,   ///< It counts.
  kIgnored,  ///< It would begin in the padding: PyTorch and lanista ignore it, ONNX counts it up to opset 21.
};

LastWindow last_window(const graph::ops::Window& axis, std::int64_t size) {
  const std::int64_t span = size + axis.before + axis.after - axis.kernel;
  if (!axis.ceil || span % axis.stride == 0) return LastWindow::kNone;
  return *graph::ops::window_output(size, axis) > span / axis.stride + 1 ? LastWindow::kCounts : LastWindow::kIgnored;
}

Attributes attributes_of(const PoolWindows& windows, bool ceil) {
  List kernel, strides, pads;
  for (const auto& axis : windows.axes) {
    kernel.push_back(axis.kernel);
    strides.push_back(axis.stride);
    pads.push_back(axis.before);
  }
  for (const auto& axis : windows.axes) pads.push_back(axis.after);
  Attributes attributes{
      {"kernel_shape", std::move(kernel)}, {"pads", std::move(pads)}, {"strides", std::move(strides)}};
  if (ceil) attributes["ceil_mode"] = std::int64_t{1};
  return attributes;
}

/// Max or average pooling. ONNX has one ceil_mode for all axes, which is written only if it adds a window. If one axis
/// needs it and the other must not have it, each axis is pooled by itself, with the same result.
Result<void> pool(OnnxWriter& w, const PoolWindows& windows) {
  const graph::OpDef& def = w.args().def;
  const bool counts_padding =
      std::ranges::find(def.attrs, "count_include_pad", &graph::AttrSpec::name) != def.attrs.end();
  const auto add = [&](const std::string& input, const PoolWindows& some, bool ceil, std::string_view part) {
    Attributes attributes = attributes_of(some, ceil);
    if (counts_padding) attributes["count_include_pad"] = std::int64_t{w.args().flag("count_include_pad")};
    return w.add(def.exports.onnx, {input}, std::move(attributes), part);
  };
  bool counts = false, ignored = false;
  for (std::size_t i = 0; i < windows.axes.size(); ++i) {
    const LastWindow last = last_window(windows.axes[i], windows.sizes[i]);
    counts |= last == LastWindow::kCounts;
    ignored |= last == LastWindow::kIgnored;
  }
  if (!counts || !ignored) {
    add(w.input(), windows, counts, "");
    return {};
  }
  constexpr graph::ops::Window kOne{.kernel = 1, .stride = 1, .before = 0, .after = 0, .dilation = 1};
  PoolWindows rows = windows, columns = windows;
  rows.axes[1] = columns.axes[0] = kOne;
  const bool of_rows = last_window(windows.axes[0], windows.sizes[0]) == LastWindow::kCounts;
  add(add(w.input(), rows, of_rows, "rows"), columns, !of_rows, "");
  return {};
}

Result<void> pool2d(OnnxWriter& w) {
  const auto [kernel_rows, kernel_columns] = w.args().pair("kernel");
  const auto [row_step, column_step] = graph::ops::pool_stride(w.args());
  const auto [top, bottom, left, right] = graph::ops::pads_of(w.args());
  const bool ceil = w.args().flag("ceil_mode");
  return pool(w, {{{kernel_rows, row_step, top, bottom, 1, ceil}, {kernel_columns, column_step, left, right, 1, ceil}},
                  {w.dims()[2], w.dims()[3]}});
}

Result<void> pool1d(OnnxWriter& w) {
  const auto [before, after] = w.args().pair("padding");
  const std::int64_t kernel = w.args().integer("kernel"), stride = w.args().integer("stride");
  return pool(w,
              {{{kernel, stride > 0 ? stride : kernel, before, after, 1, w.args().flag("ceil_mode")}}, {w.dims()[2]}});
}

Result<void> pooled(OnnxWriter& w) { return w.dims().size() == 4 ? pool2d(w) : pool1d(w); }

// Windows of one size are an ordinary pooling; otherwise rows and columns are averaged by a matrix each.
Result<void> adaptive_avg_pool(OnnxWriter& w) {
  const auto [oh, ow] = w.args().pair("out");
  const std::int64_t h = w.dims()[2], width = w.dims()[3];
  if (oh == 1 && ow == 1) {
    w.add("GlobalAveragePool", {w.input()});
  } else if (h % oh == 0 && width % ow == 0) {
    const List kernel{h / oh, width / ow};
    w.add("AveragePool", {w.input()}, {{"kernel_shape", kernel}, {"strides", kernel}});
  } else {
    const std::string rows = w.floats("rows", {oh, h}, window_means(h, oh, false));
    const std::string columns = w.floats("columns", {width, ow}, window_means(width, ow, true));
    w.add("MatMul", {rows, w.add("MatMul", {w.input(), columns}, {}, "narrow")});
  }
  return {};
}

Result<void> global_avg_pool(OnnxWriter& w) {
  w.add("Flatten", {w.add("GlobalAveragePool", {w.input()}, {}, "means")}, {{"axis", std::int64_t{1}}});
  return {};
}

Result<void> global_max_pool(OnnxWriter& w) {
  w.add("Flatten", {w.add("GlobalMaxPool", {w.input()}, {}, "peaks")}, {{"axis", std::int64_t{1}}});
  return {};
}

}  // namespace

OnnxMappings window_mappings() {
  OnnxMappings mappings{{"conv2d", [](OnnxWriter& w) { return conv(w, w.args().integer("groups")); }},
                        {"depthwise_conv2d", [](OnnxWriter& w) { return conv(w, w.dims()[1]); }},
                        {"separable_conv2d", separable},
                        {"conv_transpose2d", conv_transpose},
                        {"conv1d", conv1d},
                        {"adaptive_avg_pool2d", adaptive_avg_pool},
                        {"global_avg_pool", global_avg_pool},
                        {"global_max_pool", global_max_pool}};
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (ops.find(name)->facts.units == graph::UnitFlow::kChannels && !ops.find(name)->exports.onnx.empty()) {
      mappings.emplace(name, pooled);
    }
  }
  return mappings;
}

}  // namespace lanista::formats::onnx
