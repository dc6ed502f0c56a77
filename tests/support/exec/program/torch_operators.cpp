#include "support/exec/program/torch_operators.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lanista::program::testing {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;
using List = std::vector<std::int64_t>;
using Table = std::map<std::string, TorchOperator, std::less<>>;

// An entry with one output.
template <class Rule>
TorchOperator single(Rule rule) {
  return [rule](const TorchCall& call) { return std::vector<Tensor>{rule(call)}; };
}

struct Pads {
  std::int64_t top, bottom, left, right;
  bool even() const { return top == bottom && left == right; }
};

// [all], [rows, columns] or [top, bottom, left, right].
Pads pads_of(const TorchCall& call) {
  const List& list = call.args.list("padding");
  if (list.size() == 4) return {list[0], list[1], list[2], list[3]};
  return {list.front(), list.front(), list.back(), list.back()};
}

// Padding around the row of a sequence: equal on both ends, or [before, after].
Pads row_pads_of(const TorchCall& call) {
  const List& list = call.args.list("padding");
  return {0, 0, list.front(), list.back()};
}

Tensor padded(const Tensor& x, const Pads& pads, double value) {
  return at::constant_pad_nd(x, {pads.left, pads.right, pads.top, pads.bottom}, value);
}

struct Windows {
  List kernel, stride;
  Pads pads;
  bool ceil;
};

Windows windows_of(const TorchCall& call) {
  const List kernel = call.pair("kernel");
  return {kernel, call.args.list("stride").empty() ? kernel : call.pair("stride"), pads_of(call),
          call.args.flag("ceil_mode")};
}

Windows row_windows_of(const TorchCall& call) {
  const std::int64_t kernel = call.args.integer("kernel"), stride = call.args.integer("stride");
  return {{1, kernel}, {1, stride == 0 ? kernel : stride}, row_pads_of(call), call.args.flag("ceil_mode")};
}

// Cells beyond the padding that the last window reaches, if that window counts: it must begin inside the image or the
// padding before it.
std::int64_t beyond(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t kernel,
                    std::int64_t stride, bool ceil) {
  if (!ceil) return 0;
  std::int64_t count = 0;
  while (count * stride + kernel <= before + size + after) ++count;
  const bool one_more = (count - 1) * stride + kernel < before + size + after && count * stride < before + size;
  return one_more ? count * stride + kernel - (before + size + after) : 0;
}

// The padding with which floor mode gives the windows of ceil mode.
Pads stretched(const Tensor& x, const Windows& w) {
  const auto [top, bottom, left, right] = w.pads;
  return {top, bottom + beyond(x.size(2), top, bottom, w.kernel[0], w.stride[0], w.ceil), left,
          right + beyond(x.size(3), left, right, w.kernel[1], w.stride[1], w.ceil)};
}

// LibTorch's pooling where both sides have equal padding; it also defines ceil mode.
Tensor max_pool(const Tensor& x, const Windows& w) {
  if (w.pads.even()) return at::max_pool2d(x, w.kernel, w.stride, {w.pads.top, w.pads.left}, {1, 1}, w.ceil);
  return at::max_pool2d(padded(x, stretched(x, w), -INFINITY), w.kernel, w.stride);
}

// Otherwise sums and counts of each window separately. Cells beyond the padding are not counted.
Tensor avg_pool(const Tensor& x, const Windows& w, bool include_pad) {
  if (w.pads.even()) return at::avg_pool2d(x, w.kernel, w.stride, {w.pads.top, w.pads.left}, w.ceil, include_pad);
  const Pads all = stretched(x, w);
  const auto sums = [&](const Tensor& t) { return at::avg_pool2d(t, w.kernel, w.stride); };
  const Pads behind{0, all.bottom - w.pads.bottom, 0, all.right - w.pads.right};
  const Tensor inside = padded(at::ones_like(x), w.pads, include_pad ? 1 : 0);
  return sums(padded(x, all, 0)) / sums(padded(inside, behind, 0));
}

Tensor max_pool1d(const TorchCall& call) { return max_pool(call.x[0].unsqueeze(2), row_windows_of(call)).squeeze(2); }

