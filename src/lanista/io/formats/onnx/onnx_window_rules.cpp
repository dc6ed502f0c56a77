// Windows over images [N, C, H, W] and sequences [N, C, L]: convolutions, poolings, padding.
#include <algorithm>
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

// From this opset on pools ignore windows that would begin in the padding after their input.
constexpr std::int64_t kIgnoringOpset = 22;

/// The windows of a node: one number for each axis, two for pads (all before, then all after).
struct Windows {
  List kernel, strides, dilations, pads;
  std::string auto_pad;
  bool ceil = false;
  bool merged = false;  ///< the last two of three axes, which windows do not join, are one

  std::size_t axes() const { return kernel.size(); }
  std::int64_t extent(std::size_t i) const { return dilations[i] * (kernel[i] - 1) + 1; }
};

Result<void> check_each(const char* name, const List& numbers, std::size_t count, std::int64_t least) {
  const bool fits = std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n >= least && n <= kMaxExtent; });
  if (numbers.size() == count && fits) return {};
  return unsupported(std::string(name) + " " + graph::attr_text(numbers) + "; read are " + std::to_string(count) +
                     " numbers from " + std::to_string(least) + " to " + std::to_string(kMaxExtent));
}

/// Merges the last two of three axes, if windows have one cell there.
void merge_last(Windows& w) {
  const bool single = w.kernel[1] == 1 && w.kernel[2] == 1 && w.strides[1] == 1 && w.strides[2] == 1;
  const List& p = w.pads;
  if (!single || p[1] != 0 || p[2] != 0 || p[4] != 0 || p[5] != 0 || w.auto_pad != "NOTSET") return;
  w.kernel.pop_back();
  w.strides.pop_back();
  w.dilations.pop_back();
  w.pads = {p[0], 0, p[3], 0};
  w.merged = true;
}

/// Windows of one or two axes.
Result<Windows> windows_of(const NodeReader& node_reader, List kernel) {
  Windows all;
  all.kernel = std::move(kernel);
  const std::size_t given = all.axes();
  LANISTA_ASSIGN(all.strides, node_reader.list("strides", List(given, 1)));
  LANISTA_ASSIGN(all.dilations, node_reader.list("dilations", List(given, 1)));
  LANISTA_ASSIGN(all.auto_pad, node_reader.text("auto_pad", "NOTSET"));
  LANISTA_ASSIGN(all.pads, node_reader.list("pads", List(2 * given, 0)));
  LANISTA_ASSIGN(const std::int64_t ceil, node_reader.integer("ceil_mode", 0));
  all.ceil = ceil != 0;
  if (given == 3 && all.pads.size() == 6 && all.strides.size() == 3 && all.dilations.size() == 3) merge_last(all);
  const std::size_t axes = all.axes();
  if (axes != 1 && axes != 2) {
    return unsupported("its windows have " + std::to_string(axes) + " axes; read are 1 and 2");
  }
  LANISTA_TRY(check_each("kernel_shape", all.kernel, axes, 1));
  LANISTA_TRY(check_each("strides", all.strides, axes, 1));
  LANISTA_TRY(check_each("dilations", all.dilations, axes, 1));
  LANISTA_TRY(check_each("pads", all.pads, 2 * axes, 0));
  if (all.auto_pad == "NOTSET") return all;
  all.pads.assign(2 * axes, 0);
  if (all.auto_pad == "VALID" || all.auto_pad == "SAME_UPPER" || all.auto_pad == "SAME_LOWER") return all;
  return malformed("auto_pad is " + in_quotes(all.auto_pad));
}

Result<void> check_axes(const Windows& windows, const List& dims) {
  if (dims.size() == windows.axes() + 2) return {};
  return malformed("its windows have " + std::to_string(windows.axes()) + " axes, its input is " +
                   graph::Shape{dims}.text());
}

/// Divides `total` between both sides of an axis.
void split_padding(Windows& windows, std::size_t i, std::int64_t total, bool more_in_front) {
  const std::int64_t less = total / 2;
  windows.pads[i] = more_in_front ? total - less : less;
  windows.pads[i + windows.axes()] = total - windows.pads[i];
}

/// SAME: as many windows as steps fit into the input.
void pad_same(Windows& windows, const List& dims) {
  if (!windows.auto_pad.starts_with("SAME")) return;
  for (std::size_t i = 0; i < windows.axes(); ++i) {
    const std::int64_t in = dims[i + 2], stride = windows.strides[i];
    const std::int64_t steps = (in + stride - 1) / stride;
    split_padding(windows, i, std::max<std::int64_t>((steps - 1) * stride + windows.extent(i) - in, 0),
                  windows.auto_pad == "SAME_LOWER");
  }
}

