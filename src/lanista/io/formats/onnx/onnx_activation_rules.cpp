// Activations that are composed of others, powers, and layer norms that are written with means and a root.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_pointwise.h"
#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

Result<Port> reciprocal(ModelWriter& w, Port x) {
  LANISTA_ASSIGN(const Port zeros, w.add("zero", {x}));
  LANISTA_ASSIGN(const Port ones, w.add("exp", {zeros}));
  return w.add("div", {ones, x});
}

RewriteResult reciprocal_rule(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return changed(std::move(input), reciprocal);
}

/// max(x, 0) + max(-x, 0).
RewriteResult absolute(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return changed(std::move(input), [](ModelWriter& w, Port x) -> Result<Port> {
    LANISTA_ASSIGN(const Port opposite, scaled(w, x, -1));
    LANISTA_ASSIGN(const Port below, w.add("relu", {opposite}));
    LANISTA_ASSIGN(const Port above, w.add("relu", {x}));
    return w.add("add", {above, below});
  });
}

/// x^n for a whole n above 0.
Result<Port> whole_power(ModelWriter& w, Port x, std::int64_t n) {
  Port result = x;
  for (std::int64_t i = 1; i < n; ++i) {
    LANISTA_ASSIGN(result, w.add("mul", {result, x}));
  }
  return result;
}

/// x^p. A fraction as exponent gives NaN below zero, as the logarithm does.
Result<Port> power_of(ModelWriter& w, Port x, double p) {
  constexpr double kMostFactors = 8;
  const double size = std::abs(p);
  Result<Port> result = x;
  if (size == std::floor(size)) {
    if (size < 1 || size > kMostFactors) return unsupported("its exponent is " + graph::attr_text(p));
    result = whole_power(w, x, static_cast<std::int64_t>(size));
  } else if (size == 0.5) {
    result = w.add("sqrt", {x});
  } else {
    LANISTA_ASSIGN(const Port logarithm, w.add("log", {x}));
    LANISTA_ASSIGN(const Port product, scaled(w, logarithm, size));
    result = w.add("exp", {product});
  }
  if (!result || p > 0) return result;
  return reciprocal(w, *result);
}

RewriteResult power(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  const auto exponent = node_reader.has(1) ? node_reader.view().scalar(node_reader.node().inputs[1]) : std::nullopt;
  if (!exponent) return unsupported("its exponent is no single number");
  return changed(std::move(input),
                 [p = shortest_double(*exponent)](ModelWriter& w, Port x) { return power_of(w, x, p); });
}

/// gamma elu(x / width) with slope alpha, times width.
RewriteRule elu_form(double gamma_default, double alpha_default, bool continuous) {
  return [=](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({"alpha", "gamma"}));
    LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
    LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", alpha_default));
    LANISTA_ASSIGN(const double gamma, node_reader.real("gamma", gamma_default));
    if (continuous && !(alpha > 0)) return unsupported("its alpha is not above 0");
    return changed(std::move(input), [=](ModelWriter& w, Port x) -> Result<Port> {
      LANISTA_ASSIGN(const Port narrow, scaled(w, x, continuous ? 1 / alpha : 1));
      LANISTA_ASSIGN(const Port bent, w.add("elu", {narrow}, {{"alpha", continuous ? 1 : alpha}}));
      return scaled(w, bent, continuous ? alpha : gamma);
    });
  };
}

RewriteResult mish(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return changed(std::move(input), [](ModelWriter& w, Port x) -> Result<Port> {
    LANISTA_ASSIGN(const Port soft, w.add("softplus", {x}));
    LANISTA_ASSIGN(const Port gate, w.add("tanh", {soft}));
    return w.add("mul", {x, gate});
  });
}

RewriteResult shrink(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"bias", "lambd"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const double bias, node_reader.real("bias", 0));
  LANISTA_ASSIGN(const double bound, node_reader.real("lambd", 0.5));
  if (bias != bound || bound < 0) return unsupported("it jumps: its bias is not its lambd");
  return changed(std::move(input), [bound](ModelWriter& w, Port x) { return soft_shrink(w, x, bound); });
}

