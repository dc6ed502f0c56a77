// Arithmetic on constants: operators, casts, ranges.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lanista/io/formats/onnx/onnx_fold_context.h"

namespace lanista::formats::onnx {
namespace {

/// Calls `visit(T{})` for the type of the elements; other types are ignored.
template <class Visit>
FoldResult numeric(ElementType type, Visit visit) {
  switch (type) {
    case ElementType::kF32:
      return visit(float{});
    case ElementType::kF64:
      return visit(double{});
    case ElementType::kI32:
      return visit(std::int32_t{});
    case ElementType::kI64:
      return visit(std::int64_t{});
    case ElementType::kU8:
      break;
  }
  return kNotFolded;
}

/// Computes a op b; false if it overflows or divides by zero.
template <class T>
bool combined(char op, T a, T b, T& out) {
  if constexpr (std::is_floating_point_v<T>) {
    out = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
    return true;
  } else {
    if (op == '+') return !__builtin_add_overflow(a, b, &out);
    if (op == '-') return !__builtin_sub_overflow(a, b, &out);
    if (op == '*') return !__builtin_mul_overflow(a, b, &out);
    if (b == 0 || (b == -1 && a == std::numeric_limits<T>::min())) return false;
    out = static_cast<T>(a / b);
    return true;
  }
}

std::function<FoldResult(const FoldContext&)> arithmetic(char op) {
  return [op](const FoldContext& f) -> FoldResult {
    if (f.inputs.size() != 2 || !f.has(1)) return malformed("it does not have two inputs");
    if (f.input(1).type != f.input().type) return malformed("its inputs are of different types");
    return numeric(f.input().type, [&]<class T>(T) -> FoldResult {
      LANISTA_ASSIGN(const List shape, broadcast_shape(f.input(0).shape, f.input(1).shape));
      LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, shape));
      const auto out = elements_of<T>(result);
      const auto a = elements_of<T>(f.input(0)), b = elements_of<T>(f.input(1));
      bool fits = true;
      std::size_t to = 0;
      if (!out.empty()) {
        for_each_broadcast(f.input(0).shape, f.input(1).shape, shape,
                           [&](std::size_t i, std::size_t k) { fits = combined(op, a[i], b[k], out[to++]) && fits; });
      }
      if (!fits) return unsupported("its integers overflow, or it computes with the batch");
      return std::optional(std::move(result));
    });
  };
}

std::function<FoldResult(const FoldContext&)> real_function(double (*function)(double)) {
  return [function](const FoldContext& f) -> FoldResult {
    if (f.input().type != ElementType::kF32) return kNotFolded;
    LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, f.input().shape));
    std::ranges::transform(elements_of<float>(f.input()), elements_of<float>(result).begin(),
                           [&](float x) { return static_cast<float>(function(static_cast<double>(x))); });
    return std::optional(std::move(result));
  };
}

/// The nearest value of T; numbers beyond its range are refused.
template <class To, class From>
bool converted(From from, To& to) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    if (!(static_cast<double>(from) >= low && static_cast<double>(from) < -low)) return false;
  } else if constexpr (std::is_integral_v<To> && sizeof(To) < sizeof(From)) {
    if (from < std::numeric_limits<To>::min() || from > std::numeric_limits<To>::max()) return false;
  }
  to = static_cast<To>(from);
  return true;
}

FoldResult cast(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t to, f.attribute("to", std::int64_t{0}));
  LANISTA_ASSIGN(const ElementType type, element_type(static_cast<std::uint64_t>(to)));
  return numeric(f.input().type, [&]<class From>(From) {
    return numeric(type, [&]<class To>(To) -> FoldResult {
      LANISTA_ASSIGN(Tensor result, f.allocate(type, f.input().shape));
      const auto out = elements_of<To>(result);
      const auto in = elements_of<From>(f.input());
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!converted(in[i], out[i])) return unsupported("a number is beyond the type it is cast to");
      }
      return std::optional(std::move(result));
    });
  });
}

FoldResult range(const FoldContext& f) {
  if (f.inputs.size() != 3 || !f.has(1) || !f.has(2)) return malformed("it does not have three inputs");
  if (f.input(0).type != ElementType::kI64) return kNotFolded;
  std::int64_t bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    LANISTA_ASSIGN(const List number, f.list(i));
    if (number.size() != 1) return malformed("its input " + std::to_string(i) + " is no single number");
    bounds[i] = number.front();
  }
  const auto [start, limit, step] = bounds;
  std::int64_t distance = 0;
  if (step == 0 || __builtin_sub_overflow(limit, start, &distance)) return unsupported("its range has no end");
  const bool away = (distance > 0) != (step > 0) || distance == 0;
  const std::int64_t count = away ? 0 : distance / step + (distance % step != 0 ? 1 : 0);
  LANISTA_ASSIGN(Tensor result, f.allocate(ElementType::kI64, {count}));
  const auto out = elements_of<std::int64_t>(result);
  for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = start + i * step;
  return std::optional(std::move(result));
}

FoldResult constant_of_shape(const FoldContext& f) {
  LANISTA_ASSIGN(const List shape, f.list(0));
  Tensor zero{.name = {}, .type = ElementType::kF32, .shape = {1}, .bytes = std::vector<std::byte>(4)};
  LANISTA_ASSIGN(const Tensor value, f.attribute("value", std::move(zero)));
  if (value.elements() != 1) return malformed("its value is no single number");
  LANISTA_ASSIGN(Tensor result, f.allocate(value.type, shape));
  const std::size_t size = value.bytes.size();
  for (std::size_t to = 0; to < result.bytes.size(); to += size) {
    std::memcpy(result.bytes.data() + to, value.bytes.data(), size);
  }
  return std::optional(std::move(result));
}

}  // namespace

FoldTable numeric_folds() {
  return {{"Add", arithmetic('+')},
          {"Cast", cast},
          {"ConstantOfShape", constant_of_shape},
          {"Div", arithmetic('/')},
          {"Mul", arithmetic('*')},
          {"Neg", real_function([](double x) { return -x; })},
          {"Range", range},
          {"Sqrt", real_function([](double x) { return std::sqrt(x); })},
          {"Sub", arithmetic('-')}};
}

}  // namespace lanista::formats::onnx