Tensor avg_pool1d(const TorchCall& call) {
  return avg_pool(call.x[0].unsqueeze(2), row_windows_of(call), call.args.flag("count_include_pad")).squeeze(2);
}

Tensor conv(const TorchCall& call, const Tensor& weight, const Tensor& bias, std::int64_t groups) {
  return at::conv2d(padded(call.x[0], pads_of(call), 0), weight, bias, call.pair("stride"), List{0, 0},
                    call.pair("dilation"), groups);
}

Tensor conv2d(const TorchCall& call) {
  return conv(call, call.param("weight"), call.param("bias"), call.args.integer("groups"));
}

Tensor depthwise_conv2d(const TorchCall& call) {
  return conv(call, call.param("weight"), call.param("bias"), call.x[0].size(1));
}

Tensor separable_conv2d(const TorchCall& call) {
  const Tensor alone = conv(call, call.param("depthwise.weight"), {}, call.x[0].size(1));
  return at::conv2d(alone, call.param("pointwise.weight"), call.param("pointwise.bias"));
}

Tensor conv1d(const TorchCall& call) {
  const auto& args = call.args;
  const Pads pads = row_pads_of(call);
  return at::conv1d(at::constant_pad_nd(call.x[0], {pads.left, pads.right}), call.param("weight"), call.param("bias"),
                    List{args.integer("stride")}, List{0}, List{args.integer("dilation")}, args.integer("groups"));
}

Tensor conv_transpose2d(const TorchCall& call) {
  const Pads cut = pads_of(call);
  const List extra = call.pair("output_padding");
  const std::int64_t groups = call.args.integer("groups");
  if (cut.even()) {
    return at::conv_transpose2d(call.x[0], call.param("weight"), call.param("bias"), call.pair("stride"),
                                {cut.top, cut.left}, extra, groups, call.pair("dilation"));
  }
  const Tensor whole = at::conv_transpose2d(call.x[0], call.param("weight"), {}, call.pair("stride"), {0, 0}, {0, 0},
                                            groups, call.pair("dilation"));
  const Tensor y = padded(whole, {-cut.top, extra[0] - cut.bottom, -cut.left, extra[1] - cut.right}, 0);
  return call.args.flag("bias") ? y + call.param("bias").reshape({-1, 1, 1}) : y;
}

// Nearest reads cell floor(i in / out); bilinear reads at (i + 1/2) in / out - 1/2.
Tensor resized(const TorchCall& call, std::int64_t height, std::int64_t width) {
  const Tensor& x = call.x[0];
  if (call.args.text("mode") == "bilinear") return at::upsample_bilinear2d(x, {height, width}, false);
  const auto cells = [](std::int64_t in, std::int64_t out) {
    return at::div(at::arange(out, at::kLong) * in, out, "floor");
  };
  return x.index_select(2, cells(x.size(2), height)).index_select(3, cells(x.size(3), width));
}

Tensor resize(const TorchCall& call) {
  const List out = call.pair("out");
  return resized(call, out[0], out[1]);
}

Tensor upsample(const TorchCall& call) {
  const List factor = call.pair("factor");
  return resized(call, factor[0] * call.x[0].size(2), factor[1] * call.x[0].size(3));
}

// (x - mean) / sqrt(variance + eps) over `dims`, with a disturbance of each part.
Tensor normalised(const TorchCall& call, const Tensor& x, const List& dims) {
  const Tensor centred = call.rounded(x - call.rounded(x.mean(dims, true)));
  return centred * call.rounded(at::rsqrt(centred.square().mean(dims, true) + call.args.real("eps")));
}

// Weight and bias in the dimensions from `first` on.
Tensor affine(const TorchCall& call, const Tensor& y, std::int64_t first) {
  if (!call.args.flag("affine")) return y;
  List shape(static_cast<std::size_t>(y.dim()), 1);
  const Tensor weight = call.param("weight");
  std::ranges::copy(weight.sizes(), shape.begin() + first);
  return y * weight.reshape(shape) + call.param("bias").reshape(shape);
}

Tensor softmax(const TorchCall& call, const Tensor& x, std::int64_t axis) {
  if (!call.rounded) return at::softmax(x, axis);
  // If one probability is nearly 1, its gradient y (dy - sum of y dy) cancels, and its error is about that of y.
  const Tensor powers = call.rounded(at::exp(x - x.amax(axis, true)));
  return powers / call.rounded(powers.sum(axis, true));
}