/// x above zero, and a trained slope of each channel times x below: max(x, 0) - slope max(-x, 0).
RewriteResult prelu(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* slope, node_reader.weight(1));
  return Rewrite{
      {std::move(input)}, [slope](ModelWriter& w, Ports inputs) -> Result<Port> {
        const List dims = w.dims(inputs[0]);
        const std::int64_t channels = dims[1], count = slope->elements();
        List by_channel(dims.size() - 1, 1);
        by_channel[0] = channels;
        List own = slope->shape;
        while (own.size() > by_channel.size() && own.front() == 1) own.erase(own.begin());
        if (count != 1 && own != by_channel) {
          return unsupported("its slopes " + graph::Shape{slope->shape}.text() + " are not those of channels");
        }
        const auto given = elements_of<float>(*slope);
        LANISTA_TRY(w.check_budget({channels}));
        std::vector<float> factors;
        for (std::int64_t i = 0; i < channels; ++i) {
          factors.push_back(-given[count == 1 ? 0 : static_cast<std::size_t>(i)]);
        }
        LANISTA_ASSIGN(Port below, scaled(w, inputs[0], -1));
        LANISTA_ASSIGN(below, w.add("relu", {below}));
        LANISTA_ASSIGN(below, channels_times(w, below, factors));
        LANISTA_ASSIGN(const Port above, w.add("relu", {inputs[0]}));
        return w.add("add", {above, below});
      }};
}

/// The layer norm of which a Div is the last node: Div(Sub(x, mean), Sqrt(mean of squares + eps)).
struct WrittenNorm {
  std::string x;
  List axes;
  double eps = 0;
};

bool two_inputs(const OnnxNode* node) { return node != nullptr && node->inputs.size() == 2; }

/// The axes of a mean of `of` that keeps its dimensions; none for other nodes.
std::optional<List> kept_mean(const OnnxView& view, const std::string& name, const std::string& of) {
  const OnnxNode* mean = view.producer(name, "ReduceMean");
  if (mean == nullptr || mean->inputs.empty() || mean->inputs[0] != of) return std::nullopt;
  const NodeReader reader(view, *mean);
  const auto axes = reader.integers("axes", 1);
  const auto keep = reader.integer("keepdims", 1);
  if (!axes || !*axes || !keep || *keep == 0) return std::nullopt;
  return **axes;
}

std::optional<WrittenNorm> written_norm(const OnnxView& view, const std::string& name) {
  const OnnxNode* quotient = view.producer(name, "Div");
  const OnnxNode* centred = two_inputs(quotient) ? view.producer(quotient->inputs[0], "Sub") : nullptr;
  const OnnxNode* root = two_inputs(centred) ? view.producer(quotient->inputs[1], "Sqrt") : nullptr;
  const OnnxNode* sum = root != nullptr && root->inputs.size() == 1 ? view.producer(root->inputs[0], "Add") : nullptr;
  if (!two_inputs(sum)) return std::nullopt;
  const auto axes = kept_mean(view, centred->inputs[1], centred->inputs[0]);
  for (const std::size_t i : {0U, 1U}) {
    const auto eps = view.scalar(sum->inputs[1 - i]);
    const OnnxNode* mean = view.producer(sum->inputs[i], "ReduceMean");
    if (!axes || !eps || mean == nullptr || mean->inputs.empty()) continue;
    // The square is a power, or a product of the value with itself.
    const OnnxNode* square = view.producer(mean->inputs[0]);
    if (!two_inputs(square) || square->inputs[0] != quotient->inputs[0]) continue;
    const bool by_power = square->op == "Pow" && view.scalar(square->inputs[1]) == 2.0F;
    const bool by_product = square->op == "Mul" && square->inputs[1] == quotient->inputs[0];
    if ((!by_power && !by_product) || kept_mean(view, sum->inputs[i], mean->inputs[0]) != axes) continue;
    return WrittenNorm{centred->inputs[0], *axes, shortest_double(*eps)};
  }
  return std::nullopt;
}

/// The norm in the operator layer_norm, with scale and shift (null: none).
Rewrite norm_rewrite(const WrittenNorm& norm, const Tensor* scale, const Tensor* shift) {
  return placed_rewrite({norm.x}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    LANISTA_ASSIGN(const List axes, port_axes(w, value, norm.axes));
    const std::size_t rank = w.dims(value.port).size();
    // The normalised dimensions are brought to the end.
    List perm{0}, back(rank, 0);
    for (std::size_t i = 1; i < rank; ++i) {
      if (std::ranges::count(axes, static_cast<std::int64_t>(i)) == 0) perm.push_back(static_cast<std::int64_t>(i));
    }
    perm.insert(perm.end(), axes.begin(), axes.end());
    for (std::size_t i = 0; i < rank; ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    if (std::ranges::is_sorted(perm)) {
      LANISTA_ASSIGN(value.port, normalised_rows(w, value.port, axes.size(), norm.eps, scale, shift));
      return value;
    }
    if (scale != nullptr) return unsupported("its scale is not along the last dimensions");
    LANISTA_ASSIGN(const Port turned, w.add("transpose", {value.port}, {{"axes", perm}}));
    LANISTA_ASSIGN(const Port normal, normalised_rows(w, turned, axes.size(), norm.eps, nullptr, nullptr));
    LANISTA_ASSIGN(value.port, w.add("transpose", {normal}, {{"axes", back}}));
    return value;
  });
}

