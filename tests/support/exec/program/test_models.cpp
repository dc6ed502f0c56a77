#include "support/exec/program/test_models.h"

#include <cctype>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/graph/text.h"

namespace lanista::program::testing {
namespace {

// Lines between `%0 = input` and `output(%last)`. A line "op(%k, …)" gets the next number.
TestModel model(std::string name, std::string shape, std::vector<std::string> lines, std::string_view dtype = "real") {
  std::string text = "%0 = input(shape=[" + shape + "], dtype=\"" + std::string(dtype) + "\")\n";
  std::size_t id = 1;
  for (const std::string& line : lines) text += "%" + std::to_string(id++) + " = " + line + "\n";
  text += "%" + std::to_string(id) + " = output(%" + std::to_string(id - 1) + ")\n";
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return {std::move(name), std::move(text), "cross_entropy"};
}

TestModel with_loss(TestModel m, std::string loss) {
  m.loss = std::move(loss);
  return m;
}

void add_dense(std::vector<TestModel>& all) {
  all.push_back(model("mlp", "6", {"linear(%0, out=8)", "relu(%1)", "linear(%2, out=5)"}));
  all.push_back(
      model("linear_rank_3", "4,6",
            {"linear(%0, out=8, bias=false)", "relu(%1)", "linear(%2, out=3)", "flatten(%3)", "linear(%4, out=5)"}));
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    const bool bends = ops.find(name)->family == graph::OpFamily::kActivation;
    if (bends || name == "softmax") {
      all.push_back(model(name, "6", {"linear(%0, out=7)", name + "(%1)", "linear(%2, out=5)"}));
    }
  }
  for (const std::string axis : {"1", "2", "-1"}) {
    all.push_back(
        model("softmax_image_" + axis, "2,3,4",
              {"conv2d(%0, out=3, kernel=[1])", "softmax(%1, axis=" + axis + ")", "flatten(%2)", "linear(%3, out=4)"}));
  }
  for (const std::string act :
       {"leaky_relu(%1, alpha=0.2)", "clip(%1, min=-0.2, max=0.4)", "hard_sigmoid(%1, alpha=0.9)", "elu(%1, alpha=0.7)",
        "sub(%1, %0)", "sub(%0, %1)", "slice(%1, axis=1, start=2)"}) {
    all.push_back(model(act, "7", {"linear(%0, out=7)", act, "linear(%2, out=5)"}));
  }
  all.push_back(
      model("div", "7", {"linear(%0, out=7)", "sigmoid(%1)", "tanh(%1)", "div(%3, %2)", "linear(%4, out=5)"}));
  all.push_back(model(
      "scale_rows", "4,6",
      {"linear(%0, out=5)", "mean(%1, axes=[1])", "sigmoid(%2)", "scale(%1, %3)", "flatten(%4)", "linear(%5, out=4)"}));
  all.push_back(model("zero", "6", {"linear(%0, out=5)", "zero(%1)", "add(%1, %2)"}));
  all.push_back(model("residual", "6",
                      {"linear(%0, out=6)", "linear(%1, out=6)", "gelu(%2)", "add(%1, %3, %0)", "mul(%4, %1)",
                       "add(%5, %5)", "linear(%6, out=5)"}));
  all.push_back(model("matmul", "5,6",
                      {"linear(%0, out=4)", "linear(%0, out=4)", "matmul(%1, %2, transpose_b=true)", "softmax(%3)",
                       "matmul(%4, %1)", "matmul(%5, %2, transpose_a=true)",
                       "matmul(%6, %1, transpose_a=true, transpose_b=true)", "flatten(%7)", "linear(%8, out=4)"}));
  all.push_back(model("attention", "4,6",
                      {"linear(%0, out=6)", "linear(%0, out=6)", "linear(%0, out=6)", "reshape(%1, shape=[4,2,3])",
                       "reshape(%2, shape=[4,2,3])", "reshape(%3, shape=[4,2,3])", "transpose(%4, axes=[0,2,1,3])",
                       "transpose(%5, axes=[0,2,1,3])", "transpose(%6, axes=[0,2,3,1])",
                       "matmul(%7, %8, "
                       "transpose_b=true)",
                       "softmax(%10, axis=3)", "matmul(%11, %9, transpose_b=true)", "transpose(%12, axes=[0,2,1,3])",
                       "reshape(%13, shape=[4,6])", "linear(%14, out=3)", "flatten(%15)", "linear(%16, out=4)"}));
  all.push_back(with_loss(model("focal", "6", {"linear(%0, out=7)", "tanh(%1)", "linear(%2, out=3)"}), "focal"));
  for (const char* loss : {"mse", "mae", "huber", "bce"}) {
    all.push_back(with_loss(model(loss, "6", {"linear(%0, out=7)", "tanh(%1)", "linear(%2, out=3)"}), loss));
  }
  all.push_back(
      with_loss(model("mse_image", "2,4,3",
                      {"conv2d(%0, out=3, kernel=[3], padding=[1])", "silu(%1)", "conv2d(%2, out=2, kernel=[1])"}),
                "mse"));
}

void add_conv(std::vector<TestModel>& all) {
  const auto conv = [&all](std::string name, const std::string& first, const std::string& second) {
    all.push_back(model(
        std::move(name), "3,7,6",
        {"conv2d(%0, out=4, kernel=[3], padding=[1])", "relu(%1)", first, second, "flatten(%4)", "linear(%5, out=4)"}));
  };
  conv("conv", "conv2d(%2, out=5, kernel=[3], padding=[1])", "relu(%3)");
  conv("conv_1x1", "conv2d(%2, out=6, kernel=[1], bias=false)", "tanh(%3)");
  conv("conv_strided", "conv2d(%2, out=3, kernel=[3,2], stride=[2,1], padding=[1,0])", "relu(%3)");
  conv("conv_dilated", "conv2d(%2, out=3, kernel=[2,3], dilation=[3,2], padding=[1,2])", "gelu(%3)");
  conv("conv_grouped", "conv2d(%2, out=6, kernel=[3], padding=[1], groups=2)", "relu(%3)");
  conv("conv_large", "conv2d(%2, out=2, kernel=[5], stride=[2], padding=[2], bias=false)", "identity(%3)");
  conv("depthwise", "depthwise_conv2d(%2, kernel=[3], padding=[1], multiplier=2)", "relu(%3)");
  conv("depthwise_strided", "depthwise_conv2d(%2, kernel=[3], stride=[2], bias=false)", "relu(%3)");
  conv("separable", "separable_conv2d(%2, out=5, kernel=[3], padding=[1])", "relu(%3)");
  conv("separable_plain", "separable_conv2d(%2, out=5, kernel=[3], stride=[2], bias=false)", "tanh(%3)");
  conv("conv_uneven", "conv2d(%2, out=3, kernel=[3,2], stride=[2,1], padding=[0,1,1,0])", "relu(%3)");
  conv("conv_1x1_uneven", "conv2d(%2, out=3, kernel=[1], padding=[0,1,0,2])", "tanh(%3)");
  conv("depthwise_uneven", "depthwise_conv2d(%2, kernel=[2], padding=[0,1,0,1])", "tanh(%3)");
  conv("conv_transpose", "conv_transpose2d(%2, out=3)", "relu(%3)");
  conv("conv_transpose_strided",
       "conv_transpose2d(%2, out=6, kernel=[4,3], stride=[2,3], padding=[1,1,0,2], output_padding=[1,2], groups=2)",
       "tanh(%3)");
  conv("conv_transpose_dilated", "conv_transpose2d(%2, out=3, kernel=[2], dilation=[3,2], bias=false)", "tanh(%3)");
  conv("conv_transpose_1x1", "conv_transpose2d(%2, out=5, kernel=[1])", "tanh(%3)");
  conv("conv_transpose_depthwise", "conv_transpose2d(%2, out=4, groups=4, stride=[2], padding=[1])", "tanh(%3)");
  conv("pad", "pad(%2, pads=[1,0,2,3])", "conv2d(%3, out=3, kernel=[3])");
}

void add_norms(std::vector<TestModel>& all) {
  for (const std::string affine : {"", ", affine=false"}) {
    const std::string suffix = affine.empty() ? "" : "_plain";
    const auto image = [&](const std::string& name, const std::string& norm) {
      all.push_back(model(name + suffix, "2,4,3",
                          {"conv2d(%0, out=6, kernel=[3], padding=[1])", norm + affine + ")", "relu(%2)", "flatten(%3)",
                           "linear(%4, out=4)"}));
    };
    image("batch_norm_image", "batch_norm(%1, momentum=0.2");
    image("layer_norm_image", "layer_norm(%1, axes=3");
    image("group_norm_image", "group_norm(%1, groups=3");
    const auto vector = [&](const std::string& name, const std::string& norm) {
      all.push_back(
          model(name + suffix, "6", {"linear(%0, out=8)", norm + affine + ")", "tanh(%2)", "linear(%3, out=4)"}));
    };
    vector("batch_norm", "batch_norm(%1, eps=0.001");
    vector("layer_norm", "layer_norm(%1");
    vector("group_norm", "group_norm(%1, groups=2");
    for (const std::string axes : {"1", "2"}) {
      all.push_back(model(
          "layer_norm_rank_3_" + axes + suffix, "3,5",
          {"linear(%0, out=4)", "layer_norm(%1, axes=" + axes + affine + ")", "flatten(%2)", "linear(%3, out=4)"}));
    }
  }
}

void add_pools(std::vector<TestModel>& all) {
  const auto pool = [&all](std::string name, std::vector<std::string> lines) {
    lines.insert(lines.begin(), "conv2d(%0, out=4, kernel=[3], padding=[1])");
    const std::string last = std::to_string(lines.size());
    lines.push_back("flatten(%" + last + ")");
    lines.push_back("linear(%" + std::to_string(lines.size()) + ", out=4)");
    all.push_back(model(std::move(name), "2,7,6", std::move(lines)));
  };
  pool("max_pool", {"max_pool2d(%1, kernel=[2])"});
  pool("max_pool_overlapping", {"tanh(%1)", "max_pool2d(%2, kernel=[3,2], stride=[2,1], padding=[1,1])"});
  pool("relu_max_pool", {"relu(%1)", "max_pool2d(%2, kernel=[2])"});
  pool("relu_max_pool_overlapping", {"relu(%1)", "max_pool2d(%2, kernel=[3], stride=[1], padding=[1])"});
  pool("relu_used_twice", {"relu(%1)", "max_pool2d(%2, kernel=[3], stride=[1], padding=[1])", "add(%2, %3)"});
  pool("avg_pool", {"avg_pool2d(%1, kernel=[2])"});
  pool("avg_pool_padded", {"avg_pool2d(%1, kernel=[3,2], stride=[2,1], padding=[1,1])"});
  pool("avg_pool_valid", {"avg_pool2d(%1, kernel=[3], stride=[2], padding=[1], count_include_pad=false)"});
  pool("max_pool_uneven", {"max_pool2d(%1, kernel=[3,2], stride=[2], padding=[0,1,1,0])"});
  pool("max_pool_ceil", {"relu(%1)", "max_pool2d(%2, kernel=[3], stride=[2,3], padding=[1], ceil_mode=true)"});
  pool("avg_pool_ceil", {"avg_pool2d(%1, kernel=[3,2], stride=[3,2], padding=[1], ceil_mode=true)"});
  pool("avg_pool_ceil_valid", {"avg_pool2d(%1, kernel=[2,3], stride=[3], padding=[0,1,1,0], ceil_mode=true, "
                               "count_include_pad=false)"});
  pool("global_max_pool", {"global_max_pool(%1)"});
  pool("resize_nearest", {"resize(%1, out=[3,9])"});
  pool("resize_bilinear", {"resize(%1, out=[9,4], mode=\"bilinear\")"});
  pool("resize_to_one", {"resize(%1, out=[1,5], mode=\"bilinear\")"});
  pool("upsample_nearest", {"upsample(%1, factor=[2])"});
  pool("upsample_bilinear", {"upsample(%1, factor=[2,3], mode=\"bilinear\")"});
  pool("channel_shuffle", {"channel_shuffle(%1, groups=2)", "conv2d(%2, out=3, kernel=[1])"});
  pool("lrn", {"lrn(%1, size=3, alpha=0.5)"});
  pool("lrn_strong", {"lrn(%1, size=5, alpha=2, beta=0.6, bias=1.5)"});
  pool("lrn_wide", {"lrn(%1, size=9, alpha=3)"});
  pool("squeeze_and_excite", {"global_avg_pool(%1)", "linear(%2, out=4)", "hard_sigmoid(%3)", "scale(%1, %4)"});
  for (const std::string run : {"axis=1, start=1, end=3", "axis=2, start=-3", "axis=3, end=-2"}) {
    pool("slice_" + run, {"slice(%1, " + run + ")"});
  }
  pool("adaptive_avg_pool", {"adaptive_avg_pool2d(%1, out=[3,4])"});
  all.push_back(model("global_avg_pool", "2,4,3",
                      {"conv2d(%0, out=6, kernel=[3])", "tanh(%1)", "global_avg_pool(%2)", "linear(%3, out=4)"}));
}

void add_windows_of_sequences(std::vector<TestModel>& all) {
  const auto sequence = [&all](std::string name, const std::string& call) {
    all.push_back(model(std::move(name), "4,9",
                        {"conv1d(%0, out=6, padding=[1])", "tanh(%1)", call, "flatten(%3)", "linear(%4, out=4)"}));
  };
  sequence("conv1d", "conv1d(%2, out=5)");
  sequence("conv1d_strided", "conv1d(%2, out=4, kernel=4, stride=2, padding=[2,1], groups=2, bias=false)");
  sequence("conv1d_dilated", "conv1d(%2, out=3, kernel=2, dilation=3)");
  sequence("conv1d_1", "conv1d(%2, out=3, kernel=1)");
  sequence("max_pool1d", "max_pool1d(%2)");
  sequence("max_pool1d_ceil", "max_pool1d(%2, kernel=3, stride=2, padding=[1,0], ceil_mode=true)");
  sequence("avg_pool1d", "avg_pool1d(%2, kernel=3, stride=2, padding=[1])");
  sequence("avg_pool1d_ceil", "avg_pool1d(%2, kernel=2, stride=2, ceil_mode=true, count_include_pad=false)");
  all.push_back(model("global_avg_pool_rank_3", "4,9",
                      {"conv1d(%0, out=6)", "tanh(%1)", "global_avg_pool(%2)", "linear(%3, out=4)"}));
}

void add_shapes(std::vector<TestModel>& all) {
  all.push_back(model("dropout", "6", {"linear(%0, out=8)", "dropout(%1, p=0.4)", "relu(%2)", "linear(%3, out=4)"}));
  all.push_back(model(
      "dropout_image", "2,4,3",
      {"conv2d(%0, out=4, kernel=[1])", "dropout(%1, p=0.3)", "dropout(%2)", "flatten(%3)", "linear(%4, out=4)"}));
  for (const std::string axis : {"1", "2", "3"}) {
    all.push_back(model("concat_" + axis, "2,4,3",
                        {"conv2d(%0, out=3, kernel=[1])", "tanh(%1)", "concat(%1, %2, %1, axis=" + axis + ")",
                         "flatten(%3)", "linear(%4, out=4)"}));
  }
  all.push_back(model("concat_vectors", "6",
                      {"linear(%0, out=3)", "linear(%0, out=4)", "concat(%1, %0, %2)", "linear(%3, out=4)"}));
  all.push_back(model("reshape_to_image", "12",
                      {"linear(%0, out=24)", "reshape(%1, shape=[2,3,4])", "conv2d(%2, out=3, kernel=[2])", "relu(%3)",
                       "reshape(%4, shape=[2,3,3])", "conv2d(%5, out=2, kernel=[1])", "reshape(%6, shape=[2,9])",
                       "linear(%7, out=3)", "flatten(%8)"}));
  all.push_back(model("transpose", "2,4,3",
                      {"conv2d(%0, out=5, kernel=[1])", "transpose(%1, axes=[0,3,1,2])",
                       "conv2d(%2, out=2, kernel=[2])", "flatten(%3)", "linear(%4, out=4)"}));
  all.push_back(model(
      "transpose_rank_3", "4,3",
      {"linear(%0, out=5)", "transpose(%1, axes=[0,2,1])", "linear(%2, out=2)", "flatten(%3)", "linear(%4, out=4)"}));
  for (const std::string axes : {"1", "2", "3", "1,2", "1,3", "2,3", "1,2,3"}) {
    for (const std::string keep : {"", ", keep=true"}) {
      if (axes == "1,2,3" && keep.empty()) continue;
      all.push_back(model("mean_" + axes + keep, "2,4,3",
                          {"conv2d(%0, out=5, kernel=[1])", "tanh(%1)", "mean(%2, axes=[" + axes + "]" + keep + ")",
                           "flatten(%3)", "linear(%4, out=4)"}));
    }
  }
  all.push_back(model("mean_rank_5", "24",
                      {"linear(%0, out=24)", "reshape(%1, shape=[2,3,1,4])", "mean(%2, axes=[2])",
                       "conv2d(%3, out=3, kernel=[1])", "flatten(%4)", "linear(%5, out=4)"}));
}

// Input: token numbers [length] below 11. Output %1: vectors of 6 features.
TestModel token_model(std::string name, std::vector<std::string> lines) {
  lines.insert(lines.begin(), "embedding(%0, vocab=11, dim=6)");
  const std::string last = std::to_string(lines.size());
  lines.push_back("flatten(%" + last + ")");
  lines.push_back("linear(%" + std::to_string(lines.size()) + ", out=4)");
  return model(std::move(name), "5", std::move(lines), "index");
}

void add_sequences(std::vector<TestModel>& all) {
  all.push_back(token_model("embedding", {"tanh(%1)"}));
  for (const std::string mode : {"learned", "sinusoidal"}) {
    all.push_back(token_model("positional_" + mode, {"positional_embedding(%1, mode=\"" + mode + "\")", "gelu(%2)"}));
  }
  all.push_back(model("scale_by", "6", {"linear(%0, out=7)", "scale_by(%1, by=-1.5)", "linear(%2, out=5)"}));
  all.push_back(
      model("shift_by", "6", {"linear(%0, out=7)", "shift_by(%1, by=-1.5)", "tanh(%2)", "linear(%3, out=5)"}));
  for (const std::string op : {"exp", "log", "sqrt"}) {
    all.push_back(model(op, "6", {"linear(%0, out=7)", "sigmoid(%1)", op + "(%2)", "linear(%3, out=5)"}));
  }
  all.push_back(model("causal_mask", "4,6",
                      {"linear(%0, out=4)", "causal_mask(%1)", "softmax(%2)", "flatten(%3)", "linear(%4, out=4)"}));
  all.push_back(
      model("causal_mask_image", "2,5,5",
            {"conv2d(%0, out=3, kernel=[1])", "causal_mask(%1)", "softmax(%2)", "flatten(%3)", "linear(%4, out=4)"}));
  // A prediction at every position, for more positions than are computed at a time.
  all.push_back(model("positions", "3,4", {"linear(%0, out=7)", "tanh(%1)", "linear(%2, out=3)"}));
  all.push_back(
      with_loss(model("positions_focal", "3,4", {"linear(%0, out=7)", "tanh(%1)", "linear(%2, out=3)"}), "focal"));
  all.push_back(model("positions_130", "130,3", {"linear(%0, out=4)"}));
  all.push_back(model("positions_causal", "5",
                      {"embedding(%0, vocab=11, dim=6)", "positional_embedding(%1)",
                       "attention(%2, heads=2, causal=true)", "linear(%3, out=11)"},
                      "index"));
  for (const std::string options : {"heads=1", "heads=3, causal=true", "heads=2, dropout=0.3"}) {
    all.push_back(token_model("attention_" + options, {"positional_embedding(%1)", "attention(%2, " + options + ")"}));
  }
}

}  // namespace

