// Activations, arithmetic and dropout: operators that do not depend on the layout of their values.
#include <algorithm>
#include <cstring>

#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {
namespace {

template <class T, class F>
Run<T> unary(const Binding<T>& b, F f) {
  return [f, count = ElementCount(b.y_shape()), x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(count.at(run.batch), run.at(x), run.at(y));
  };
}

template <class T, class F>
Run<T> binary(const Binding<T>& b, F f) {
  return [f, count = ElementCount(b.y_shape()), p = b.in[0], q = b.in[1], y = b.out[0]](const RunContext<T>& run) {
    f(count.at(run.batch), run.at(p), run.at(q), run.at(y));
  };
}

// An elementwise call with constants from the attributes `names`.
template <class T, class F, class... Names>
Run<T> unary_with(const Binding<T>& b, F f, Names... names) {
  return [f, count = ElementCount(b.y_shape()), x = b.in[0], y = b.out[0],
          ... numbers = static_cast<T>(b.args().real(names))](const RunContext<T>& run) {
    f(count.at(run.batch), numbers..., run.at(x), run.at(y));
  };
}

template <class T, class F, class... Names>
Run<T> binary_with(const Binding<T>& b, F f, Names... names) {
  return [f, count = ElementCount(b.y_shape()), p = b.in[0], q = b.in[1], y = b.out[0],
          ... numbers = static_cast<T>(b.args().real(names))](const RunContext<T>& run) {
    f(count.at(run.batch), numbers..., run.at(p), run.at(q), run.at(y));
  };
}

template <class T>
Run<T> negative(const Binding<T>& b) {
  return [f = b.k.scale, count = ElementCount(b.y_shape()), x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(count.at(run.batch), T(-1), run.at(x), run.at(y));
  };
}

template <class T>
Run<T> zero(const Binding<T>& b) {
  return [count = ElementCount(b.y_shape()), y = b.out[0]](const RunContext<T>& run) {
    std::memset(run.at(y), 0, static_cast<std::size_t>(count.at(run.batch)) * sizeof(T));
  };
}

template <class T>
Run<T> copy(const Binding<T>& b) {
  return [count = ElementCount(b.y_shape()), x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    std::memcpy(run.at(y), run.at(x), static_cast<std::size_t>(count.at(run.batch)) * sizeof(T));
  };
}

// A sum of several values: ((x0 + x1) + x2) + … It works piece by piece, so the output may overwrite x0 or x1.
constexpr std::int64_t kPiece = 2048;

template <class T>
Run<T> add(const Binding<T>& b) {
  if (b.in.size() == 1) return copy<T>(b);
  return [f = b.k.add, count = ElementCount(b.y_shape()), in = b.in, y = b.out[0]](const RunContext<T>& run) {
    const std::int64_t n = count.at(run.batch);
    // Pieces of a sum stay in the first cache until the next value is added.
    for (std::int64_t at = 0; at < n; at += kPiece) {
      const std::int64_t piece = std::min(kPiece, n - at);
      T* sum = run.at(y) + at;
      f(piece, run.at(in[0]) + at, run.at(in[1]) + at, sum);
      for (std::size_t i = 2; i < in.size(); ++i) f(piece, sum, run.at(in[i]) + at, sum);
    }
  };
}

template <class T>
Run<T> dropout_train(const Binding<T>& b) {
  return [f = b.k.dropout, per_sample = ElementCount(b.y_shape()).per_sample, p = b.lane_attr("p"),
          origin = static_cast<std::uint64_t>(b.args().integer("origin")), x = b.in[0],
          y = b.out[0]](const RunContext<T>& run) {
    f(run.batch, per_sample, run.sample_index, p.of(run), {run.seed, run.step, origin}, run.at(x), run.at(y));
  };
}

template <class T>
AxisView softmax_view(const Binding<T>& b) {
  const graph::Shape& shape = b.y_shape();
  const std::int64_t axis = b.args().integer("axis");
  const std::int64_t rank = static_cast<std::int64_t>(shape.rank());
  return axis_view(shape, value_layout(shape), static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
}

template <class T>
Run<T> softmax(const Binding<T>& b) {
  return [f = b.k.softmax, view = softmax_view(b), x = b.in[0], y = b.out[0]](const RunContext<T>& run) {
    f(view.at(run.batch), run.at(x), run.at(y));
  };
}

template <class T>
Run<T> softmax_grad(const Binding<T>& b) {
  return [f = b.k.softmax_grad, view = softmax_view(b), y = b.in[0], dy = b.in[1],
          dx = b.out[0]](const RunContext<T>& run) { f(view.at(run.batch), run.at(y), run.at(dy), run.at(dx)); };
}

template <class T>
void add_piecewise(KernelTable<T>& table) {
  using B = const Binding<T>&;
  table["leaky_relu"] = [](B b) { return unary_with<T>(b, b.k.leaky_relu, "alpha"); };
  table["leaky_relu_grad"] = [](B b) { return binary_with<T>(b, b.k.leaky_relu_grad, "alpha"); };
  table["elu"] = [](B b) { return unary_with<T>(b, b.k.elu, "alpha"); };
  table["elu_grad"] = [](B b) { return binary_with<T>(b, b.k.elu_grad, "alpha"); };
  table["clip"] = {[](B b) { return unary_with<T>(b, b.k.clip, "min", "max"); }, {0}};
  table["clip_grad"] = {[](B b) { return binary_with<T>(b, b.k.clip_grad, "min", "max"); }, {1}};
  table["hard_sigmoid"] = [](B b) { return unary_with<T>(b, b.k.hard_sigmoid, "alpha", "beta"); };
  table["hard_sigmoid_grad"] = [](B b) { return binary_with<T>(b, b.k.hard_sigmoid_grad, "alpha"); };
}

}  // namespace

template <class T>
void add_elementwise_kernels(KernelTable<T>& table) {
  for (const auto& row : kernels::kernels<T>(kernels::Isa::kPortable).activations) {
    const std::string op(row.op);
    table[op] = {[op](const Binding<T>& b) { return unary(b, b.k.activation(op)->forward); }, {0}};
    table[op + "_grad"] = {[op](const Binding<T>& b) { return binary(b, b.k.activation(op)->gradient); }, {1}};
  }
  table["softmax"] = softmax<T>;
  table["softmax_grad"] = softmax_grad<T>;
  table["zero"] = zero<T>;
  table["add"] = {add<T>, {0, 1}};
  table["sub"] = [](const Binding<T>& b) { return binary(b, b.k.sub); };
  table["mul"] = [](const Binding<T>& b) { return binary(b, b.k.mul); };
  table["div"] = [](const Binding<T>& b) { return binary(b, b.k.div); };
  table["negative"] = negative<T>;
  add_piecewise(table);
  table["dropout_train"] = dropout_train<T>;
}

template void add_elementwise_kernels(KernelTable<float>&);
template void add_elementwise_kernels(KernelTable<double>&);

}  // namespace lanista::program