// x (1 + tanh z) / 2 as x sigmoid(2 z): for very negative z, one plus the tangent would be rounding only.
Tensor gelu(const Tensor& x) { return x * at::sigmoid(std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x)); }

Tensor batch_norm(const TorchCall& call) {
  const Tensor& x = call.x[0];
  // LibTorch writes into the given statistics, and reads them again for the gradient.
  Tensor mean = call.param("running_mean").clone(), var = call.param("running_var").clone();
  const Tensor y = at::batch_norm(x, call.param("weight"), call.param("bias"), mean, var, call.training,
                                  call.args.real("momentum"), call.args.real("eps"), false);
  if (!call.training) return y;
  // A single value has no variance, so the running variance stays.
  const bool alone = x.numel() == x.size(1);
  call.param("running_mean").copy_(mean);
  if (!alone) call.param("running_var").copy_(var);
  if (!call.rounded) return y;
  return affine(call, normalised(call, x, x.dim() == 4 ? List{0, 2, 3} : List{0}), 1);
}

Tensor layer_norm(const TorchCall& call) {
  const Tensor& x = call.x[0];
  const std::int64_t first = x.dim() - call.args.integer("axes");
  const List sizes = x.sizes().slice(static_cast<std::size_t>(first)).vec();
  if (call.rounded) {
    List dims;
    for (std::int64_t dim = first; dim < x.dim(); ++dim) dims.push_back(dim);
    return affine(call, normalised(call, x, dims), first);
  }
  return at::layer_norm(x, sizes, call.param("weight"), call.param("bias"), call.args.real("eps"));
}

Tensor group_norm(const TorchCall& call) {
  const Tensor& x = call.x[0];
  const std::int64_t groups = call.args.integer("groups");
  if (call.rounded)
    return affine(call, normalised(call, x.reshape({x.size(0), groups, -1}), {2}).reshape(x.sizes()), 1);
  return at::group_norm(x, groups, call.param("weight"), call.param("bias"), call.args.real("eps"), false);
}

Tensor lrn(const TorchCall& call) {
  const auto& args = call.args;
  return F::local_response_norm(call.x[0], F::LocalResponseNormFuncOptions(args.integer("size"))
                                               .alpha(args.real("alpha"))
                                               .beta(args.real("beta"))
                                               .k(args.real("bias")));
}

// Channel g C / groups + i goes to i groups + g.
Tensor channel_shuffle(const TorchCall& call) {
  const std::int64_t groups = call.args.integer("groups"), each = call.x[0].size(1) / groups;
  List from(static_cast<std::size_t>(groups * each));
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < each; ++i) from[static_cast<std::size_t>(i * groups + g)] = g * each + i;
  }
  return call.x[0].index_select(1, at::tensor(from));
}

Tensor scale(const TorchCall& call) {
  const Tensor &x = call.x[0], &gate = call.x[1];
  List shape(static_cast<std::size_t>(x.dim()), 1);
  shape[0] = gate.size(0);
  shape[x.dim() == 4 ? 1 : shape.size() - 1] = gate.size(1);
  return x * gate.reshape(shape);
}

// A vector for each token of the vocabulary, zeros for all others.
Tensor embedding(const TorchCall& call) {
  const std::int64_t vocab = call.args.integer("vocab");
  const Tensor tokens = call.x[0].to(at::kLong);
  const Tensor known = (tokens >= 0) & (tokens < vocab);
  const Tensor rows = at::embedding(call.param("weight"), tokens.clamp(0, vocab - 1));
  return at::where(known.unsqueeze(-1), rows, at::zeros_like(rows));
}

// Minus infinity above the diagonal of square matrices.
Tensor causal_mask(const Tensor& x) {
  return x.masked_fill(at::ones({x.size(-2), x.size(-1)}, at::kBool).triu(1), -INFINITY);
}