/// Kernel, stride and padding as lanista's operators write them, and dilation if it is not one.
Attrs window_attrs(const Windows& w) {
  const List& p = w.pads;
  if (w.axes() == 1) {
    return {{"kernel", w.kernel[0]}, {"stride", w.strides[0]}, {"padding", one_or_two(p[0], p[1])}};
  }
  const bool symmetric = p[0] == p[2] && p[1] == p[3];
  return {{"kernel", one_or_two(w.kernel[0], w.kernel[1])},
          {"stride", one_or_two(w.strides[0], w.strides[1])},
          {"padding", symmetric ? one_or_two(p[0], p[1]) : List{p[0], p[2], p[1], p[3]}}};
}

void set_dilation(Attrs& attrs, const Windows& w) {
  if (w.axes() == 1) {
    attrs.set("dilation", w.dilations[0]);
  } else {
    attrs.set("dilation", one_or_two(w.dilations[0], w.dilations[1]));
  }
}

/// Weight and optional bias of a convolution.
struct ConvWeights {
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;

  std::vector<Tensor> weight_copies() const {
    std::vector<Tensor> all{*weight};
    if (bias != nullptr) all.push_back(*bias);
    return all;
  }
};

Result<ConvWeights> conv_weights(const NodeReader& node_reader) {
  ConvWeights weights;
  LANISTA_ASSIGN(weights.weight, node_reader.weight(1));
  if (node_reader.has(2)) {
    LANISTA_ASSIGN(weights.bias, node_reader.weight(2));
  }
  if (const auto rank = weights.weight->shape.size(); rank != 3 && rank != 4) {
    return unsupported("its weight is " + graph::Shape{weights.weight->shape}.text() +
                       "; read are windows over images and sequences");
  }
  return weights;
}

Result<Windows> conv_windows(const NodeReader& node_reader, const ConvWeights& weights) {
  const List spatial(weights.weight->shape.begin() + 2, weights.weight->shape.end());
  LANISTA_ASSIGN(List kernel, node_reader.list("kernel_shape", spatial));
  return windows_of(node_reader, std::move(kernel));
}

/// Whether an exporter folded a batch norm into a convolution. Then the names of the weights show it.
bool is_folded(const Tensor& weight) {
  const auto has = [&](std::string_view part) { return weight.name.find(part) != std::string::npos; };
  return has("onnx::Conv_") || has("fused_bn") || has("bn_fused") || has("_bn_offset");
}

RewriteResult conv(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const ConvWeights weights, conv_weights(node_reader));
  LANISTA_ASSIGN(const Windows windows, conv_windows(node_reader, weights));
  LANISTA_ASSIGN(const std::int64_t groups, node_reader.integer("group", 1));
  if (groups < 1) return malformed("it has " + std::to_string(groups) + " groups");
  Rewrite rewrite{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                    Windows resolved = windows;
                    LANISTA_TRY(check_axes(resolved, w.dims(inputs[0])));
                    pad_same(resolved, w.dims(inputs[0]));
                    Attrs attrs = window_attrs(resolved);
                    set_dilation(attrs, resolved);
                    attrs.set("bias", weights.bias != nullptr);
                    const std::int64_t out = weights.weight->shape[0];
                    // With one input channel in each group, each channel has its own window.
                    if (resolved.axes() == 2 && groups > 1 && weights.weight->shape[1] == 1 && out % groups == 0) {
                      attrs.set("multiplier", out / groups);
                      return w.add("depthwise_conv2d", {inputs[0]}, std::move(attrs), weights.weight_copies());
                    }
                    attrs.set("out", out);
                    attrs.set("groups", groups);
                    return w.add(resolved.axes() == 2 ? "conv2d" : "conv1d", {inputs[0]}, std::move(attrs),
                                 weights.weight_copies());
                  }};
  if (is_folded(*weights.weight)) rewrite.notice = kFoldedNotice;
  return rewrite;
}

/// Windows over the columns of images that are one row of a sequence each.
Windows with_column(const Windows& row) {
  Windows image = row;
  image.kernel.push_back(1);
  image.strides.push_back(1);
  image.dilations.push_back(1);
  image.pads = {row.pads[0], 0, row.pads[1], 0};
  return image;
}

