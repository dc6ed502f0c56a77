#include <algorithm>
#include <utility>

#include "lanista/model/ops/op_rules.h"
#include "lanista/model/ops/window.h"

namespace lanista::graph::ops {
namespace {

// A byte stores the position of the largest value of a window: 0 to 254, and 255 for none.
constexpr std::int64_t kMaxPoolCells = 255;

Result<PoolDims> conv_dims_of(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  return pool_dims(args, without_batch(shape_of(args)));
}

Cost pool_cost(const OpArgs& args) {
  const PoolDims dims = *conv_dims_of(args);
  return cost_of(args, static_cast<double>(dims.output().elements_per_sample()) * static_cast<double>(dims.kh) *
                           static_cast<double>(dims.kw));
}

/// Adds the gradient rule of a pooling, and the step operator "<name>_grad" with these attributes and `input_size`.
void add_pool_gradient(OpDef& def, std::string help, std::vector<AttrSpec> attrs,
                       std::function<Result<std::vector<ValueType>>(const OpArgs&)> infer, bool reads_index = false) {
  OpDef grad = named_op(def.name + "_grad", std::move(help), reads_index ? 2 : 1);
  grad.level = OpLevel::kStep;
  std::vector<std::string> names;
  for (const AttrSpec& attr : attrs) names.push_back(attr.name);
  def.gradient = sized_gradient(grad.name, std::move(names), "input_size", reads_index);
  grad.attrs = std::move(attrs);
  grad.attrs.push_back(input_size());
  grad.infer = std::move(infer);
  def.step_ops.push_back(std::move(grad));
}

Result<std::vector<ValueType>> infer_max_pool_grad(const OpArgs& args) {
  LANISTA_ASSIGN(const PoolDims dims, pool_dims(args, args.list("input_size")));
  LANISTA_TRY(require_type(args, 0, {dims.output(), DType::kByte}, "the window index"));
  LANISTA_TRY(require_type(args, 1, {dims.output(), DType::kReal}, "dy"));
  return value(dims.input());
}

Result<std::vector<ValueType>> infer_avg_pool_grad(const OpArgs& args) {
  LANISTA_ASSIGN(const PoolDims dims, pool_dims(args, args.list("input_size")));
  LANISTA_TRY(require_type(args, 0, {dims.output(), DType::kReal}, "dy"));
  return value(dims.input());
}

OpDef max_pool_op() {
  OpDef def = named_op("max_pool2d", "The largest value of each window.");
  def.facts = {.units = UnitFlow::kChannels, .sign = SignRule::kAsInputs, .preserves_zero = true};
  def.family = OpFamily::kPool;
  def.size_flow = SizeFlow::kChannels;
  def.exports.onnx = "MaxPool";
  def.attrs = pool_attrs();
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(const PoolDims dims, conv_dims_of(args));
    if (dims.kw > kMaxPoolCells / dims.kh) {
      return shape_error("a max-pooling window has at most " + std::to_string(kMaxPoolCells) +
                         " cells, but the kernel is " + size_pair_text(dims.kh, dims.kw));
    }
    return value(dims.output());
  };
  def.cost = pool_cost;
  OpDef train = def;
  train.name += "_train";
  train.level = OpLevel::kStep;
  train.infer = [forward = def.infer](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(std::vector<ValueType> types, forward(args));
    types.push_back({types.front().shape, DType::kByte});
    return types;
  };
  def.train_form = train.name;
  def.step_ops.push_back(std::move(train));
  add_pool_gradient(def, "Sends dy to the winner of each window.", def.attrs, infer_max_pool_grad, true);
  return def;
}

OpDef avg_pool_op() {
  OpDef def = named_op("avg_pool2d", "The mean of each window.");
  def.facts = keeping(UnitFlow::kChannels);
  def.family = OpFamily::kPool;
  def.size_flow = SizeFlow::kChannels;
  def.exports.onnx = "AveragePool";
  def.attrs = pool_attrs();
  def.attrs.push_back(optional_flag("count_include_pad", true, "padding counts as zeros, not as absent"));
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(const PoolDims dims, conv_dims_of(args));
    return value(dims.output());
  };
  def.cost = pool_cost;
  add_pool_gradient(def, "Spreads dy over each window.", def.attrs, infer_avg_pool_grad);
  return def;
}

