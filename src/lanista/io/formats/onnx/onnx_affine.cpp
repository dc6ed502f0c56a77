// A sequence of additions and multiplications with constants, as one operator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// One step: value op constant, or constant - value.
struct Step {
  char op;
  const Tensor* constant;
  bool constant_first;
};

struct Chain {
  std::string source;
  std::vector<Step> steps;         ///< in the order of computation
  const OnnxNode* norm = nullptr;  ///< the batch norm that gives the source, if it has no other reader
};

char op_of(const OnnxNode& node) {
  return node.op == "Add" || node.op == "Sum" ? '+'
         : node.op == "Sub"                   ? '-'
         : node.op == "Mul"                   ? '*'
         : node.op == "Div"                   ? '/'
                                              : 0;
}

/// The step of a node and the value it changes. None if no input is a constant, or both are.
std::optional<std::pair<Step, std::string>> step_of(const OnnxView& view, const OnnxNode& node) {
  const char op = op_of(node);
  if (op == 0 || node.inputs.size() != 2 || !node.attributes.empty()) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const Tensor* constant = view.constant(node.inputs[i]);
    const bool alone = view.constant(node.inputs[1 - i]) == nullptr;
    const bool known = constant != nullptr && constant->type == ElementType::kF32 && constant->elements() > 0;
    if (known && alone && !(op == '/' && i == 0)) return std::pair(Step{op, constant, i == 0}, node.inputs[1 - i]);
  }
  return std::nullopt;
}

std::optional<Chain> chain_of(const OnnxView& view, const OnnxNode& last) {
  Chain chain;
  const OnnxNode* node = &last;
  while (node != nullptr) {
    const auto step = step_of(view, *node);
    if (!step) break;
    chain.steps.push_back(step->first);
    chain.source = step->second;
    node = view.num_uses(chain.source) == 1 ? view.producer(chain.source) : nullptr;
    if (node != nullptr && gelu_of(view, *node)) node = nullptr;  // its factor 1/2 is no step of the chain
  }
  if (chain.steps.empty()) return std::nullopt;
  std::reverse(chain.steps.begin(), chain.steps.end());
  if (node != nullptr && node->op == "BatchNormalization" && node->inputs.size() == 5) chain.norm = node;
  return chain;
}

/// x * scale + shift, element by element of a shape [features...].
struct Affine {
  List shape;
  std::vector<double> scale, shift;
};

/// The common shape of all constants, without leading axes that none of them has. A size is one where all elements
/// share a number.
Result<List> shape_of_steps(const std::vector<Step>& steps) {
  List shape;
  for (const Step& step : steps) {
    LANISTA_ASSIGN(shape, broadcast_shape(shape, step.constant->shape));
  }
  return shape;
}

/// Combines the steps for a value, which is stretched first where a constant is larger. Errors: a constant that would
/// stretch it in another way.
Result<Affine> fused(const std::vector<Step>& steps, ModelWriter& w, PlacedPort& value) {
  std::vector<List> shapes;
  List shape;
  for (const Step& step : steps) {
    LANISTA_ASSIGN(List own, constant_dims(w, value, step.constant->shape));
    own.erase(own.begin());
    LANISTA_ASSIGN(shape, broadcast_shape(shape, own));
    shapes.push_back(std::move(own));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const List dims = w.dims(value.port);
    if (shape[i] == 1 || shape[i] == dims[i + 1]) continue;
    if (dims[i + 1] != 1) {
      return unsupported("its constant of " + graph::Shape{shape}.text() + " would stretch " +
                         graph::Shape{dims}.text());
    }
    LANISTA_ASSIGN(value.port, repeated(w, value.port, i + 1, shape[i]));
  }
  Affine all{shape, {}, {}};
  const auto count = static_cast<std::size_t>(product(shape));
  all.scale.assign(count, 1);
  all.shift.assign(count, 0);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const Step& step = steps[k];
    const auto numbers = elements_of<float>(*step.constant);
    std::size_t to = 0;
    for_each_broadcast(shapes[k], shapes[k], shape, [&](std::size_t from, std::size_t) {
      const double number = static_cast<double>(numbers[from]);
      double &scale = all.scale[to], &shift = all.shift[to];
      ++to;
      if (step.op == '*' || step.op == '/') {
        scale = step.op == '*' ? scale * number : scale / number;
        shift = step.op == '*' ? shift * number : shift / number;
      } else if (step.constant_first && step.op == '-') {
        scale = -scale;
        shift = number - shift;
      } else {
        shift += step.op == '+' ? number : -number;
      }
    });
  }
  const auto held = [](double x) { return std::abs(x) <= static_cast<double>(std::numeric_limits<float>::max()); };
  if (!std::ranges::all_of(all.scale, held) || !std::ranges::all_of(all.shift, held)) {
    return unsupported("its constant is not finite, or divides by 0");
  }
  return all;
}

