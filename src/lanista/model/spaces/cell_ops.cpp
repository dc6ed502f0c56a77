#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/spaces/cell_network.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate::spaces {
namespace {

using List = std::vector<std::int64_t>;
using CellPlacement = CellPlacement;

Setting stride_at(const CellPlacement& at) { return at.reduction ? Setting(formula("2 if outer else 1")) : Setting(1); }

Block conv(std::int64_t width, List kernel, Setting stride, List padding, std::int64_t dilation = 1) {
  return layer("conv2d", {{"out", width},
                          {"kernel", std::move(kernel)},
                          {"stride", std::move(stride)},
                          {"padding", std::move(padding)},
                          {"dilation", dilation},
                          {"bias", false}});
}

// A k x 1 window, then a 1 x k window.
Chain factored(std::int64_t k, const CellPlacement& at) {
  const Block columns = conv(at.width, {k, 1}, stride_at(at), {k / 2, 0}), rows = conv(at.width, {1, k}, 1, {0, k / 2});
  return {layer("relu"), columns, rows, layer("batch_norm")};
}

// The same with a quarter of the channels, and a norm and a relu between convolutions.
Chain bottleneck(std::int64_t k, const CellPlacement& at) {
  const std::int64_t quarter = std::max<std::int64_t>(1, at.width / 4);
  const auto directed = [&](List kernel, List padding) {
    Setting stride(1);
    if (at.reduction) {
      const std::string halve = "2 if outer else 1";
      stride = kernel[0] > 1 ? std::vector<Formula>{{halve}, {"1"}} : std::vector<Formula>{{"1"}, {halve}};
    }
    return Chain{layer("relu"), conv(quarter, std::move(kernel), std::move(stride), std::move(padding)),
                 layer("batch_norm")};
  };
  return chained(
      {act_conv_bn(quarter, 1), directed({1, k}, {0, k / 2}), directed({k, 1}, {k / 2, 0}), act_conv_bn(at.width, 1)});
}

Chain seven_by_one(const CellPlacement& at) {
  return at.cell_style == CellStyle::kAmoebanet ? bottleneck(7, at) : factored(7, at);
}

Chain separable(std::int64_t k, std::int64_t width, Setting stride, std::int64_t dilation = 1) {
  return {layer("relu"),
          layer("separable_conv2d", {{"out", width},
                                     {"kernel", k},
                                     {"stride", std::move(stride)},
                                     {"padding", (k - 1) / 2 * dilation},
                                     {"dilation", dilation},
                                     {"bias", false}}),
          layer("batch_norm")};
}

Chain doubled_separable(std::int64_t k, const CellPlacement& at) {
  return chained({separable(k, at.width, stride_at(at)), separable(k, at.width, 1)});
}

Chain dilated(std::int64_t k, const CellPlacement& at) {
  return {layer("relu"), conv(at.width, {k}, stride_at(at), {k - 1}, 2), layer("batch_norm")};
}

Chain zeros(const CellPlacement& at) {
  Chain chain;
  if (at.reduction) chain.push_back(when("outer", {max_pool(1, 2)}));
  chain.push_back(layer("zero"));
  return chain;
}

Chain skip(const CellPlacement& at) {
  const Chain fit = at.is_nasnet() ? Chain{at.if_width_differs(act_conv_bn(at.width, 1))} : Chain{};
  if (!at.reduction) return fit;
  Chain halve = at.is_nasnet() ? act_conv_bn(at.width, 1, 2) : factorised_reduction(at.width);
  if (at.cell_style == CellStyle::kDarts) halve.insert(halve.begin(), layer("relu"));
  return {when("outer", std::move(halve), fit)};
}

Chain pooled(Block pool, const CellPlacement& at) {
  Chain chain{std::move(pool)};
  if (at.is_nasnet()) chain.push_back(at.if_width_differs(conv_bn(at.width, 1)));
  return chain;
}

struct CellOp {
  std::string_view name;
  Chain (*make)(const CellPlacement& at);
};

constexpr CellOp kCellOps[] = {
    {"none", zeros},
    {"skip", skip},
    {"avg3", [](const CellPlacement& at) { return pooled(avg_pool(3, stride_at(at)), at); }},
    {"max3", [](const CellPlacement& at) { return pooled(max_pool(3, stride_at(at)), at); }},
    {"max5", [](const CellPlacement& at) { return pooled(max_pool(5, stride_at(at)), at); }},
    {"max7", [](const CellPlacement& at) { return pooled(max_pool(7, stride_at(at)), at); }},
    {"conv1", [](const CellPlacement& at) { return act_conv_bn(at.width, 1, stride_at(at)); }},
    {"conv3", [](const CellPlacement& at) { return act_conv_bn(at.width, 3, stride_at(at)); }},
    {"conv3x1_1x3", [](const CellPlacement& at) { return factored(3, at); }},
    {"conv7x1_1x7", seven_by_one},
    {"dil3", [](const CellPlacement& at) { return dilated(3, at); }},
    {"dil5", [](const CellPlacement& at) { return dilated(5, at); }},
    {"sep3", [](const CellPlacement& at) { return doubled_separable(3, at); }},
    {"sep5", [](const CellPlacement& at) { return doubled_separable(5, at); }},
    {"sep7", [](const CellPlacement& at) { return doubled_separable(7, at); }},
    {"dilsep3", [](const CellPlacement& at) { return separable(3, at.width, stride_at(at), 2); }},
    {"dilsep5", [](const CellPlacement& at) { return separable(5, at.width, stride_at(at), 2); }},
};

}  // namespace

Block CellPlacement::if_width_differs(Chain chain) const {
  return when("in != " + std::to_string(width), std::move(chain));
}

Option cell_op(std::string_view name, const CellPlacement& place) {
  const auto op =
      std::find_if(std::begin(kCellOps), std::end(kCellOps), [&](const CellOp& o) { return o.name == name; });
  LANISTA_CHECK(op != std::end(kCellOps), "no cell operator is called " + std::string(name));
  return {std::string(name), op->make(place)};
}

}  // namespace lanista::mutate::spaces
