#include "lanista/model/ops/window.h"

#include <algorithm>
#include <string>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

// Keeps every sum and product below inside 64 bits.
constexpr std::int64_t kMaxWindow = std::int64_t{1} << 20;

Result<std::pair<std::int64_t, std::int64_t>> bounded_pair(const OpArgs& args, std::string_view name) {
  LANISTA_TRY(require_pair(args, name));
  const auto pair = args.pair(name);
  if (pair.first > kMaxWindow || pair.second > kMaxWindow) {
    return shape_error(std::string(name) + " " + size_pair_text(pair.first, pair.second) + " is above " +
                       std::to_string(kMaxWindow));
  }
  return pair;
}

Result<Pads> bounded_pads(const OpArgs& args) {
  const std::vector<std::int64_t>& list = args.list("padding");
  if (list.size() != 1 && list.size() != 2 && list.size() != 4) {
    return shape_error("padding must be [all], [rows, columns] or [top, bottom, left, right], but it lists " +
                       std::to_string(list.size()) + " integers");
  }
  for (const std::int64_t cells : list) {
    if (cells > kMaxWindow)
      return shape_error("padding " + attr_text(list) + " is above " + std::to_string(kMaxWindow));
  }
  return pads_of(args);
}

Result<std::pair<std::int64_t, std::int64_t>> windows_output(std::int64_t h, std::int64_t w, const Window& rows,
                                                             const Window& columns) {
  const auto oh = window_output(h, rows);
  if (!oh) return shape_error("height: " + oh.error().message);
  const auto ow = window_output(w, columns);
  if (!ow) return shape_error("width: " + ow.error().message);
  return std::pair{*oh, *ow};
}

Result<void> require_image_dims(const std::vector<std::int64_t>& image) {
  if (image.size() != 3) return shape_error("an image must be [C, H, W], but it is " + unbatched(image).text());
  return {};
}

}  // namespace

Result<void> require_pair(const OpArgs& args, std::string_view name, bool may_be_empty) {
  const std::size_t size = args.list(name).size();
  if (size == 1 || size == 2 || (size == 0 && may_be_empty)) return {};
  return shape_error(std::string(name) + " must list one or two integers, but it lists " + std::to_string(size));
}

Result<std::int64_t> window_output(std::int64_t size, const Window& window) {
  const std::int64_t reach = window.dilation * (window.kernel - 1) + 1;
  const std::int64_t slack = size + window.before + window.after - reach;
  if (slack < 0) {
    const std::string padding = window.before == window.after ? std::to_string(window.before) + " on both sides"
                                                              : std::to_string(window.before) + " before and " +
                                                                    std::to_string(window.after) + " behind them";
    return shape_error("a kernel of " + std::to_string(window.kernel) + " (dilation " +
                       std::to_string(window.dilation) + ") reaches over " + std::to_string(reach) +
                       " cells, but there are " + std::to_string(size) + " and a padding of " + padding);
  }
  const std::int64_t whole = slack / window.stride + 1;
  const bool rest = window.ceil && slack % window.stride != 0 && whole * window.stride < size + window.before;
  return whole + (rest ? 1 : 0);
}

Pads pads_of(const OpArgs& args) {
  const std::vector<std::int64_t>& list = args.list("padding");
  if (list.size() == 4) return {list[0], list[1], list[2], list[3]};
  const auto [rows, columns] = args.pair("padding");
  return {rows, rows, columns, columns};
}

double ConvDims::flops() const {
  return 2 * static_cast<double>(fan_in()) * static_cast<double>(out) * static_cast<double>(oh) *
         static_cast<double>(ow);
}

std::vector<AttrSpec> window_attrs() {
  return {optional_list("kernel", {3}, 1, AttrRole::kTunable, "height and width of the window, or one for both"),
          optional_list("stride", {1}, 1, AttrRole::kTunable, "step of the window"),
          optional_list("padding", {0}, 0, AttrRole::kTunable,
                        "zeros around the image: all, [rows, columns] or [top, bottom, left, right]"),
          optional_list("dilation", {1}, 1, AttrRole::kTunable, "distance of neighbouring cells of the window")};
}