Tensor vector_of(const std::vector<double>& values, List shape) {
  Tensor tensor{.name = {}, .type = ElementType::kF32, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::ranges::transform(values, elements_of<float>(tensor).begin(), [](double x) { return static_cast<float>(x); });
  return tensor;
}

/// The numbers of an affine form for a larger shape.
Affine stretched(const Affine& small, const List& shape) {
  Affine large{shape, {}, {}};
  for_each_broadcast(small.shape, small.shape, shape, [&](std::size_t from, std::size_t) {
    large.scale.push_back(small.scale[from]);
    large.shift.push_back(small.shift[from]);
  });
  return large;
}

/// A window of one cell for each channel of an image: weight and bias.
Result<Port> scale_channels(ModelWriter& w, Port image, const Affine& affine) {
  const auto channels = static_cast<std::int64_t>(affine.scale.size());
  const bool shifts = std::any_of(affine.shift.begin(), affine.shift.end(), [](double x) { return x != 0; });
  std::vector<Tensor> params{vector_of(affine.scale, {channels, 1, 1, 1})};
  if (shifts) params.push_back(vector_of(affine.shift, {channels}));
  return w.add("depthwise_conv2d", {image}, {{"kernel", List{1}}, {"bias", shifts}}, std::move(params));
}

Result<Port> write_affine(ModelWriter& w, Port value, const Affine& affine) {
  const List dims = w.dims(value);
  const List rest(dims.begin() + 1, dims.end());
  const bool same_scale =
      std::all_of(affine.scale.begin(), affine.scale.end(), [&](double x) { return x == affine.scale[0]; });
  const bool no_shift = std::all_of(affine.shift.begin(), affine.shift.end(), [](double x) { return x == 0; });
  if (same_scale && no_shift) return w.add("scale_by", {value}, {{"by", affine.scale[0]}});
  if (affine.scale.size() == 1) {
    if (affine.scale[0] != 1) {
      LANISTA_ASSIGN(value, w.add("scale_by", {value}, {{"by", affine.scale[0]}}));
    }
    return w.add("shift_by", {value}, {{"by", affine.shift[0]}});
  }
  // Vectors for positions have an operator of their own.
  if (dims.size() == 3 && same_scale && affine.scale[0] == 1) {
    LANISTA_TRY(w.check_budget(rest));
    return w.add("positional_embedding", {value}, {}, {vector_of(stretched(affine, rest).shift, rest)});
  }
  List channels(rest.size(), 1);
  channels[0] = rest[0];
  const auto within = [](auto own, auto all) { return own == 1 || own == all; };
  if (dims.size() > 2 && std::ranges::equal(affine.shape, channels, within)) {
    LANISTA_ASSIGN(const Port image,
                   in_shape(w, value, dims.size() == 4 ? rest : List{rest[0], product(rest) / rest[0], 1}));
    LANISTA_ASSIGN(const Port result, scale_channels(w, image, stretched(affine, channels)));
    return in_shape(w, result, rest);
  }
  // Numbers along one other axis: its elements become the channels.
  const auto of_axis = std::find_if(affine.shape.begin(), affine.shape.end(), [](auto size) { return size != 1; });
  if (std::count_if(of_axis, affine.shape.end(), [](auto size) { return size != 1; }) == 1 && dims.size() > 2) {
    const auto axis = static_cast<std::size_t>(of_axis - affine.shape.begin()) + 1;
    List there{0, static_cast<std::int64_t>(axis)}, back(dims.size(), 0);
    for (std::size_t i = 1; i < dims.size(); ++i) {
      if (i != axis) there.push_back(static_cast<std::int64_t>(i));
    }
    List moved;
    for (std::size_t i = 1; i < there.size(); ++i) moved.push_back(dims[static_cast<std::size_t>(there[i])]);
    for (std::size_t i = 0; i < there.size(); ++i) {
      back[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
    }
    LANISTA_ASSIGN(const Port turned, w.add("transpose", {value}, {{"axes", there}}));
    LANISTA_ASSIGN(const Port image, in_shape(w, turned, {moved[0], product(moved) / moved[0], 1}));
    LANISTA_ASSIGN(const Port scaled, scale_channels(w, image, affine));
    LANISTA_ASSIGN(const Port shaped, in_shape(w, scaled, moved));
    return w.add("transpose", {shaped}, {{"axes", back}});
  }
  LANISTA_TRY(w.check_budget(rest));
  LANISTA_ASSIGN(const Port cells, in_shape(w, value, {product(rest), 1, 1}));
  LANISTA_ASSIGN(const Port result, scale_channels(w, cells, stretched(affine, rest)));
  return in_shape(w, result, rest);
}

/// Whether a shape has the channels of images, or one number for all.
bool by_channel(const List& shape, std::int64_t channels) {
  const std::size_t rank = shape.size();
  const auto one = [](std::int64_t size) { return size == 1; };
  if (std::all_of(shape.begin(), shape.end(), one)) return true;
  return (rank == 3 || rank == 4) && shape[rank - 3] == channels && shape[rank - 2] == 1 && shape[rank - 1] == 1 &&
         (rank == 3 || shape[0] == 1);
}

/// A batch norm with scale and shift changed by the following steps; none if cells of a channel differ.
Result<std::optional<Rewrite>> norm_rewrite(const OnnxView& view, const Chain& chain) {
  LANISTA_ASSIGN(const BatchNorm norm, batch_norm_of(NodeReader(view, *chain.norm)));
  LANISTA_ASSIGN(const List shape, shape_of_steps(chain.steps));
  if (!by_channel(shape, norm.params[0]->elements())) return std::optional<Rewrite>();
  const bool one_number = product(shape) == 1;
  return std::optional(
      Rewrite{{norm.input}, [=, steps = chain.steps](ModelWriter& w, Ports inputs) -> Result<Port> {
                const List dims = w.dims(inputs[0]);
                if (dims.size() != 4 && !one_number)
                  return unsupported("its batch-norm is over " + graph::Shape{dims}.text() + "; read are images");
                PlacedPort value{inputs[0], {}};
                LANISTA_ASSIGN(const Affine small, fused(steps, w, value));
                if (value.port != inputs[0]) return unsupported("its batch-norm is stretched");
                const Affine all = stretched(small, {dims[1], 1, 1});
                Tensor weight = *norm.params[0], bias = *norm.params[1];
                if (weight.elements() != dims[1] || bias.elements() != dims[1])
                  return malformed("its batch-norm does not fit");
                for (std::size_t i = 0; i < all.scale.size(); ++i) {
                  float &gain = elements_of<float>(weight)[i], &offset = elements_of<float>(bias)[i];
                  gain = static_cast<float>(static_cast<double>(gain) * all.scale[i]);
                  offset = static_cast<float>(static_cast<double>(offset) * all.scale[i] + all.shift[i]);
                }
                return w.add("batch_norm", {inputs[0]}, norm.attrs(),
                             {std::move(weight), std::move(bias), *norm.params[2], *norm.params[3]});
              }});
}

/// The value after these steps.
Result<PlacedPort> times_and_plus(ModelWriter& w, PlacedPort value, const std::vector<Step>& steps) {
  LANISTA_ASSIGN(const Affine affine, fused(steps, w, value));
  LANISTA_ASSIGN(value.port, write_affine(w, value.port, affine));
  return value;
}

}  // namespace

Result<PlacedPort> placed_times(ModelWriter& writer, const PlacedPort& value, const Tensor& constant) {
  return times_and_plus(writer, value, {{'*', &constant, false}});
}

Result<Port> channels_times(ModelWriter& writer, Port value, const std::vector<float>& factors) {
  const List dims = writer.dims(value), rest(dims.begin() + 1, dims.end());
  const Affine affine{{}, {factors.begin(), factors.end()}, std::vector<double>(factors.size(), 0)};
  LANISTA_ASSIGN(const Port image, in_shape(writer, value, {rest[0], product(rest) / rest[0], 1}));
  LANISTA_ASSIGN(const Port scaled, scale_channels(writer, image, affine));
  return in_shape(writer, scaled, rest);
}

RewriteResult affine_group(const NodeReader& node_reader) {
  const std::optional<Chain> chain = chain_of(node_reader.view(), node_reader.node());
  if (!chain) return Rewrite{};
  if (chain->norm != nullptr) {
    LANISTA_ASSIGN(auto rewrite, norm_rewrite(node_reader.view(), *chain));
    if (rewrite) return *std::move(rewrite);
  }
  return placed_rewrite({chain->source},
                        [steps = chain->steps](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
                          return times_and_plus(w, inputs[0], steps);
                        });
}

}  // namespace lanista::formats::onnx