/// The constant of a node of two inputs that has the shape of the normalised dimensions, and the other input.
std::optional<std::pair<const Tensor*, std::string>> with_parameter(const OnnxView& view, const OnnxNode* node,
                                                                    std::size_t axes) {
  if (!two_inputs(node)) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const Tensor* constant = view.constant(node->inputs[i]);
    if (constant == nullptr || constant->type != ElementType::kF32 || constant->shape.size() != axes) continue;
    return std::pair(constant, node->inputs[1 - i]);
  }
  return std::nullopt;
}

/// Whether axes count from the end, or are any dimensions that end with the last. Unknown ranks are checked later.
bool ends_last(const List& axes) {
  return std::ranges::count(axes, -1) > 0 || std::ranges::all_of(axes, [](auto a) { return a > 0; });
}

}  // namespace

/// A rewrite of one value to the port that `change` returns, element by element.
Rewrite changed(std::string input, std::function<Result<Port>(ModelWriter&, Port)> change) {
  return elementwise(Rewrite{
      {std::move(input)}, [change = std::move(change)](ModelWriter& w, Ports inputs) { return change(w, inputs[0]); }});
}

Result<Port> scaled(ModelWriter& w, Port x, double by) {
  return by == 1 ? Result<Port>(x) : w.add("scale_by", {x}, {{"by", by}});
}

Result<Port> shifted(ModelWriter& w, Port x, double by) {
  return by == 0 ? Result<Port>(x) : w.add("shift_by", {x}, {{"by", by}});
}

/// max(x - bound, 0) - max(-x - bound, 0).
Result<Port> soft_shrink(ModelWriter& w, Port x, double bound) {
  LANISTA_ASSIGN(Port above, shifted(w, x, -bound));
  LANISTA_ASSIGN(above, w.add("relu", {above}));
  LANISTA_ASSIGN(Port below, scaled(w, x, -1));
  LANISTA_ASSIGN(below, shifted(w, below, -bound));
  LANISTA_ASSIGN(below, w.add("relu", {below}));
  return w.add("sub", {above, below});
}

RewriteResult layer_norm_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const OnnxNode& node = node_reader.node();
  if (node.op == "Div") {
    const auto norm = written_norm(view, node.outputs.front());
    return norm ? norm_rewrite(*norm, nullptr, nullptr) : Rewrite{};
  }
  // Scale and shift follow the quotient.
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const auto shift = node.op == "Add" ? with_parameter(view, &node, axes) : std::nullopt;
    const OnnxNode* product = node.op == "Mul" ? &node : shift ? view.producer(shift->second, "Mul") : nullptr;
    const auto scale = with_parameter(view, product, axes);
    const auto norm = scale ? written_norm(view, scale->second) : std::nullopt;
    if (!norm || norm->axes.size() != axes || !ends_last(norm->axes)) continue;
    return norm_rewrite(*norm, scale->first, shift ? shift->first : nullptr);
  }
  return Rewrite{};
}

RewriteResult signed_size_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  for (const std::size_t i : {0U, 1U}) {
    const OnnxNode* sign = names.size() == 2 ? view.producer(names[i], "Sign") : nullptr;
    const OnnxNode* size = sign != nullptr ? view.producer(names[1 - i]) : nullptr;
    if (size != nullptr && size->op == "Relu") size = view.producer(size->inputs[0]);
    if (size == nullptr || size->op != "Abs" || size->inputs != sign->inputs) continue;
    return placed_rewrite({sign->inputs[0]},
                          [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs[0]; });
  }
  return Rewrite{};
}

RewriteResult constant_quotient(const NodeReader& node_reader) {
  if (!node_reader.has(0) || node_reader.view().constant(node_reader.node().inputs[0]) == nullptr) return Rewrite{};
  LANISTA_ASSIGN(const Tensor* constant, node_reader.weight(0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(1));
  return placed_rewrite({std::move(input)}, [constant](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    LANISTA_ASSIGN(const Port inverse, reciprocal(w, inputs[0].port));
    return placed_times(w, {inverse, inputs[0].place}, *constant);
  });
}

RewriteRules activation_rules() {
  return {{"Abs", {absolute}},
          {"Celu", {elu_form(1, 1, true)}},
          {"Mish", {mish}},
          {"PRelu", {prelu}},
          {"Pow", {power}},
          {"Reciprocal", {reciprocal_rule}},
          {"Selu", {elu_form(1.05070102214813232421875, 1.67326319217681884765625, false)}},
          {"Shrink", {shrink}}};
}

}  // namespace lanista::formats::onnx