std::vector<TestModel> operator_models() {
  std::vector<TestModel> all;
  add_dense(all);
  add_conv(all);
  add_norms(all);
  add_pools(all);
  add_windows_of_sequences(all);
  add_shapes(all);
  add_sequences(all);
  return all;
}

TestModel model_named(std::string_view name) {
  for (TestModel& m : operator_models()) {
    if (m.name == name) return m;
  }
  LANISTA_CHECK(false, "no test model " + std::string(name));
  return {};
}

TestModel small_mlp() { return model("small_mlp", "64", {"linear(%0, out=64)", "relu(%1)", "linear(%2, out=10)"}); }

TestModel small_cnn() {
  return model("small_cnn", "1,8,8",
               {"conv2d(%0, out=16, kernel=[3], padding=[1])", "relu(%1)", "max_pool2d(%2, kernel=[2])",
                "conv2d(%3, out=32, kernel=[3], padding=[1])", "relu(%4)", "max_pool2d(%5, kernel=[2])", "flatten(%6)",
                "linear(%7, out=10)"});
}

LoweringRules shipped_lowering_rules() {
  static const graph::OpTable kOps = autodiff::training_ops(graph::builtin_ops());
  static const std::vector<Fusion> kFusions = fusions_of(kernel_table<float>());
  return {kOps, kFusions};
}

