// Convolutions and pools as ONNX nodes.
#include <utility>

#include "lanista/formats/onnx_images.h"
#include "lanista/formats/onnx_windows.h"
#include "lanista/graph/ops/window.h"

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
  const std::int64_t kernel = w.args().integer("kernel"), stride = w.args().integer("stride");
  return {
      {"kernel_shape", List{kernel}}, {"pads", List{before, after}}, {"strides", List{stride > 0 ? stride : kernel}}};
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

Attributes pool_window(const OnnxWriter& w) {
  Attributes attributes = window(w);
  const auto [rows, columns] = graph::ops::pool_stride(w.args());
  attributes["strides"] = List{rows, columns};
  if (w.args().flag("ceil_mode")) attributes["ceil_mode"] = std::int64_t{1};
  return attributes;
}

Result<void> max_pool(OnnxWriter& w) {
  w.add("MaxPool", {w.input()}, pool_window(w));
  return {};
}

Result<void> avg_pool(OnnxWriter& w) {
  Attributes attributes = pool_window(w);
  attributes["count_include_pad"] = std::int64_t{w.args().flag("count_include_pad")};
  w.add("AveragePool", {w.input()}, std::move(attributes));
  return {};
}

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

/// Max and average pooling of sequences.
Result<void> pool1d(OnnxWriter& w, const std::string& op) {
  Attributes attributes = line_window(w);
  if (w.args().flag("ceil_mode")) attributes["ceil_mode"] = std::int64_t{1};
  if (op == "AveragePool") attributes["count_include_pad"] = std::int64_t{w.args().flag("count_include_pad")};
  w.add(op, {w.input()}, std::move(attributes));
  return {};
}

Result<void> global_max_pool(OnnxWriter& w) {
  w.add("Flatten", {w.add("GlobalMaxPool", {w.input()}, {}, "peaks")}, {{"axis", std::int64_t{1}}});
  return {};
}

}  // namespace

OnnxMappings window_mappings() {
  return {{"conv2d", [](OnnxWriter& w) { return conv(w, w.args().integer("groups")); }},
          {"depthwise_conv2d", [](OnnxWriter& w) { return conv(w, w.dims()[1]); }},
          {"separable_conv2d", separable},
          {"conv_transpose2d", conv_transpose},
          {"conv1d", conv1d},
          {"max_pool2d", max_pool},
          {"avg_pool2d", avg_pool},
          {"max_pool1d", [](OnnxWriter& w) { return pool1d(w, "MaxPool"); }},
          {"avg_pool1d", [](OnnxWriter& w) { return pool1d(w, "AveragePool"); }},
          {"adaptive_avg_pool2d", adaptive_avg_pool},
          {"global_avg_pool", global_avg_pool},
          {"global_max_pool", global_max_pool}};
}

}  // namespace lanista::formats::onnx
