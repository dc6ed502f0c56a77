#include "support/engine/local/onnx_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"
#include "support/exec/program/test_models.h"

namespace lanista::runtime::testing {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::uint64_t kVocab = 7;  ///< Tokens of the smallest embedding here.
using List = std::vector<std::int64_t>;

struct OneOperator {
  const char* shape;
  const char* line;  ///< reads %0 alone; a second line, "\n%2 = ...", may follow
  const char* dtype = "real";
};

constexpr OneOperator kOneOperator[] = {
    {"6", "linear(%0, out=4)"},
    {"3,6", "linear(%0, out=4)"},
    {"2,3,4,5", "linear(%0, out=4, bias=false)"},
    {"3,4", "matmul(%0, %0, transpose_b=true)"},
    {"3,4", "matmul(%0, %0, transpose_a=true)"},
    {"2,3,3", "matmul(%0, %0)"},
    {"3,9,8", "conv2d(%0, out=4, kernel=[3,2], stride=[2,1], padding=[1,0])"},
    {"4,9,8", "conv2d(%0, out=6, groups=2, dilation=[2], bias=false)"},
    {"3,6,5", "depthwise_conv2d(%0, multiplier=2, padding=[1])"},
    {"3,6,5", "separable_conv2d(%0, out=4, padding=[1])"},
    {"4", "batch_norm(%0)"},
    {"4,3,2", "batch_norm(%0, affine=false, eps=0.001)"},
    {"6", "layer_norm(%0)"},
    {"3,6", "layer_norm(%0, axes=2, affine=false)"},
    {"3,4,5", "layer_norm(%0, axes=3)"},
    {"6", "group_norm(%0, groups=3)"},
    {"6,3,4", "group_norm(%0, groups=2)"},
    {"6,3,4", "group_norm(%0, groups=6, affine=false)"},
    {"7", "dropout(%0, p=0.3)"},
    {"7", "zero(%0)"},
    {"7", "softmax(%0)"},
    {"3,4,5", "softmax(%0, axis=1)"},
    {"3,7,8", "max_pool2d(%0, kernel=[3,2], stride=[2,1], padding=[1])"},
    {"3,7,8", "avg_pool2d(%0, kernel=[3], stride=[2], padding=[1])"},
    {"3,7,8", "avg_pool2d(%0, kernel=[3], stride=[2], padding=[1], count_include_pad=false)"},
    {"3,7,8", "adaptive_avg_pool2d(%0, out=[3,5])"},
    {"3,6,8", "adaptive_avg_pool2d(%0, out=[3,2])"},
    {"3,6,8", "adaptive_avg_pool2d(%0, out=[1])"},
    {"2,3,3", "adaptive_avg_pool2d(%0, out=[5,4])"},
    {"3,6,8", "global_avg_pool(%0)"},
    {"3,4,5", "flatten(%0)"},
    {"3,4,5", "reshape(%0, shape=[12,5])"},
    {"3,4,5", "transpose(%0, axes=[0,3,1,2])"},
    {"3,4,5", "pad(%0, pads=[1,0,2,3])"},
    {"3,4,5", "mean(%0, axes=[1,3])"},
    {"3,4,5", "mean(%0, axes=[2], keep=true)"},
    {"3,8,7", "conv2d(%0, out=4, kernel=[3,2], stride=[2], padding=[0,1,1,0])"},
    {"3,8,7", "max_pool2d(%0, kernel=[3], stride=[2], padding=[0,1,1,0])"},
    {"3,8,8", "max_pool2d(%0, kernel=[3], stride=[2], ceil_mode=true)"},
    {"3,8,7", "avg_pool2d(%0, kernel=[2,3], stride=[1,2], padding=[0,1,1,0])"},
    {"3,8,8", "avg_pool2d(%0, kernel=[3], stride=[2], ceil_mode=true, count_include_pad=false)"},
    {"3,6,8", "global_max_pool(%0)"},
    {"3,9", "global_avg_pool(%0)"},
    {"4,5,6",
     "conv_transpose2d(%0, out=6, kernel=[4,3], stride=[2,3], padding=[1,0,0,2], output_padding=[1,2], groups=2)"},
    {"3,5,6", "conv_transpose2d(%0, out=2, dilation=[2], bias=false)"},
    {"4,9", "conv1d(%0, out=6, kernel=4, stride=2, padding=[2,1], groups=2)"},
    {"4,9", "conv1d(%0, out=3, dilation=2, bias=false)"},
    {"4,9", "max_pool1d(%0, kernel=3, stride=2, padding=[1,0])"},
    {"4,9", "avg_pool1d(%0, kernel=2, padding=[1])"},
    {"7", "leaky_relu(%0, alpha=0.2)"},
    {"7", "elu(%0, alpha=0.7)"},
    {"7", "clip(%0, min=-0.5, max=0.75)"},
    {"7", "hard_sigmoid(%0, alpha=0.2)"},
    {"7", "sub(%0, %0)"},
    {"7", "sigmoid(%0)\n%2 = div(%0, %1)"},
    {"3,4,5", "slice(%0, axis=1, start=1)"},
    {"3,4,5", "slice(%0, axis=3, start=-4, end=-1)"},
    {"3,4,5", "global_avg_pool(%0)\n%2 = scale(%0, %1)"},
    {"3,5", "mean(%0, axes=[1])\n%2 = scale(%0, %1)"},
    {"6,3,4", "channel_shuffle(%0, groups=3)"},
    {"6,3,4", "lrn(%0, size=5, alpha=0.5)"},
    {"6,3,4", "lrn(%0, size=3, alpha=2, beta=0.6, bias=1.5)"},
    {"2,3,4", "resize(%0, out=[5,9])"},
    {"2,9,8", "resize(%0, out=[5,3], mode=\"bilinear\")"},
    {"2,3,4", "upsample(%0, factor=[3,2])"},
    {"2,3,4", "upsample(%0, factor=[2], mode=\"bilinear\")"},
    {"7", "add(%0, %0, %0)"},
    {"7", "mul(%0, %0)"},
    {"2,3,4", "concat(%0, %0, axis=2)"},
    {"5", "embedding(%0, vocab=7, dim=6)", "index"},
    {"5,6", "positional_embedding(%0)"},
    {"5,6", "positional_embedding(%0, mode=\"sinusoidal\")"},
    {"7", "scale_by(%0, by=-2.5)"},
    {"7", "shift_by(%0, by=-2.5)"},
    {"7", "gelu_erf(%0)"},
    {"7", "softplus(%0)"},
    {"7", "exp(%0)"},
    {"7", "sigmoid(%0)\n%2 = log(%1)\n%3 = sqrt(%1)\n%4 = add(%2, %3)"},
    {"4,4", "causal_mask(%0)\n%2 = softmax(%1)"},
    {"2,4,4", "causal_mask(%0)\n%2 = softmax(%1)"},
    {"5,6", "attention(%0, heads=2)"},
    {"5,6", "attention(%0, heads=3, causal=true, dropout=0.1)"},
};

Tensor floats(std::string name, List shape) {
  Tensor tensor{.name = std::move(name), .type = ElementType::kF32, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
  return tensor;
}

/// Trained-looking numbers: spread weights, norms near one, positive variances.
Tensor random_weight(const graph::NamedParam& param, const Rng& seed) {
  Rng rng = seed.split(param.name);
  Tensor tensor = floats(param.name, param.spec.shape.dims);
  const double spread = param.spec.fan_in > 0 ? 1 / std::sqrt(static_cast<double>(param.spec.fan_in)) : 0.3;
  const double center = param.spec.init == graph::Init::kOnes ? 1 : 0;
  for (float& value : elements_of<float>(tensor)) {
    const double number = center + spread * rng.normal();
    value = static_cast<float>(param.spec.name == "running_var" ? 0.2 + number * number : number);
  }
  return tensor;
}

graph::Graph parsed(const std::string& text) {
  auto graph = graph::parse(text);
  LANISTA_CHECK(graph.ok(), text);
  return *std::move(graph);
}

/// The number of `values` that belongs to element `e` of a sample.
double entry(const std::vector<double>& values, std::size_t e, std::size_t features, double otherwise) {
  return values.empty() ? otherwise : values[e / (features / values.size())];
}

std::vector<mutate::BaseModel> all_bases() {
  std::vector<mutate::BaseModel> bases;
  const auto add = [&](const std::string& name, const graph::Shape& shape) {
    auto base = mutate::builtin_base(name, shape, 10);
    if (!base) return;  // one base needs images, the others do not
    base->name += shape.text();
    bases.push_back(*std::move(base));
  };
  for (const std::string& name : mutate::builtin_base_names()) {
    for (const List& shape : {List{64}, List{5, 7}, List{1, 8, 8}, List{3, 9, 14}}) add(name, {shape});
  }
  return bases;
}

}  // namespace

OnnxCase make_case(std::string name, graph::Graph graph, formats::OnnxExport options) {
  const Rng rng = Rng(7).split(name);
  OnnxCase made{
      .name = std::move(name), .graph = std::move(graph), .weights = {}, .options = std::move(options), .x = {}};
  const graph::OpTable ops = graph::builtin_ops();
  const auto params = graph::parameters(made.graph, ops);
  LANISTA_CHECK(params.ok(), made.name);
  for (const graph::NamedParam& param : *params) made.weights.push_back(random_weight(param, rng));
  const auto types = graph::infer_shapes(made.graph, ops);
  LANISTA_CHECK(types.ok(), made.name);
  const graph::ValueType& input = types->at({made.graph.nodes_of("input").front(), 0});
  List shape = input.shape.dims;
  shape.front() = kBatch;
  made.x = floats("x", std::move(shape));
  Rng samples = rng.split("x");
  for (float& value : elements_of<float>(made.x)) {
    const bool token = input.dtype == graph::DType::kIndex;
    value = static_cast<float>(token ? static_cast<double>(samples.below(kVocab)) : samples.normal());
  }
  return made;
}

std::vector<OnnxCase> operator_cases() {
  std::vector<OnnxCase> cases;
  const auto add = [&](const std::string& shape, const std::string& line, const std::string& dtype) {
    const auto last = 1 + std::ranges::count(line, '\n');
    const std::string end = "\n%" + std::to_string(last + 1) + " = output(%" + std::to_string(last) + ")\n";
    cases.push_back(make_case(line + " of [" + shape + "]", parsed("%0 = input(shape=[" + shape + "], dtype=\"" +
                                                                   dtype + "\")\n%1 = " + line + end)));
  };
  for (const OneOperator& one : kOneOperator) add(one.shape, one.line, one.dtype);
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (ops.find(name)->family == graph::OpFamily::kActivation) add("7", name + "(%0)", "real");
  }
  return cases;
}

