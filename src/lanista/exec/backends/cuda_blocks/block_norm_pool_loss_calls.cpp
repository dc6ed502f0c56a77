// Norms, pools, moves, embeddings and losses as block calls.
#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_program.h"
#include "lanista/exec/program/mean_plan.h"
#include "lanista/model/ops/op_rules.h"
#include "lanista/model/ops/window.h"

namespace lanista::device {
namespace {

using Binding = program::Binding<float>;

float real(const Binding& b, const char* name) { return static_cast<float>(b.args().real(name)); }

void batch_norm_train(const Binding& b, Emitter& e) {
  const bool affine = b.args().flag("affine");
  const std::size_t next = affine ? 3 : 1;
  const std::int64_t c = b.x_shape(0).dims[1], rows = b.x_shape(0).elements_per_sample() / c;
  const auto momentum = static_cast<std::int64_t>(b.lane_attr("momentum").index);
  EmittedCall& call =
      e.add(block::kBatchNorm, {rows, c, momentum},
            {e.read(b, 0), e.read(b, 1, affine), e.read(b, 2, affine), e.read(b, next), e.read(b, next + 1),
             e.write(b, 0), e.write(b, 1), e.write(b, 2), e.write(b, 3), e.write(b, 4), e.scratch(9 * c)});
  call.call.x[0] = real(b, "eps");
  call.has_phases = true;
}

void batch_norm_grad(const Binding& b, Emitter& e) {
  const std::int64_t c = b.x_shape(0).dims[1], rows = b.x_shape(0).elements_per_sample() / c;
  e.add(block::kBatchNormGrad, {rows, c},
        {e.read(b, 0), e.read(b, 1), e.read(b, 2), e.read(b, 3), e.read(b, 4, b.in.size() > 4), e.write(b, 0),
         e.write(b, 1), e.write(b, 2), e.scratch(11 * c)})
      .has_phases = true;
}

// Rows per sample and elements per row: a row is the last `axes` dimensions.
std::pair<std::int64_t, std::int64_t> layer_norm_size(const Binding& b) {
  const graph::Shape& x = b.x_shape(0);
  std::int64_t len = 1;
  auto dim = x.dims.rbegin();
  for (std::int64_t axes = b.args().integer("axes"); axes > 0; --axes, ++dim) len *= *dim;
  return {x.elements_per_sample() / len, len};
}

void layer_norm_train(const Binding& b, Emitter& e) {
  const auto [rows, len] = layer_norm_size(b);
  const bool affine = b.args().flag("affine");
  EmittedCall& call = e.add(block::kLayerNorm, {rows, len},
                            {e.read(b, 0), e.read(b, 1, affine), e.read(b, 2, affine), e.write(b, 0), e.write(b, 1),
                             e.write(b, 2), e.scratch(16 * rows * e.max_batch())});
  call.call.x[0] = real(b, "eps");
  call.has_phases = true;
}

void layer_norm_grad(const Binding& b, Emitter& e) {
  const auto [rows, len] = layer_norm_size(b);
  e.add(block::kLayerNormGrad, {rows, len},
        {e.read(b, 0), e.read(b, 1), e.read(b, 2), e.read(b, 3), e.read(b, 4, b.in.size() > 4), e.write(b, 0),
         e.write(b, 1), e.write(b, 2), e.scratch(18 * rows * e.max_batch())})
      .has_phases = true;
}

// `x` is the larger image, `y` the pooled one.
std::vector<std::int64_t> pool_sizes(const Binding& b, const graph::Shape& x, const graph::Shape& y,
                                     bool counts_padding = false) {
  const graph::OpArgs args = b.args();
  const auto kernel = args.pair("kernel");
  const auto stride = graph::ops::pool_stride(args);
  const graph::ops::Pads pads = graph::ops::pads_of(args);
  return {x.dims[2],    x.dims[3],     x.dims[1], y.dims[2], y.dims[3],   kernel.first, kernel.second,
          stride.first, stride.second, pads.top,  pads.left, pads.bottom, pads.right,   counts_padding ? 1 : 0};
}

template <bool kRelu>
void max_pool(const Binding& b, Emitter& e) {
  std::vector<std::int64_t> sizes = pool_sizes(b, b.x_shape(0), b.y_shape());
  sizes.push_back(kRelu ? 1 : 0);
  const bool indexed = b.out.size() > 1;
  e.add(block::kMaxPool, sizes, {e.read(b, 0), e.write(b, 0), indexed ? e.write(b, 1) : OperandRange{}});
}

void max_pool_grad(const Binding& b, Emitter& e) {
  e.add(block::kMaxPoolGrad, pool_sizes(b, b.y_shape(), b.x_shape(1)), {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
}

void avg_pool(const Binding& b, Emitter& e) {
  e.add(block::kAvgPool, pool_sizes(b, b.x_shape(0), b.y_shape(), b.args().flag("count_include_pad")),
        {e.read(b, 0), e.write(b, 0)});
}

void avg_pool_grad(const Binding& b, Emitter& e) {
  const std::vector<std::int64_t> sizes = pool_sizes(b, b.y_shape(), b.x_shape(0), b.args().flag("count_include_pad"));
  e.add(block::kAvgPoolGrad, sizes,
        {e.read(b, 0), e.write(b, 0), e.scratch(b.x_shape(0).elements_per_sample() * e.max_batch())})
      .has_phases = true;
}

void add_reordered(Emitter& e, const program::Reorder& order, const OperandRange& x, const OperandRange& y) {
  const std::int64_t count = order.elements(1);
  if (order.is_identity()) {
    e.add(block::kCopy, {order.batched() ? 0 : count, order.batched() ? count : 0}, {x, y});
    return;
  }
  std::vector<std::int64_t> sizes{order.batched() ? 1 : 0, count, std::ssize(order.sizes())};
  for (std::size_t axis = order.sizes().size(); axis-- > 0;) {
    sizes.push_back(order.sizes()[axis]);
    sizes.push_back(order.strides()[axis]);
  }
  e.add(block::kPermute, sizes, {x, y});
}

OperandRange to_read(OperandRange operand) {
  operand.written = false;
  return operand;
}

void reshape(const Binding& b, Emitter& e) {
  const program::Reorder first = program::Reorder::from_layout(b.x_shape(0), program::value_layout(b.x_shape(0)));
  const program::Reorder second = program::Reorder::to_layout(b.y_shape(), program::value_layout(b.y_shape()));
  OperandRange from = e.read(b, 0);
  if (!first.is_identity() && !second.is_identity()) {
    const OperandRange between = e.scratch(first.elements(e.max_batch()));
    add_reordered(e, first, from, between);
    from = to_read(between);
  }
  add_reordered(e, second.is_identity() ? first : second, from, e.write(b, 0));
}

void transpose(const Binding& b, Emitter& e) {
  const graph::Shape& x = b.x_shape(0);
  const std::vector<std::int64_t>& axes = b.args().list("axes");
  std::vector<std::size_t> order;
  for (const std::size_t axis : program::memory_axes(program::value_layout(b.y_shape()), axes.size())) {
    order.push_back(static_cast<std::size_t>(axes[axis]));
  }
  add_reordered(e, program::Reorder(x.dims, program::memory_axes(program::value_layout(x), x.rank()), order),
                e.read(b, 0), e.write(b, 0));
}

program::AxisView view_along_axis(const Binding& b, const graph::Shape& shape) {
  const std::int64_t axis = b.args().integer("axis"), rank = static_cast<std::int64_t>(shape.rank());
  return program::axis_view(shape, program::value_layout(shape),
                            static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
}

void concat(const Binding& b, Emitter& e) {
  const program::AxisView view = view_along_axis(b, b.y_shape());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < b.in.size(); ++i) {
    const std::int64_t len = view_along_axis(b, b.x_shape(i)).len;
    e.add(block::kPasteSlice, {view.outer, view.len, view.inner, begin, len, 0}, {e.read(b, i), e.write(b, 0)});
    begin += len;
  }
}

void slice(const Binding& b, Emitter& e) {
  const program::AxisView view = view_along_axis(b, b.x_shape(0));
  const graph::ops::SliceRange range = *graph::ops::slice_range(b.args());
  e.add(block::kCopySlice, {view.outer, view.len, view.inner, range.begin, range.len}, {e.read(b, 0), e.write(b, 0)});
}

void slice_grad(const Binding& b, Emitter& e) {
  const program::AxisView view = view_along_axis(b, b.y_shape());
  e.add(block::kPasteSlice,
        {view.outer, view.len, view.inner, b.args().integer("start"), view_along_axis(b, b.x_shape(0)).len, 1},
        {e.read(b, 0), e.write(b, 0)});
}

void mean_over(const Binding& b, Emitter& e, const std::vector<std::int64_t>& axes) {
  const program::MeanPlan plan(b.x_shape(0), axes, b.y_shape());
  OperandRange from = e.read(b, 0);
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const program::AxisView& stage = plan.stages()[i];
    const bool final_reorder = i + 1 == plan.stages().size() && plan.final_reorder().is_identity();
    const OperandRange to = final_reorder ? e.write(b, 0) : e.scratch(stage.outer * stage.inner * e.max_batch());
    e.add(block::kMeanAxis, {stage.outer, stage.len, stage.inner}, {from, to});
    from = to_read(to);
  }
  if (plan.stages().empty() || !plan.final_reorder().is_identity())
    add_reordered(e, plan.final_reorder(), from, e.write(b, 0));
}

void mean(const Binding& b, Emitter& e) { mean_over(b, e, b.args().list("axes")); }

void global_avg_pool(const Binding& b, Emitter& e) {
  mean_over(b, e, b.x_shape(0).rank() == 4 ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{2});
}

void mean_grad(const Binding& b, Emitter& e) {
  const program::MeanPlan plan(b.y_shape(), b.args().list("axes"), b.x_shape(0));
  OperandRange from = e.read(b, 0);
  if (plan.stages().empty() || !plan.initial_reorder().is_identity()) {
    const OperandRange to =
        plan.stages().empty() ? e.write(b, 0) : e.scratch(plan.initial_reorder().elements(e.max_batch()));
    add_reordered(e, plan.initial_reorder(), from, to);
    from = to_read(to);
  }
  for (std::size_t i = plan.stages().size(); i-- > 0;) {
    const program::AxisView& stage = plan.stages()[i];
    const OperandRange to = i == 0 ? e.write(b, 0) : e.scratch(stage.outer * stage.len * stage.inner * e.max_batch());
    e.add(block::kMeanAxisGrad, {stage.outer, stage.len, stage.inner}, {from, to});
    from = to_read(to);
  }
}

void embedding(const Binding& b, Emitter& e) {
  e.add(block::kEmbedding, {b.x_shape(0).elements_per_sample(), b.x_shape(1).dims[0], b.x_shape(1).dims[1]},
        {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
}

void embedding_grad(const Binding& b, Emitter& e) {
  const std::int64_t tokens = b.x_shape(0).elements_per_sample(), vocab = b.y_shape().dims[0];
  e.add(block::kEmbeddingGrad, {tokens, vocab, b.y_shape().dims[1]},
        {e.read(b, 0), e.read(b, 1), e.write(b, 0), e.scratch(tokens * e.max_batch() + vocab)})
      .has_phases = true;
}

// Classes, and positions per sample.
std::vector<std::int64_t> logits_size(const Binding& b) {
  const graph::Shape& logits = b.x_shape(0);
  return {logits.dims.back(), logits.elements_per_sample() / logits.dims.back()};
}

void cross_entropy(const Binding& b, Emitter& e) {
  const std::vector<std::int64_t> size = logits_size(b);
  const bool many = size[1] > 1;
  EmittedCall& call = e.add(block::kCrossEntropy, size,
                            {e.read(b, 0), e.read(b, 1), e.write(b, 0), e.write(b, 1),
                             many ? e.scratch(size[1] * e.max_batch()) : OperandRange{}});
  call.has_phases = many;
}

void cross_entropy_grad(const Binding& b, Emitter& e) {
  e.add(block::kCrossEntropyGrad, logits_size(b), {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
}

// A loss of values or its gradient, with the number of its ValueLoss.
Emit value_loss(block::Op op, std::int64_t which) {
  return [op, which](const Binding& b, Emitter& e) {
    e.add(op, {b.x_shape(0).elements_per_sample(), which}, {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
  };
}

}  // namespace

void add_other_calls(EmitTable& table) {
  table["batch_norm_train"] = batch_norm_train;
  table["batch_norm_grad"] = batch_norm_grad;
  table["layer_norm_train"] = layer_norm_train;
  table["layer_norm_grad"] = layer_norm_grad;
  table["max_pool2d"] = max_pool<false>;
  table["max_pool2d_train"] = max_pool<false>;
  table["relu_max_pool2d"] = max_pool<true>;
  table["relu_max_pool2d_train"] = max_pool<true>;
  table["max_pool2d_grad"] = max_pool_grad;
  table["avg_pool2d"] = avg_pool;
  table["avg_pool2d_grad"] = avg_pool_grad;
  table["flatten"] = reshape;
  table["reshape"] = reshape;
  table["transpose"] = transpose;
  table["concat"] = concat;
  table["slice"] = slice;
  table["slice_grad"] = slice_grad;
  table["mean"] = mean;
  table["mean_grad"] = mean_grad;
  table["global_avg_pool"] = global_avg_pool;
  table["embedding"] = embedding;
  table["embedding_grad"] = embedding_grad;
  table["cross_entropy"] = cross_entropy;
  table["cross_entropy_grad"] = cross_entropy_grad;
  for (std::int64_t which = 0; which < std::ssize(block::kValueLossNames); ++which) {
    const std::string name = block::kValueLossNames[which];
    table[name] = value_loss(block::kValueLoss, which);
    table[name + "_grad"] = value_loss(block::kValueLossGrad, which);
  }
}

}  // namespace lanista::device