/// Sets the pads that give a transposed convolution the requested size.
Result<void> pad_to(Windows& windows, const List& extra, const List& output_size, const List& dims) {
  for (std::size_t i = 0; i < windows.axes(); ++i) {
    const std::int64_t total = (dims[i + 2] - 1) * windows.strides[i] + extra[i] + windows.extent(i) - output_size[i];
    if (total < 0) return unsupported("its output_shape is larger than what its windows write");
    split_padding(windows, i, total, windows.auto_pad != "SAME_UPPER");
  }
  return {};
}

RewriteResult conv_transpose(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes(
      {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads", "strides"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const ConvWeights weights, conv_weights(node_reader));
  LANISTA_ASSIGN(const Windows windows, conv_windows(node_reader, weights));
  LANISTA_ASSIGN(const std::int64_t groups, node_reader.integer("group", 1));
  LANISTA_ASSIGN(const List extra, node_reader.list("output_padding", List(windows.axes(), 0)));
  LANISTA_ASSIGN(const List output_size, node_reader.list("output_shape", {}));
  LANISTA_TRY(check_each("output_padding", extra, windows.axes(), 0));
  if (!output_size.empty()) LANISTA_TRY(check_each("output_shape", output_size, windows.axes(), 1));
  std::int64_t out = 0;
  if (groups < 1 || __builtin_mul_overflow(weights.weight->shape[1], groups, &out)) {
    return malformed("it has " + std::to_string(groups) + " groups");
  }
  return Rewrite{
      {std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
        const List dims = w.dims(inputs[0]);
        Windows resolved = windows;
        LANISTA_TRY(check_axes(resolved, dims));
        List size = output_size;
        for (std::size_t i = 0; size.size() < resolved.axes() && resolved.auto_pad.starts_with("SAME"); ++i) {
          size.push_back(dims[i + 2] * resolved.strides[i]);
        }
        if (!size.empty()) LANISTA_TRY(pad_to(resolved, extra, size, dims));
        const bool row = resolved.axes() == 1;
        const Windows image_windows = row ? with_column(resolved) : resolved;
        Attrs attrs = window_attrs(image_windows);
        set_dilation(attrs, image_windows);
        attrs.set("bias", weights.bias != nullptr);
        attrs.set("out", out);
        attrs.set("groups", groups);
        attrs.set("output_padding", row ? List{extra[0], 0} : one_or_two(extra[0], extra[1]));
        std::vector<Tensor> params = weights.weight_copies();
        if (!row) return w.add("conv_transpose2d", {inputs[0]}, std::move(attrs), std::move(params));
        // A sequence is an image of one column.
        params.front().shape.push_back(1);
        LANISTA_ASSIGN(const Port image, in_shape(w, inputs[0], {dims[1], dims[2], 1}));
        LANISTA_ASSIGN(const Port result, w.add("conv_transpose2d", {image}, std::move(attrs), std::move(params)));
        return in_shape(w, result, {w.dims(result)[1], w.dims(result)[2]});
      }};
}

/// Refuses a last window that would begin in the padding after the input. It counts up to opset 21, but not in lanista
/// and PyTorch, so readers disagree about the size of the result.
Result<void> check_same_ceil(const Windows& windows, const List& dims) {
  for (std::size_t i = 0; windows.ceil && i < windows.axes(); ++i) {
    const std::int64_t before = windows.pads[i], after = windows.pads[i + windows.axes()], size = dims[i + 2];
    const std::int64_t last_start = size + before + after - windows.kernel[i];
    const std::int64_t begin = (last_start + windows.strides[i] - 1) / windows.strides[i] * windows.strides[i];
    if (last_start < 0 || begin < size + before) continue;
    return unsupported("with ceil_mode its last window along axis " + std::to_string(i + 2) +
                       " begins in the padding: before opset 22 it counts, in PyTorch it does not");
  }
  return {};
}

/// A max pool with dilated windows, axis by axis.
RewriteResult dilated_max_pool(std::string input, const Windows& windows, const std::string& op) {
  if (op != "max_pool" || windows.ceil || windows.auto_pad != "NOTSET" || windows.merged) {
    return unsupported("its window is dilated");
  }
  return Rewrite{{std::move(input)}, [windows](ModelWriter& w, Ports inputs) -> Result<Port> {
                   LANISTA_TRY(check_axes(windows, w.dims(inputs[0])));
                   Port value = inputs[0];
                   for (std::size_t i = 0; i < windows.axes(); ++i) {
                     const std::int64_t before = windows.pads[i], after = windows.pads[i + windows.axes()];
                     if (before > 0 || after > 0) {
                       constexpr double kLeast = -static_cast<double>(std::numeric_limits<float>::max());
                       LANISTA_ASSIGN(value, padded(w, value, i + 2, before, after, kLeast));
                     }
                     LANISTA_ASSIGN(value, window_maxima(w, value, i + 2, windows.kernel[i], windows.strides[i],
                                                         windows.dilations[i]));
                   }
                   return value;
                 }};
}

/// A rule for `max_pool` or `avg_pool` over images or sequences.
RewriteResult pool(const NodeReader& node_reader, const std::string& op, Attrs more) {
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(List kernel, node_reader.list("kernel_shape", {}));
  LANISTA_ASSIGN(const Windows windows, windows_of(node_reader, std::move(kernel)));
  if (windows.dilations != List(windows.axes(), 1)) return dilated_max_pool(std::move(input), windows, op);
  const bool all_count = node_reader.view().opset() < kIgnoringOpset;
  return Rewrite{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                   Windows resolved = windows;
                   Port input_port = inputs[0];
                   const List dims = w.dims(input_port);
                   if (resolved.merged) {
                     if (dims.size() != 5)
                       return malformed("its windows have 3 axes, its input is " + sizes_text(dims));
                     LANISTA_ASSIGN(input_port, in_shape(w, input_port, {dims[1], dims[2], dims[3] * dims[4]}));
                   }
                   LANISTA_TRY(check_axes(resolved, w.dims(input_port)));
                   pad_same(resolved, w.dims(input_port));
                   if (all_count) LANISTA_TRY(check_same_ceil(resolved, w.dims(input_port)));
                   Attrs attrs = window_attrs(resolved);
                   for (const auto& [name, value] : more) attrs.set(name, value);
                   // The default stride is the kernel.
                   if (*attrs.find("stride") == *attrs.find("kernel")) attrs.erase("stride");
                   if (resolved.ceil) attrs.set("ceil_mode", true);
                   LANISTA_ASSIGN(const Port result,
                                  w.add(op + (resolved.axes() == 2 ? "2d" : "1d"), {input_port}, std::move(attrs)));
                   if (!resolved.merged) return result;
                   return in_shape(w, result, {dims[1], w.dims(result)[2], dims[3], dims[4]});
                 }};
}

RewriteResult max_pool(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes(
      {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"}));
  LANISTA_TRY(node_reader.require_value("storage_order", 0));
  return pool(node_reader, "max_pool", {});
}

RewriteResult avg_pool(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes(
      {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}));
  LANISTA_ASSIGN(const std::int64_t counted, node_reader.integer("count_include_pad", 0));
  return pool(node_reader, "avg_pool", {{"count_include_pad", counted != 0}});
}

RewriteResult global_avg_pool(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return Rewrite{{std::move(input)}, [](ModelWriter& w, Ports inputs) -> Result<Port> {
                   if (w.dims(inputs[0]).size() == 4)
                     return w.add("adaptive_avg_pool2d", {inputs[0]}, {{"out", List{1}}});
                   LANISTA_ASSIGN(const Port means, w.add("global_avg_pool", {inputs[0]}));
                   return in_shape(w, means, {w.dims(means)[1], 1});
                 }};
}

RewriteResult global_max_pool(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return Rewrite{{std::move(input)}, [](ModelWriter& w, Ports inputs) -> Result<Port> {
                   LANISTA_ASSIGN(const Port maxima, w.add("global_max_pool", {inputs[0]}));
                   return in_shape(w, maxima, {w.dims(maxima)[1], 1, 1});
                 }};
}

RewriteResult lrn(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"alpha", "beta", "bias", "size"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", 1e-4));
  LANISTA_ASSIGN(const double beta, node_reader.real("beta", 0.75));
  LANISTA_ASSIGN(const double bias, node_reader.real("bias", 1));
  LANISTA_ASSIGN(const std::int64_t size, node_reader.integer("size", 0));
  return single_operator({std::move(input)}, "lrn", {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", size}});
}

}  // namespace

RewriteRules window_rules() {
  return {{"AveragePool", {avg_pool}},
          {"Conv", {conv}},
          {"ConvTranspose", {conv_transpose}},
          {"GlobalAveragePool", {global_avg_pool}},
          {"GlobalMaxPool", {global_max_pool}},
          {"LRN", {lrn}},
          {"MaxPool", {max_pool}}};
}

}  // namespace lanista::formats::onnx