std::set<std::string> operators_of(const std::vector<OnnxCase>& cases) {
  std::set<std::string> seen;
  for (const OnnxCase& one : cases) {
    for (const auto& node : one.graph.nodes()) seen.insert(node->op);
  }
  return seen;
}

std::vector<OnnxCase> base_cases() {
  std::vector<OnnxCase> cases;
  for (const mutate::BaseModel& base : all_bases()) {
    cases.push_back(make_case(base.name, base.graph));
    cases.push_back(make_case(base.name + " one mean", base.graph,
                              {.mean = {0.5}, .scale = {0.25}, .graph_name = base.name, .metadata = {{"a", "b"}}}));
  }
  const auto image = mutate::builtin_base("small-cnn", {{3, 8, 8}}, 10);
  cases.push_back(
      make_case("channel means", image->graph, {.mean = {0.1, 0.2, 0.3}, .scale = {1, 2, 3}, .metadata = {}}));
  const auto rows = mutate::builtin_base("small-mlp", {{4}}, 3);
  cases.push_back(make_case("feature scales", rows->graph, {.mean = {}, .scale = {1, 2, 0.5, 10}, .metadata = {}}));
  cases.push_back(make_case("targets' units", rows->graph,
                            {.mean = {},
                             .scale = {},
                             .metadata = {},
                             .missing = {},
                             .target_mean = {1e4, -2, 0},
                             .target_scale = {50, 0.5, 1e-3}}));
  const auto one = mutate::builtin_base("small-mlp", {{4}}, 1);
  cases.push_back(make_case(
      "a target's unit", one->graph,
      {.mean = {1}, .scale = {3}, .metadata = {}, .missing = {}, .target_mean = {0}, .target_scale = {1.0 / 3}}));
  return cases;
}