Derived derive(const TestModel& m, const std::string& optimizer) {
  const graph::OpTable& ops = shipped_lowering_rules().ops;
  auto parsed = graph::parse(m.text);
  LANISTA_CHECK(parsed.ok(), m.name + ": " + (parsed ? "" : parsed.error().text()));
  auto train = autodiff::derive_training_step(*parsed, {.loss = m.loss, .optimizer = optimizer}, ops);
  LANISTA_CHECK(train.ok(), m.name + ": " + (train ? "" : train.error().text()));
  auto infer = autodiff::derive_inference_step(*parsed, ops);
  LANISTA_CHECK(infer.ok(), m.name + ": " + (infer ? "" : infer.error().text()));
  return {*std::move(parsed), *std::move(train), *std::move(infer)};
}

Program compile_empty(const Derived& derived, const ProgramOptions& options) {
  auto program = Program::compile(derived.train, derived.infer, options);
  LANISTA_CHECK(program.ok(), program ? "" : program.error().text());
  return *std::move(program);
}

Program compile(const Derived& derived, const ProgramOptions& options) {
  Program program = compile_empty(derived, options);
  for (std::int64_t lane = 0; lane < program.lanes(); ++lane) {
    const auto begun = program.begin(lane, 0);
    LANISTA_CHECK(begun.ok(), begun ? "" : begun.error().text());
  }
  return program;
}

