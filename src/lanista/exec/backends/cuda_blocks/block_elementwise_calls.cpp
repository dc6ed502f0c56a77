// Element-wise operators as block calls.
#include <iterator>

#include "lanista/exec/backends/cuda_blocks/block_program.h"

namespace lanista::device {
namespace {

using Binding = program::Binding<float>;

// Elements of the result: a fixed number, and a number per sample.
std::vector<std::int64_t> count_of(const Binding& b, std::int64_t which = 0) {
  const program::ElementCount count(b.y_shape());
  return {count.batched ? 0 : count.per_sample, count.batched ? count.per_sample : 0, which};
}

template <int kWhich>
void binary(const Binding& b, Emitter& e) {
  e.add(block::kBinary, count_of(b, kWhich), {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
}

void set_numbers(const Binding& b, std::initializer_list<const char*> names, EmittedCall& call) {
  std::size_t i = 0;
  for (const char* name : names) call.call.x[i++] = static_cast<float>(b.args().real(name));
}

template <int kWhich>
void numbered(const Binding& b, Emitter& e, std::initializer_list<const char*> names) {
  set_numbers(b, names, e.add(block::kParametricActivation, count_of(b, kWhich), {e.read(b, 0), e.write(b, 0)}));
}

template <int kWhich>
void numbered_grad(const Binding& b, Emitter& e, std::initializer_list<const char*> names) {
  set_numbers(
      b, names,
      e.add(block::kParametricActivationGrad, count_of(b, kWhich), {e.read(b, 0), e.read(b, 1), e.write(b, 0)}));
}

// A sum of many terms: ((x0 + x1) + x2) + …
void add(const Binding& b, Emitter& e) {
  if (b.in.size() == 1) return void(e.add(block::kCopy, count_of(b), {e.read(b, 0), e.write(b, 0)}));
  binary<block::kAdd>(b, e);
  for (std::size_t i = 2; i < b.in.size(); ++i) {
    OperandRange sum = e.write(b, 0);
    sum.written = false;
    e.add(block::kBinary, count_of(b, block::kAdd), {sum, e.read(b, i), e.write(b, 0)});
  }
}

void zero(const Binding& b, Emitter& e) { e.add(block::kZero, count_of(b), {e.write(b, 0)}); }

void negative(const Binding& b, Emitter& e) {
  e.add(block::kScale, count_of(b), {e.read(b, 0), e.write(b, 0)}).call.x[0] = -1.0F;
}

void scale_by(const Binding& b, Emitter& e) {
  set_numbers(b, {"by"}, e.add(block::kScale, count_of(b), {e.read(b, 0), e.write(b, 0)}));
}

// The table is added to every sample.
void positional_embedding(const Binding& b, Emitter& e) {
  e.add(block::kRowAdd, count_of(b, b.x_shape(0).elements_per_sample()), {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
}

std::vector<std::int64_t> axis_of(const program::AxisView& view) { return {view.outer, view.len, view.inner}; }

std::vector<std::int64_t> softmax_axis(const Binding& b) {
  const graph::Shape& shape = b.y_shape();
  const std::int64_t axis = b.args().integer("axis"), rank = static_cast<std::int64_t>(shape.rank());
  return axis_of(
      program::axis_view(shape, program::value_layout(shape), static_cast<std::size_t>(axis < 0 ? axis + rank : axis)));
}

// Contiguous rows are computed in phases, with partial sums in scratch.
OperandRange row_scratch(Emitter& e, const std::vector<std::int64_t>& axis, std::int64_t numbers) {
  return axis[2] == 1 ? e.scratch(numbers * axis[0] * e.max_batch()) : OperandRange{};
}

void softmax(const Binding& b, Emitter& e) {
  const std::vector<std::int64_t> axis = softmax_axis(b);
  e.add(block::kSoftmax, axis, {e.read(b, 0), e.write(b, 0), row_scratch(e, axis, 16)}).has_phases = axis[2] == 1;
}

void softmax_grad(const Binding& b, Emitter& e) {
  const std::vector<std::int64_t> axis = softmax_axis(b);
  e.add(block::kSoftmaxGrad, axis, {e.read(b, 0), e.read(b, 1), e.write(b, 0), row_scratch(e, axis, 8)}).has_phases =
      axis[2] == 1;
}

void dropout_train(const Binding& b, Emitter& e) {
  const auto number = static_cast<std::int64_t>(b.lane_attr("p").index);
  const auto node = static_cast<std::uint64_t>(b.args().integer("origin"));
  const auto word = [](std::uint64_t bits) { return std::int64_t{static_cast<std::int32_t>(bits)}; };
  e.add(block::kDropout,
        {program::ElementCount(b.y_shape()).per_sample, number, word(node & 0xFFFFFFFFU), word(node >> 32)},
        {e.read(b, 0), e.write(b, 0)});
}

}  // namespace

void add_elementwise_calls(EmitTable& table) {
  using B = const Binding&;
  for (std::int64_t which = 0; which < std::ssize(block::kActivationNames); ++which) {
    const std::string name = block::kActivationNames[which];
    table[name] = [which](B b, Emitter& e) {
      e.add(block::kActivation, count_of(b, which), {e.read(b, 0), e.write(b, 0)});
    };
    table[name + "_grad"] = [which](B b, Emitter& e) {
      e.add(block::kActivationGrad, count_of(b, which), {e.read(b, 0), e.read(b, 1), e.write(b, 0)});
    };
  }
  table["leaky_relu"] = [](B b, Emitter& e) { numbered<block::kLeakyRelu>(b, e, {"alpha"}); };
  table["leaky_relu_grad"] = [](B b, Emitter& e) { numbered_grad<block::kLeakyRelu>(b, e, {"alpha"}); };
  table["elu"] = [](B b, Emitter& e) { numbered<block::kElu>(b, e, {"alpha"}); };
  table["elu_grad"] = [](B b, Emitter& e) { numbered_grad<block::kElu>(b, e, {"alpha"}); };
  table["clip"] = [](B b, Emitter& e) { numbered<block::kClipped>(b, e, {"min", "max"}); };
  table["clip_grad"] = [](B b, Emitter& e) { numbered_grad<block::kClipped>(b, e, {"min", "max"}); };
  table["hard_sigmoid"] = [](B b, Emitter& e) { numbered<block::kHardSigmoid>(b, e, {"alpha", "beta"}); };
  table["hard_sigmoid_grad"] = [](B b, Emitter& e) { numbered_grad<block::kHardSigmoid>(b, e, {"alpha"}); };
  table["add"] = add;
  table["sub"] = binary<block::kSub>;
  table["mul"] = binary<block::kMul>;
  table["div"] = binary<block::kDiv>;
  table["negative"] = negative;
  table["scale_by"] = scale_by;
  table["zero"] = zero;
  table["positional_embedding"] = positional_embedding;
  table["softmax"] = softmax;
  table["softmax_grad"] = softmax_grad;
  table["dropout_train"] = dropout_train;
}

}  // namespace lanista::device