OpDef adaptive_avg_pool_op() {
  OpDef def = named_op("adaptive_avg_pool2d", "Means over as many windows as the result has cells.");
  def.facts = keeping(UnitFlow::kChannels);
  def.family = OpFamily::kPool;
  def.size_flow = SizeFlow::kChannels;
  def.attrs = {required_list("out", 1, AttrRole::kTunable, "height and width of the result, or one for both")};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_image(args));
    LANISTA_TRY(require_pair(args, "out"));
    const auto [h, w] = args.pair("out");
    return value(batched({shape_of(args).dims[1], h, w}));
  };
  def.cost = cost_of_sum;
  add_pool_gradient(def, "Spreads dy over each adaptive window.", {}, infer_of_input_size);
  return def;
}

Result<void> require_positions(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  const std::size_t rank = shape_of(args).rank();
  if (rank == 3 || rank == 4) return {};
  return shape_error("input 0 must be [N, C, L] or [N, C, H, W], but it is " + shape_text(args));
}

OpDef global_avg_pool_op() {
  OpDef def = named_op("global_avg_pool", "The mean of each channel: [N, C, L] or [N, C, H, W] to [N, C].");
  def.facts = keeping(UnitFlow::kChannels);
  def.size_flow = SizeFlow::kChannels;
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_positions(args));
    return value(batched({shape_of(args).dims[1]}));
  };
  def.cost = cost_of_sum;
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    const Shape& shape = shape_of(step.args());
    std::vector<std::int64_t> axes{2};
    if (shape.rank() == 4) axes.push_back(3);
    const Attrs attrs{{"axes", std::move(axes)}, {"shape", without_batch(shape)}};
    step.set_input_grad(0, step.emit("mean_grad", {step.grad()}, attrs));
  };
  return def;
}

// Reduces columns, then rows. A byte stores the position in each, so images up to 255 x 255 fit.
OpDef global_max_pool_op() {
  OpDef def = named_op("global_max_pool", "The largest value of each channel: [N, C, H, W] to [N, C].");
  def.facts = {.units = UnitFlow::kChannels, .sign = SignRule::kAsInputs, .preserves_zero = true};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_image(args));
    const auto& dims = shape_of(args).dims;
    if (std::max(dims[2], dims[3]) > kMaxPoolCells) {
      return shape_error("images are at most " + size_pair_text(kMaxPoolCells, kMaxPoolCells) + ", but input 0 is " +
                         shape_text(args));
    }
    return value(batched({dims[1]}));
  };
  def.cost = cost_of_sum;
  def.decompose = [](StepContext& step) {
    const std::vector<std::int64_t> dims = shape_of(step.args()).dims;
    const auto most = [&](Port x, std::int64_t rows, std::int64_t columns) {
      return step.emit("max_pool2d", {x}, {{"kernel", std::vector<std::int64_t>{rows, columns}}});
    };
    return step.emit("flatten", {most(most(step.input(0), dims[2], 1), 1, dims[3])});
  };
  return def;
}

}  // namespace

Result<void> add_pool_ops(OpTable& table) {
  const OpDef max_pool = max_pool_op(), avg_pool = avg_pool_op();
  return add_all(table, {max_pool, pool1d_op("max_pool1d", "The largest value of each window of sequences.", max_pool),
                         avg_pool, pool1d_op("avg_pool1d", "The mean of each window of sequences.", avg_pool),
                         adaptive_avg_pool_op(), global_avg_pool_op(), global_max_pool_op()});
}

}  // namespace lanista::graph::ops