OwnedBatch random_batch(const Derived& derived, std::int64_t size, std::uint64_t seed) {
  Rng rng(seed);
  OwnedBatch batch;
  batch.size = size;
  const auto fill = [&](std::vector<float>& values, const graph::Shape& shape) {
    values.resize(static_cast<std::size_t>(shape.elements(size)));
    for (float& value : values) value = static_cast<float>(rng.normal());
  };
  const graph::ValueType& input = derived.train.types.at(derived.train.input);
  fill(batch.features, input.shape);
  if (input.dtype == graph::DType::kIndex) {
    // One number beyond the vocabularies of the models, to test unknown tokens.
    for (float& token : batch.features) token = static_cast<float>(rng.below(12));
  }
  const graph::Shape& prediction = derived.train.types.at(derived.train.prediction).shape;
  const autodiff::Loss& loss = *autodiff::find_loss(derived.train.options.loss);
  if (!loss.of_classes()) {
    fill(batch.targets, prediction);
    if (loss.kind == autodiff::TargetKind::kMultilabel) {
      for (float& value : batch.targets) value = value > 0 ? 1.0F : 0.0F;
    }
  } else {
    const std::int64_t classes = prediction.dims.back();
    for (std::int64_t i = 0; i < prediction.elements(size) / classes; ++i) {
      batch.labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
    }
  }
  for (std::int64_t i = 0; i < size; ++i) batch.sample_index.push_back(static_cast<std::int64_t>(rng.below(1000)));
  return batch;
}

double step_once(Program& program, const OwnedBatch& batch, const LaneHyper& hyper) {
  const Batch view = batch.view();
  const std::uint8_t active = 1;
  double loss = 0;
  program.train_step({&view, 1}, {&hyper, 1}, {&active, 1}, {&loss, 1});
  return loss;
}

const Tensor& tensor_named(const std::vector<Tensor>& state, std::string_view name) {
  for (const Tensor& tensor : state) {
    if (tensor.name == name) return tensor;
  }
  LANISTA_CHECK(false, "no tensor " + std::string(name));
  return state.front();
}

}  // namespace lanista::program::testing