// PyTorch's multi-head attention; with dropout its formula, because PyTorch samples other masks.
Tensor attention(const TorchCall& call) {
  const Tensor& x = call.x[0];
  const auto param = [&](const std::string& name) { return call.param(name); };
  const std::int64_t n = x.size(0), t = x.size(1), d = x.size(2), heads = call.args.integer("heads");
  const Tensor unseen = causal_mask(at::zeros({t, t}, x.options()));
  const double p = call.training ? call.args.real("dropout") : 0;
  if (p == 0) {
    auto options =
        F::MultiheadAttentionForwardFuncOptions(d, heads, param("in_proj_weight"), param("in_proj_bias"), {}, {}, false,
                                                0, param("out_proj.weight"), param("out_proj.bias"))
            .training(call.training)
            .need_weights(false);
    if (call.args.flag("causal")) options.attn_mask(unseen);
    const Tensor by_position = x.transpose(0, 1);
    return std::get<0>(F::multi_head_attention_forward(by_position, by_position, by_position, options)).transpose(0, 1);
  }
  const auto parts = at::linear(x, param("in_proj_weight"), param("in_proj_bias"))
                         .reshape({n, t, 3, heads, d / heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind();
  Tensor weights = at::matmul(parts[0], parts[1].transpose(-1, -2)) / std::sqrt(static_cast<double>(d / heads));
  if (call.args.flag("causal")) weights = weights + unseen;
  weights = softmax(call, weights, -1);
  weights = weights * call.mask(weights.unsqueeze(1), p).squeeze(1);
  const Tensor seen = at::matmul(weights, parts[2]).permute({0, 2, 1, 3}).reshape({n, t, d});
  return at::linear(seen, param("out_proj.weight"), param("out_proj.bias"));
}

Tensor slice(const TorchCall& call) {
  const std::int64_t axis = call.args.integer("axis"), end = call.args.integer("end");
  return call.x[0].slice(axis, call.args.integer("start"), end == 0 ? call.x[0].size(axis) : end);
}

Tensor matmul(const TorchCall& call) {
  const auto side = [&](std::size_t i, std::string_view transposed) {
    return call.args.flag(transposed) ? call.x[i].transpose(-1, -2) : call.x[i];
  };
  return at::matmul(side(0, "transpose_a"), side(1, "transpose_b"));
}

Tensor reshape(const TorchCall& call) {
  List shape = call.args.list("shape");
  shape.insert(shape.begin(), call.x[0].size(0));
  return call.x[0].reshape(shape);
}

Tensor pad(const TorchCall& call) {
  const List& pads = call.args.list("pads");
  return padded(call.x[0], {pads[0], pads[1], pads[2], pads[3]}, 0);
}

Tensor sum(const TorchCall& call) {
  Tensor all = call.x[0];
  for (std::size_t i = 1; i < call.x.size(); ++i) all = all + call.x[i];
  return all;
}

void add_windows(Table& table) {
  table["conv2d"] = single(conv2d);
  table["depthwise_conv2d"] = single(depthwise_conv2d);
  table["separable_conv2d"] = single(separable_conv2d);
  table["conv_transpose2d"] = single(conv_transpose2d);
  table["conv1d"] = single(conv1d);
  table["max_pool2d"] = single([](const TorchCall& c) { return max_pool(c.x[0], windows_of(c)); });
  table["avg_pool2d"] =
      single([](const TorchCall& c) { return avg_pool(c.x[0], windows_of(c), c.args.flag("count_include_pad")); });
  table["max_pool1d"] = single(max_pool1d);
  table["avg_pool1d"] = single(avg_pool1d);
  table["adaptive_avg_pool2d"] =
      single([](const TorchCall& c) { return at::adaptive_avg_pool2d(c.x[0], c.pair("out")); });
  table["global_avg_pool"] = single([](const TorchCall& c) { return c.x[0].flatten(2).mean(2); });
  table["global_max_pool"] = single([](const TorchCall& c) {
    return std::get<0>(at::adaptive_max_pool2d(c.x[0], {1, 1})).flatten(1);
  });
  table["resize"] = single(resize);
  table["upsample"] = single(upsample);
}

void add_elementwise(Table& table) {
  const auto unary = [&](const std::string& op, Tensor (*rule)(const Tensor&)) {
    table[op] = single([rule](const TorchCall& c) { return rule(c.x[0]); });
  };
  unary("output", [](const Tensor& x) { return x; });
  unary("identity", [](const Tensor& x) { return x; });
  unary("zero", [](const Tensor& x) { return at::zeros_like(x); });
  unary("relu", [](const Tensor& x) { return at::relu(x); });
  unary("relu6", [](const Tensor& x) { return F::relu6(x); });
  unary("gelu", gelu);
  unary("silu", [](const Tensor& x) { return at::silu(x); });
  unary("tanh", [](const Tensor& x) { return at::tanh(x); });
  unary("sigmoid", [](const Tensor& x) { return at::sigmoid(x); });
  unary("softsign", [](const Tensor& x) { return F::softsign(x); });
  unary("gelu_erf", [](const Tensor& x) { return x * at::special_erfc(x * -std::numbers::sqrt2 / 2) / 2; });
  unary("softplus", [](const Tensor& x) { return at::logaddexp(x, at::zeros_like(x)); });
  unary("exp", [](const Tensor& x) { return at::exp(x); });
  unary("log", [](const Tensor& x) { return at::log(x); });
  unary("sqrt", [](const Tensor& x) { return at::sqrt(x); });
  unary("hard_swish", [](const Tensor& x) { return at::hardswish(x); });
  const auto rule = [&](const std::string& op, Tensor (*with)(const TorchCall&)) { table[op] = single(with); };
  rule("leaky_relu", [](const TorchCall& c) { return at::leaky_relu(c.x[0], c.args.real("alpha")); });
  rule("elu", [](const TorchCall& c) { return at::elu(c.x[0], c.args.real("alpha")); });
  rule("clip", [](const TorchCall& c) { return at::clamp(c.x[0], c.args.real("min"), c.args.real("max")); });
  rule("hard_sigmoid",
       [](const TorchCall& c) { return at::clamp(c.x[0] * c.args.real("alpha") + c.args.real("beta"), 0, 1); });
  rule("softmax", [](const TorchCall& c) { return softmax(c, c.x[0], c.args.integer("axis")); });
  rule("dropout", [](const TorchCall& c) { return c.training ? c.x[0] * c.mask(c.x[0], c.args.real("p")) : c.x[0]; });
  rule("shift_by", [](const TorchCall& c) { return c.x[0] + c.args.real("by"); });
  rule("scale_by", [](const TorchCall& c) { return c.x[0] * c.args.real("by"); });
  unary("causal_mask", causal_mask);
  rule("add", sum);
  rule("sub", [](const TorchCall& c) { return c.x[0] - c.x[1]; });
  rule("mul", [](const TorchCall& c) { return c.x[0] * c.x[1]; });
  rule("div", [](const TorchCall& c) { return c.x[0] / c.x[1]; });
}

void add_others(Table& table) {
  const auto rule = [&](const std::string& op, Tensor (*with)(const TorchCall&)) { table[op] = single(with); };
  rule("linear", [](const TorchCall& c) { return at::linear(c.x[0], c.param("weight"), c.param("bias")); });
  rule("matmul", matmul);
  rule("batch_norm", batch_norm);
  rule("layer_norm", layer_norm);
  rule("group_norm", group_norm);
  rule("lrn", lrn);
  rule("scale", scale);
  rule("channel_shuffle", channel_shuffle);
  rule("concat", [](const TorchCall& c) { return at::cat(c.x, c.args.integer("axis")); });
  rule("flatten", [](const TorchCall& c) { return c.x[0].reshape({c.x[0].size(0), -1}); });
  rule("reshape", reshape);
  rule("transpose", [](const TorchCall& c) { return c.x[0].permute(c.args.list("axes")); });
  rule("pad", pad);
  rule("slice", slice);
  rule("mean", [](const TorchCall& c) { return c.x[0].mean(c.args.list("axes"), c.args.flag("keep")); });
  rule("embedding", embedding);
  rule("positional_embedding", [](const TorchCall& c) { return c.x[0] + c.param("weight"); });
  rule("attention", attention);
}

}  // namespace

List TorchCall::pair(std::string_view name) const {
  const List& list = args.list(name);
  return {list.front(), list.back()};
}

const Table& torch_operators() {
  static const Table kTable = [] {
    Table table;
    add_windows(table);
    add_elementwise(table);
    add_others(table);
    return table;
  }();
  return kTable;
}

}  // namespace lanista::program::testing