std::vector<OnnxCase> composed_cases() {
  std::vector<OnnxCase> cases;
  for (const program::testing::TestModel& model : program::testing::operator_models()) {
    cases.push_back(make_case(model.name, parsed(model.text)));
  }
  const auto transformer = mutate::builtin_base("small-transformer", {{8}}, 10, kVocab);
  cases.push_back(make_case(transformer->name, transformer->graph));
  const auto everywhere = mutate::builtin_base("small-transformer", {{8}}, 10, kVocab, 8);
  cases.push_back(make_case(everywhere->name + " at every position", everywhere->graph));
  return cases;
}

std::vector<OnnxCase> mutated_cases(int count) {
  std::vector<mutate::BaseModel> bases = all_bases();
  for (const program::testing::TestModel& model : program::testing::operator_models()) {
    bases.push_back({model.name, parsed(model.text)});
  }
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const mutate::MutatorPlugin& plugin : mutate::builtin_mutators()) {
    auto made = plugin.make(*resolve_options(plugin.example, plugin.options));
    LANISTA_CHECK(made.ok(), plugin.name);
    mutators.push_back(*std::move(made));
  }
  const auto num_bases = static_cast<std::int64_t>(bases.size());
  const auto space = mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), std::move(mutators), {},
                                              {.params = 1e6, .flops = {}});
  LANISTA_CHECK(space.ok(), "the models of the tests make no space");

  std::vector<OnnxCase> cases;
  std::string refused;  // a chain of mutations may end when no mutation applies
  for (int i = 0; std::ssize(cases) < count; ++i) {
    LANISTA_CHECK(i < 4 * count, "hardly any mutation applies: " + refused);
    const Rng rng = Rng(11).split(static_cast<std::uint64_t>(i));
    const auto base = static_cast<std::int64_t>(rng.split("base").key() % static_cast<std::uint64_t>(num_bases));
    const auto mutated = space->mutate(space->base(base), 1 + i % 6, rng);
    if (!mutated) {
      refused = mutated.error().text();
      continue;
    }
    OnnxCase one = make_case("mutated " + std::to_string(i), mutated->graph);
    // A mutation may leave a division by zero; such values are useless for comparing files.
    const Tensor y = predict(one);
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (std::ranges::all_of(elements_of<float>(y), is_finite)) cases.push_back(std::move(one));
  }
  return cases;
}

