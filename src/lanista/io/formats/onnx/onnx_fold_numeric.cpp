// Arithmetic on constants: operators, casts, ranges.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "lanista/base/portable_math.h"
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

/// The cosine; NaN for numbers that are too large for it.
double cosine(double x) {
  constexpr double kMost = 1e5;
  return std::abs(x) < kMost ? portable_cos(x) : std::numeric_limits<double>::quiet_NaN();
}

/// The power of a number above 0, or a whole power up to 64; else NaN.
template <class T>
T power_of(T base, T exponent) {
  const double b = static_cast<double>(base), e = static_cast<double>(exponent);
  if (e == std::floor(e) && std::abs(e) <= 64) {
    double result = 1;
    for (int i = 0; i < static_cast<int>(std::abs(e)); ++i) result *= b;
    return static_cast<T>(e < 0 ? 1 / result : result);
  }
  return static_cast<T>(b > 0 ? portable_pow(b, e) : std::numeric_limits<double>::quiet_NaN());
}

/// Computes a op b; false if it overflows or divides by zero. % is the remainder with the sign of b; < and > are the
/// smaller and the larger number.
template <class T>
bool combined(char op, T a, T b, T& out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == '%') return false;
    out = op == '+'   ? a + b
          : op == '-' ? a - b
          : op == '*' ? a * b
          : op == '/' ? a / b
          : op == '^' ? power_of(a, b)
          : op == '<' ? std::min(a, b)
                      : std::max(a, b);
    return true;
  } else {
    if (op == '+') return !__builtin_add_overflow(a, b, &out);
    if (op == '-') return !__builtin_sub_overflow(a, b, &out);
    if (op == '*') return !__builtin_mul_overflow(a, b, &out);
    if (op == '<' || op == '>') {
      out = op == '<' ? std::min(a, b) : std::max(a, b);
      return true;
    }
    if (op == '^' || b == 0 || (b == -1 && a == std::numeric_limits<T>::min())) return false;
    out = static_cast<T>(op == '/' ? a / b : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));
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

FoldResult fold_negative(const FoldContext& f) {
  return numeric(f.input().type, [&]<class T>(T) -> FoldResult {
    LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, f.input().shape));
    const auto out = elements_of<T>(result);
    const auto in = elements_of<T>(f.input());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!combined('-', T{}, in[i], out[i])) return unsupported("its integers overflow");
    }
    return std::optional(std::move(result));
  });
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

/// Calls `visit(i, k)` for each element of the result of two broadcast inputs, in order.
template <class Make>
FoldResult compared(const FoldContext& f, Make make) {
  if (f.inputs.size() != 2 || !f.has(1)) return malformed("it does not have two inputs");
  if (f.input(1).type != f.input().type) return malformed("its inputs are of different types");
  LANISTA_ASSIGN(const List shape, broadcast_shape(f.input(0).shape, f.input(1).shape));
  LANISTA_ASSIGN(Tensor result, f.allocate(ElementType::kU8, shape));
  if (result.bytes.empty()) return std::optional(std::move(result));
  const auto out = elements_of<std::uint8_t>(result);
  std::size_t to = 0;
  const auto fill = [&]<class T>(T) -> FoldResult {
    const auto a = elements_of<T>(f.input(0)), b = elements_of<T>(f.input(1));
    for_each_broadcast(f.input(0).shape, f.input(1).shape, shape,
                       [&](std::size_t i, std::size_t k) { out[to++] = make(a[i], b[k]) ? 1 : 0; });
    return std::optional(std::move(result));
  };
  return f.input().type == ElementType::kU8 ? fill(std::uint8_t{}) : numeric(f.input().type, fill);
}

template <class Make>
std::function<FoldResult(const FoldContext&)> comparison(Make make) {
  return [make](const FoldContext& f) { return compared(f, make); };
}

FoldResult negation(const FoldContext& f) {
  if (f.input().type != ElementType::kU8) return kNotFolded;
  LANISTA_ASSIGN(Tensor result, f.allocate(ElementType::kU8, f.input().shape));
  std::ranges::transform(elements_of<std::uint8_t>(f.input()), elements_of<std::uint8_t>(result).begin(),
                         [](std::uint8_t x) -> std::uint8_t { return x == 0 ? 1 : 0; });
  return std::optional(std::move(result));
}

/// Where(condition, a, b).
FoldResult choice(const FoldContext& f) {
  if (f.inputs.size() != 3 || !f.has(1) || !f.has(2)) return malformed("it does not have three inputs");
  if (f.input(0).type != ElementType::kU8 || f.input(1).type != f.input(2).type) {
    return malformed("its inputs are of different types");
  }
  LANISTA_ASSIGN(const List values, broadcast_shape(f.input(1).shape, f.input(2).shape));
  LANISTA_ASSIGN(const List shape, broadcast_shape(f.input(0).shape, values));
  LANISTA_ASSIGN(Tensor result, f.allocate(f.input(1).type, shape));
  if (result.bytes.empty()) return std::optional(std::move(result));
  const auto condition = elements_of<std::uint8_t>(f.input(0));
  const std::size_t size = element_size(result.type);
  for (const std::size_t which : {1U, 2U}) {
    std::size_t to = 0;
    for_each_broadcast(f.input(0).shape, f.input(which).shape, shape, [&](std::size_t i, std::size_t k) {
      if ((condition[i] != 0) == (which == 1)) {
        std::memcpy(result.bytes.data() + to * size, f.input(which).bytes.data() + k * size, size);
      }
      ++to;
    });
  }
  return std::optional(std::move(result));
}