Result<ConvDims> conv_dims(const OpArgs& args, const std::vector<std::int64_t>& image, std::int64_t out,
                           std::int64_t groups) {
  LANISTA_TRY(require_image_dims(image));
  LANISTA_ASSIGN(const auto kernel, bounded_pair(args, "kernel"));
  LANISTA_ASSIGN(const auto stride, bounded_pair(args, "stride"));
  LANISTA_ASSIGN(const Pads pads, bounded_pads(args));
  LANISTA_ASSIGN(const auto dilation, bounded_pair(args, "dilation"));
  const std::int64_t in = image[0];
  if (in % groups != 0 || out % groups != 0) {
    return shape_error(std::to_string(groups) + " groups do not divide " + std::to_string(in) + " input and " +
                       std::to_string(out) + " output channels");
  }
  LANISTA_ASSIGN(const auto size,
                 windows_output(image[1], image[2], {kernel.first, stride.first, pads.top, pads.bottom, dilation.first},
                                {kernel.second, stride.second, pads.left, pads.right, dilation.second}));
  return ConvDims{.in = in,
                  .h = image[1],
                  .w = image[2],
                  .out = out,
                  .oh = size.first,
                  .ow = size.second,
                  .kh = kernel.first,
                  .kw = kernel.second,
                  .groups = groups};
}

std::vector<AttrSpec> pool_attrs() {
  return {optional_list("kernel", {2}, 1, AttrRole::kTunable, "height and width of the window, or one for both"),
          optional_list("stride", {}, 1, AttrRole::kTunable, "step of the window; empty: the kernel"),
          optional_list("padding", {0}, 0, AttrRole::kTunable,
                        "absent cells around the image: all, [rows, columns] or [top, bottom, left, right]"),
          optional_flag("ceil_mode", false, "a last window that reaches beyond the padding counts too")};
}

std::pair<std::int64_t, std::int64_t> pool_stride(const OpArgs& args) {
  return args.pair(args.list("stride").empty() ? "kernel" : "stride");
}

Result<PoolDims> pool_dims(const OpArgs& args, const std::vector<std::int64_t>& image) {
  LANISTA_TRY(require_image_dims(image));
  LANISTA_ASSIGN(const auto kernel, bounded_pair(args, "kernel"));
  LANISTA_ASSIGN(const Pads pads, bounded_pads(args));
  LANISTA_TRY(require_pair(args, "stride", true));
  auto stride = kernel;
  if (!args.list("stride").empty()) {
    LANISTA_ASSIGN(stride, bounded_pair(args, "stride"));
  }
  if (std::max(pads.top, pads.bottom) > kernel.first / 2 || std::max(pads.left, pads.right) > kernel.second / 2) {
    return shape_error("padding " + attr_text(args.list("padding")) + " is above half the kernel " +
                       size_pair_text(kernel.first, kernel.second));
  }
  const bool ceil = args.flag("ceil_mode");
  LANISTA_ASSIGN(const auto size,
                 windows_output(image[1], image[2], {kernel.first, stride.first, pads.top, pads.bottom, 1, ceil},
                                {kernel.second, stride.second, pads.left, pads.right, 1, ceil}));
  return PoolDims{.c = image[0],
                  .h = image[1],
                  .w = image[2],
                  .oh = size.first,
                  .ow = size.second,
                  .kh = kernel.first,
                  .kw = kernel.second};
}

Result<ConvDims> transposed_dims(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  LANISTA_ASSIGN(const auto kernel, bounded_pair(args, "kernel"));
  LANISTA_ASSIGN(const auto stride, bounded_pair(args, "stride"));
  LANISTA_ASSIGN(const Pads pads, bounded_pads(args));
  LANISTA_ASSIGN(const auto dilation, bounded_pair(args, "dilation"));
  LANISTA_ASSIGN(const auto extra, bounded_pair(args, "output_padding"));
  if (extra.first >= stride.first || extra.second >= stride.second) {
    return shape_error("output padding " + size_pair_text(extra.first, extra.second) +
                       " must be smaller than the stride " + size_pair_text(stride.first, stride.second));
  }
  const auto& dims = shape_of(args).dims;
  const std::int64_t h =
      (dims[2] - 1) * stride.first + dilation.first * (kernel.first - 1) + 1 + extra.first - pads.top - pads.bottom;
  const std::int64_t w =
      (dims[3] - 1) * stride.second + dilation.second * (kernel.second - 1) + 1 + extra.second - pads.left - pads.right;
  if (h < 1 || w < 1) {
    return shape_error("padding " + attr_text(args.list("padding")) + " leaves a result of " + size_pair_text(h, w) +
                       " cells");
  }
  return conv_dims(args, {args.integer("out"), h, w}, dims[1], args.integer("groups"));
}

}  // namespace lanista::graph::ops