Tensor predict(const OnnxCase& one) {
  Tensor y = predict(one.graph, one.weights, one.options.mean, one.options.scale, one.x);
  const auto &mean = one.options.target_mean, &scale = one.options.target_scale;
  const auto numbers = elements_of<float>(y);
  for (std::size_t i = 0; i < numbers.size() && !mean.empty(); ++i) {
    const std::size_t k = i % mean.size();
    numbers[i] = static_cast<float>(mean[k] + scale[k] * static_cast<double>(numbers[i]));
  }
  return y;
}

Tensor predict(const graph::Graph& graph, const std::vector<Tensor>& weights, const std::vector<double>& mean,
               const std::vector<double>& scale, const Tensor& x) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto train = autodiff::derive_training_step(graph, {.loss = "mse"}, ops);
  LANISTA_CHECK(train.ok(), train ? "" : train.error().text());
  const auto infer = autodiff::derive_inference_step(graph, ops);
  LANISTA_CHECK(infer.ok(), infer ? "" : infer.error().text());
  auto program = program::Program::compile(*train, *infer, {.max_batch = kBatch});
  LANISTA_CHECK(program.ok(), program ? "" : program.error().text());
  const auto begun = program->begin(0, 1);
  LANISTA_CHECK(begun.ok(), begun ? "" : begun.error().text());
  std::vector<Tensor> state = program->extract(0);
  for (const Tensor& weight : weights) {
    const auto found = std::ranges::find(state, weight.name, &Tensor::name);
    LANISTA_CHECK(found != state.end(), "no state " + weight.name);
    *found = weight;
  }
  const auto inserted = program->insert(0, state);
  LANISTA_CHECK(inserted.ok(), inserted ? "" : inserted.error().text());

  const auto raw = elements_of<float>(x);
  const std::size_t features = raw.size() / static_cast<std::size_t>(x.shape.front());
  std::vector<float> normal(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const std::size_t e = i % features;
    normal[i] =
        static_cast<float>((static_cast<double>(raw[i]) - entry(mean, e, features, 0)) / entry(scale, e, features, 1));
  }
  const List index(static_cast<std::size_t>(x.shape.front()), 0);
  List shape = infer->types.at(infer->prediction).shape.dims;
  shape.front() = x.shape.front();
  Tensor y = floats("y", std::move(shape));
  program->predict(0, {.size = x.shape.front(), .features = normal, .labels = {}, .targets = {}, .sample_index = index},
                   elements_of<float>(y));
  return y;
}

}  // namespace lanista::runtime::testing