/// The triangle of matrices from diagonal `k` on, or up to it.
FoldResult triangle(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t upper, f.attribute("upper", std::int64_t{1}));
  List shift{0};
  if (f.has(1)) {
    LANISTA_ASSIGN(shift, f.list(1));
  }
  if (f.rank() < 2 || shift.size() != 1) return malformed("it reads no matrices");
  LANISTA_ASSIGN(Tensor result, f.allocate(f.input().type, f.input().shape));
  const std::int64_t rows = result.shape[result.shape.size() - 2], columns = result.shape.back();
  const std::size_t size = element_size(result.type);
  for (std::size_t at = 0; at * size < result.bytes.size(); ++at) {
    const std::int64_t column = static_cast<std::int64_t>(at) % columns;
    const std::int64_t row = static_cast<std::int64_t>(at) / columns % rows;
    const bool kept = upper != 0 ? column - row >= shift[0] : column - row <= shift[0];
    if (kept) std::memcpy(result.bytes.data() + at * size, f.input().bytes.data() + at * size, size);
  }
  return std::optional(std::move(result));
}

/// The product of all elements, in one dimension for each of the input if dimensions are kept.
FoldResult product_of_all(const FoldContext& f) {
  LANISTA_ASSIGN(const auto axes, f.list("axes", 1));
  LANISTA_ASSIGN(const std::int64_t keep, f.attribute("keepdims", std::int64_t{1}));
  if (f.rank() > 1 || (axes && axes->size() > 1)) return kNotFolded;
  LANISTA_ASSIGN(const List numbers, f.list(0));
  std::int64_t all = 1;
  for (const std::int64_t number : numbers) {
    if (__builtin_mul_overflow(all, number, &all)) return unsupported("its integers overflow");
  }
  Tensor result = tensor_of_integers({all});
  if (keep == 0 || f.rank() == 0) result.shape.clear();
  return std::optional(std::move(result));
}

FoldResult size(const FoldContext& f) {
  Tensor result = tensor_of_integers({product(f.input().shape)});
  result.shape.clear();
  return std::optional(std::move(result));
}

/// A cast to bool or from bool or uint8.
FoldResult cast_bools(const FoldContext& f, ElementType type, std::int64_t to) {
  constexpr std::int64_t kBool = 9;
  LANISTA_ASSIGN(Tensor result, f.allocate(type, f.input().shape));
  if (type != ElementType::kU8) {
    const auto in = elements_of<std::uint8_t>(f.input());
    return numeric(type, [&]<class To>(To) -> FoldResult {
      std::ranges::transform(in, elements_of<To>(result).begin(), [](std::uint8_t x) { return static_cast<To>(x); });
      return std::optional(std::move(result));
    });
  }
  if (f.input().type == ElementType::kU8) return f.in_shape(f.input().shape);
  if (to != kBool) return kNotFolded;
  return numeric(f.input().type, [&]<class From>(From) -> FoldResult {
    std::ranges::transform(elements_of<From>(f.input()), elements_of<std::uint8_t>(result).begin(),
                           [](From x) -> std::uint8_t { return x != From{} ? 1 : 0; });
    return std::optional(std::move(result));
  });
}

FoldResult cast(const FoldContext& f) {
  LANISTA_ASSIGN(const std::int64_t to, f.attribute("to", std::int64_t{0}));
  LANISTA_ASSIGN(ElementType type, element_type(static_cast<std::uint64_t>(to)));
  if (type == ElementType::kF64) type = ElementType::kF32;  // as all constants of double
  if (type == ElementType::kU8 || f.input().type == ElementType::kU8) return cast_bools(f, type, to);
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
  const auto both = comparison([](auto a, auto b) { return a != 0 && b != 0; });
  const auto either = comparison([](auto a, auto b) { return a != 0 || b != 0; });
  return {{"Abs", real_function([](double x) { return std::abs(x); })},
          {"Add", arithmetic('+')},
          {"And", both},
          {"Cast", cast},
          {"Ceil", real_function([](double x) { return std::ceil(x); })},
          {"ConstantOfShape", constant_of_shape},
          {"Cos", real_function([](double x) { return cosine(x); })},
          {"Div", arithmetic('/')},
          {"Equal", comparison([](auto a, auto b) { return a == b; })},
          {"Exp", real_function(portable_exp)},
          {"Floor", real_function([](double x) { return std::floor(x); })},
          {"Greater", comparison([](auto a, auto b) { return a > b; })},
          {"GreaterOrEqual", comparison([](auto a, auto b) { return a >= b; })},
          {"Less", comparison([](auto a, auto b) { return a < b; })},
          {"LessOrEqual", comparison([](auto a, auto b) { return a <= b; })},
          {"Log",
           real_function([](double x) { return x > 0 ? portable_log(x) : std::numeric_limits<double>::quiet_NaN(); })},
          {"Max", arithmetic('>')},
          {"Min", arithmetic('<')},
          {"Mod", arithmetic('%')},
          {"Mul", arithmetic('*')},
          {"Neg", fold_negative},
          {"Not", negation},
          {"Or", either},
          {"Pow", arithmetic('^')},
          {"Range", range},
          {"Reciprocal", real_function([](double x) { return 1 / x; })},
          {"ReduceProd", product_of_all},
          {"Sin", real_function([](double x) { return cosine(x - std::numbers::pi / 2); })},
          {"Size", size},
          {"Sqrt", real_function([](double x) { return std::sqrt(x); })},
          {"Sub", arithmetic('-')},
          {"Trilu", triangle},
          {"Where", choice}};
}

}  // namespace lanista::formats::onnx
