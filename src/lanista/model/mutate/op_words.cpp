#include "lanista/model/mutate/op_words.h"

#include <algorithm>
#include <array>

#include "lanista/model/ops/window.h"

namespace lanista::mutate {

using graph::Attrs;
using graph::Node;
using graph::ValueType;
using List = std::vector<std::int64_t>;

namespace {

struct ConvWord {
  std::string_view word;
  std::string_view op;
  std::int64_t kernel;
};
constexpr std::array<ConvWord, 6> kConvs = {{{"conv1x1", "conv2d", 1},
                                             {"conv3x3", "conv2d", 3},
                                             {"conv5x5", "conv2d", 5},
                                             {"sep3x3", "separable_conv2d", 3},
                                             {"sep5x5", "separable_conv2d", 5},
                                             {"dw3x3", "depthwise_conv2d", 3}}};
// The options in the order of their indices. Another order would change searches with the same seed.
constexpr std::array<std::string_view, 6> kActivations = {"relu", "gelu", "silu", "tanh", "sigmoid", "identity"};
constexpr std::array<std::string_view, 2> kPools = {"max_pool2d", "avg_pool2d"};

bool is_conv(const graph::OpTable& ops, std::string_view op) {
  return is_layer(ops, op) && ops.find(op)->facts.mixes != graph::MixedAxis::kLast;
}
bool has_attr(const graph::OpTable& ops, std::string_view op, std::string_view name) {
  return std::ranges::find(ops.find(op)->attrs, name, &graph::AttrSpec::name) != ops.find(op)->attrs.end();
}
/// Whether an operator is a pool with a window.
bool is_window(std::string_view op) { return std::find(kPools.begin(), kPools.end(), op) != kPools.end(); }
bool is_image(const ValueType& type) { return type.dtype == graph::DType::kReal && type.shape.rank() == 4; }

/// The attributes that a convolution keeps if its kernel changes.
struct ConvTraits {
  List stride = {1};
  std::int64_t groups = 1;
  bool bias = true;
};

ConvTraits traits_of(const ModelView& view, const Node& node) {
  if (!is_conv(view.ops(), node.op)) return {};
  const auto args = view.args(node);
  return {args.list("stride"), has_attr(view.ops(), node.op, "groups") ? args.integer("groups") : 1, args.flag("bias")};
}

std::optional<Replacement> as_conv(const graph::OpTable& ops, const ConvWord& word, std::int64_t in, std::int64_t out,
                                   const ConvTraits& traits) {
  const std::string op(word.op);
  Attrs attrs;
  set_attr(attrs, ops, op, "kernel", List{word.kernel});
  set_attr(attrs, ops, op, "padding", List{word.kernel / 2});
  set_attr(attrs, ops, op, "stride", traits.stride);
  set_attr(attrs, ops, op, "bias", traits.bias);
  if (has_attr(ops, op, "groups")) set_attr(attrs, ops, op, "groups", traits.groups);
  if (has_attr(ops, op, "multiplier")) {
    if (out % in != 0) return std::nullopt;
    set_attr(attrs, ops, op, "multiplier", out / in);
  } else {
    set_attr(attrs, ops, op, "out", out);
  }
  return Replacement{op, std::move(attrs)};
}

/// Returns the replacement if it gives type `want` for the inputs.
std::optional<Replacement> if_type_matches(const graph::OpTable& ops, std::optional<Replacement> made,
                                           std::span<const ValueType> inputs, const ValueType& want) {
  if (!made) return std::nullopt;
  const auto type = result_type(ops, made->op, made->attrs, inputs);
  return type && *type == want ? std::move(made) : std::nullopt;
}

std::optional<Replacement> as_pool(const ModelView& view, const Node& node, std::string_view word) {
  const auto args = view.args(node);
  Attrs attrs;
  for (const char* name : {"kernel", "stride", "padding"}) {
    set_attr(attrs, view.ops(), word, name, args.list(name));
  }
  set_attr(attrs, view.ops(), word, "ceil_mode", args.flag("ceil_mode"));
  return Replacement{std::string(word), std::move(attrs)};
}

}  // namespace

std::vector<std::string> conv_words() {
  std::vector<std::string> words;
  for (const ConvWord& conv : kConvs) words.emplace_back(conv.word);
  return words;
}

std::vector<std::string> family_words() {
  std::vector<std::string> words(kActivations.begin(), kActivations.end());
  for (const ConvWord& conv : kConvs) words.emplace_back(conv.word);
  words.insert(words.end(), kPools.begin(), kPools.end());
  return words;
}

std::string word_of(const ModelView& view, const Node& node) {
  if (is_activation(view.ops(), node.op) || is_window(node.op)) return node.op;
  if (!is_conv(view.ops(), node.op)) return {};
  const auto args = view.args(node);
  const auto [kh, kw] = args.pair("kernel");
  const graph::ops::Pads same{kh / 2, kh / 2, kw / 2, kw / 2};
  const std::pair<std::int64_t, std::int64_t> dense{1, 1};
  if (kh != kw || graph::ops::pads_of(args) != same || args.pair("dilation") != dense) return {};
  for (const ConvWord& conv : kConvs) {
    if (conv.op == node.op && conv.kernel == kh) return std::string(conv.word);
  }
  return {};
}

std::vector<std::string> words_of_family(const ModelView& view, const Node& node) {
  std::vector<std::string> words;
  if (is_activation(view.ops(), node.op)) words.assign(kActivations.begin(), kActivations.end());
  const bool image_identity = node.op == "identity" && is_image(view.type(node.id));
  if (is_conv(view.ops(), node.op) || image_identity) {
    const auto convs = conv_words();
    words.insert(words.end(), convs.begin(), convs.end());
    if (!image_identity) words.emplace_back("identity");
  }
  if (is_window(node.op)) words.assign(kPools.begin(), kPools.end());
  return words;
}

std::optional<Replacement> rewrite(const ModelView& view, const Node& node, std::string_view word) {
  const auto words = words_of_family(view, node);
  if (std::find(words.begin(), words.end(), word) == words.end()) return std::nullopt;
  const auto inputs = view.inputs(node);
  const ValueType& want = view.type(node.id);

  std::optional<Replacement> made;
  if (is_window(word)) {
    made = as_pool(view, node, word);
  } else if (is_activation(view.ops(), word)) {
    made = Replacement{std::string(word), {}};
  } else {
    const auto conv = std::find_if(kConvs.begin(), kConvs.end(), [&](const ConvWord& c) { return c.word == word; });
    made = as_conv(view.ops(), *conv, inputs.front().shape.dims[1], want.shape.dims[1], traits_of(view, node));
  }
  return if_type_matches(view.ops(), std::move(made), inputs, want);
}

std::optional<Replacement> same_conv(const graph::OpTable& ops, const ValueType& type, std::string_view word) {
  const auto conv = std::find_if(kConvs.begin(), kConvs.end(), [&](const ConvWord& c) { return c.word == word; });
  if (conv == kConvs.end() || !is_image(type)) return std::nullopt;
  const std::int64_t width = type.shape.dims[1];
  return if_type_matches(ops, as_conv(ops, *conv, width, width, {}), {&type, 1}, type);
}

}  // namespace lanista::mutate
