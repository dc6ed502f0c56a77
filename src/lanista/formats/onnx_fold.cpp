#include "lanista/formats/onnx_fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "lanista/formats/onnx_shapes.h"
#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using Folded = Result<std::optional<Tensor>>;
using Inputs = std::span<const Tensor* const>;

const Folded kNothing{std::optional<Tensor>()};

/// One operator on constants that are there.
struct Fold {
  const OnnxNode& node;
  Inputs inputs;
  ByteBudget& budget;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& in(std::size_t i = 0) const { return *inputs[i]; }
  std::int64_t rank() const { return static_cast<std::int64_t>(in().shape.size()); }

  template <class T>
  Result<T> attribute(const char* name, T otherwise) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return otherwise;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return broken("the attribute " + shown(name) + " is of the wrong type");
    return *value;
  }

  /// Integers of an input.
  Result<List> list(std::size_t i) const {
    if (in(i).shape.size() > 1) return broken("its input " + std::to_string(i) + " is no list");
    return integers_of(in(i));
  }

  /// Integers of an attribute, as old opsets have them, or of an input.
  Result<std::optional<List>> list(const char* name, std::size_t i) const {
    if (has(i)) {
      LANISTA_ASSIGN(List numbers, list(i));
      return std::optional(std::move(numbers));
    }
    if (!node.attributes.contains(name)) return std::optional<List>();
    LANISTA_ASSIGN(List numbers, attribute(name, List()));
    return std::optional(std::move(numbers));
  }

  /// Zeros of this shape, paid for before they are allocated.
  Result<Tensor> room(ElementType type, List shape) const {
    if (shape.size() > kMaxRank) return broken("a tensor has more than 64 dimensions");
    std::int64_t bytes = static_cast<std::int64_t>(element_size(type));
    bool empty = false;
    for (const std::int64_t dim : shape) {
      if (dim < 0) return broken("a tensor has the dimension " + std::to_string(dim) + ", below 0");
      empty = empty || dim == 0;
      if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return broken("the shape overflows");
    }
    Tensor tensor{.name = {}, .type = type, .shape = std::move(shape), .bytes = {}};
    if (empty) return tensor;
    LANISTA_TRY(budget.spend(static_cast<std::size_t>(bytes)));
    tensor.bytes.resize(static_cast<std::size_t>(bytes));
    return tensor;
  }

  /// The first input in another shape of as many elements.
  Folded in_shape(List shape) const {
    if (shape.size() > kMaxRank) return broken("a tensor has more than 64 dimensions");
    LANISTA_TRY(budget.spend(in().bytes.size()));
    Tensor result = in();
    result.shape = std::move(shape);
    return std::optional(std::move(result));
  }
};

Folded identity(const Fold& f) { return f.in_shape(f.in().shape); }

Folded transpose(const Fold& f) {
  List axes(f.in().shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  LANISTA_ASSIGN(axes, f.attribute("perm", axes));
  List sorted = axes, all(f.in().shape.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return broken("perm is no permutation of the dimensions");
  LANISTA_TRY(f.budget.spend(f.in().bytes.size()));
  return std::optional(transposed(f.in(), axes));
}

Folded reshape(const Fold& f) {
  if (!f.has(1)) return broken("its input 1 is missing");
  LANISTA_ASSIGN(const List target, f.list(1));
  LANISTA_ASSIGN(const std::int64_t literal, f.attribute("allowzero", std::int64_t{0}));
  if (literal != 0) return kNothing;
  LANISTA_ASSIGN(List shape, reshaped(target, f.in().shape));
  return f.in_shape(std::move(shape));
}

Folded flatten(const Fold& f) {
  LANISTA_ASSIGN(const std::int64_t axis, f.attribute("axis", std::int64_t{1}));
  LANISTA_ASSIGN(const std::size_t first, parting_of(axis, f.in().shape.size()));
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const auto middle = f.in().shape.begin() + static_cast<std::ptrdiff_t>(first);
  return f.in_shape({product(f.in().shape.begin(), middle), product(middle, f.in().shape.end())});
}

Folded unsqueeze(const Fold& f) {
  LANISTA_ASSIGN(const auto axes, f.list("axes", 1));
  if (!axes) return broken("it has no axes");
  LANISTA_ASSIGN(List shape, unsqueezed(f.in().shape, *axes));
  return f.in_shape(std::move(shape));
}

Folded squeeze(const Fold& f) {
  LANISTA_ASSIGN(const auto axes, f.list("axes", 1));
  LANISTA_ASSIGN(List shape, squeezed(f.in().shape, axes));
  return f.in_shape(std::move(shape));
}

Folded shape(const Fold& f) {
  LANISTA_ASSIGN(const std::int64_t start, f.attribute("start", std::int64_t{0}));
  LANISTA_ASSIGN(const std::int64_t end, f.attribute("end", f.rank()));
  const auto clamped = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + f.rank() : at, 0, f.rank());
  };
  const List dims(f.in().shape.begin() + clamped(start), f.in().shape.begin() + std::max(clamped(start), clamped(end)));
  return std::optional(tensor_of_integers(dims));
}

/// How a tensor lies around one of its axes: [outer, dim, bytes of everything behind it].
struct Slabs {
  std::size_t outer = 1, bytes = 1;
};

Slabs slabs_around(const Tensor& tensor, std::size_t axis) {
  Slabs slabs{1, element_size(tensor.type)};
  for (std::size_t i = 0; i < axis; ++i) slabs.outer *= static_cast<std::size_t>(tensor.shape[i]);
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) slabs.bytes *= static_cast<std::size_t>(tensor.shape[i]);
  return slabs;
}

/// The slabs of `picks` along an axis; every pick exists.
Folded picked(const Fold& f, const Tensor& from, std::size_t axis, const List& picks, List shape) {
  LANISTA_ASSIGN(Tensor result, f.room(from.type, std::move(shape)));
  if (result.bytes.empty()) return std::optional(std::move(result));
  const Slabs slabs = slabs_around(from, axis);
  const auto dim = static_cast<std::size_t>(from.shape[axis]);
  std::byte* to = result.bytes.data();
  for (std::size_t outer = 0; outer < slabs.outer; ++outer) {
    for (const std::int64_t pick : picks) {
      std::memcpy(to, from.bytes.data() + (outer * dim + static_cast<std::size_t>(pick)) * slabs.bytes, slabs.bytes);
      to += slabs.bytes;
    }
  }
  return std::optional(std::move(result));
}

Folded gather(const Fold& f) {
  if (!f.has(1)) return broken("its input 1 is missing");
  const Tensor& places = f.in(1);
  if (places.type != ElementType::kI64 && places.type != ElementType::kI32) return kNothing;
  LANISTA_ASSIGN(const std::int64_t named, f.attribute("axis", std::int64_t{0}));
  LANISTA_ASSIGN(const std::size_t axis, axis_of(named, f.in().shape.size()));
  LANISTA_ASSIGN(List picks, integers_of(places));
  const std::int64_t dim = f.in().shape[axis];
  for (std::int64_t& pick : picks) {
    pick += pick < 0 ? dim : 0;
    if (pick < 0 || pick >= dim) return broken("an index is beyond the " + std::to_string(dim) + " there are");
  }
  List shape = f.in().shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), places.shape.begin(), places.shape.end());
  return picked(f, f.in(), axis, picks, std::move(shape));
}

Folded concat(const Fold& f) {
  LANISTA_ASSIGN(const std::int64_t named, f.attribute("axis", std::int64_t{0}));
  LANISTA_ASSIGN(const std::size_t axis, axis_of(named, f.in().shape.size()));
  List shape = f.in().shape;
  shape[axis] = 0;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (!f.has(i)) return broken("its input " + std::to_string(i) + " is missing");
    List rest = f.in(i).shape;
    if (f.in(i).type != f.in().type || rest.size() != shape.size()) return broken("its inputs do not fit");
    if (__builtin_add_overflow(shape[axis], rest[axis], &shape[axis])) return broken("the shape overflows");
    rest[axis] = shape[axis];
    if (rest != shape) return broken("its inputs do not fit");
  }
  LANISTA_ASSIGN(Tensor result, f.room(f.in().type, shape));
  std::byte* to = result.bytes.data();
  const std::size_t outer = result.bytes.empty() ? 0 : slabs_around(result, axis).outer;
  for (std::size_t at = 0; at < outer; ++at) {
    for (const Tensor* part : f.inputs) {
      const std::size_t bytes = part->bytes.size() / outer;
      if (bytes > 0) std::memcpy(to, part->bytes.data() + at * bytes, bytes);
      to += bytes;
    }
  }
  return std::optional(std::move(result));
}

Folded slice(const Fold& f) {
  LANISTA_ASSIGN(const auto starts, f.list("starts", 1));
  LANISTA_ASSIGN(const auto ends, f.list("ends", 2));
  LANISTA_ASSIGN(auto axes, f.list("axes", 3));
  LANISTA_ASSIGN(auto steps, f.list("steps", 4));
  if (!starts || !ends) return broken("it has no starts or no ends");
  LANISTA_ASSIGN(const std::vector<SliceAxis> cuts, slice_axes(*starts, *ends, axes, steps, f.in().shape));
  std::optional<Tensor> result(f.in());
  for (const SliceAxis& cut : cuts) {
    List picks, shape = result->shape;
    for (std::int64_t i = 0, at = cut.begin; i < cut.count; ++i, at += cut.step) picks.push_back(at);
    shape[cut.axis] = cut.count;
    LANISTA_ASSIGN(result, picked(f, *result, cut.axis, picks, std::move(shape)));
  }
  return result;
}

Folded expand(const Fold& f) {
  if (!f.has(1)) return broken("its input 1 is missing");
  LANISTA_ASSIGN(const List target, f.list(1));
  LANISTA_ASSIGN(const List shape, broadcast_shape(f.in().shape, target));
  LANISTA_ASSIGN(Tensor result, f.room(f.in().type, shape));
  const std::size_t size = element_size(f.in().type);
  std::byte* to = result.bytes.data();
  if (result.bytes.empty()) return std::optional(std::move(result));
  each_broadcast(f.in().shape, f.in().shape, shape, [&](std::size_t from, std::size_t) {
    std::memcpy(to, f.in().bytes.data() + from * size, size);
    to += size;
  });
  return std::optional(std::move(result));
}

/// Calls `visit(T{})` for the elements' type; the others are left alone.
template <class Visit>
Folded numeric(ElementType type, Visit visit) {
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
  return kNothing;
}

/// a op b; false if it overflows or divides by nothing.
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

std::function<Folded(const Fold&)> arithmetic(char op) {
  return [op](const Fold& f) -> Folded {
    if (f.inputs.size() != 2 || !f.has(1)) return broken("it does not have two inputs");
    if (f.in(1).type != f.in().type) return broken("its inputs are of different types");
    return numeric(f.in().type, [&]<class T>(T) -> Folded {
      LANISTA_ASSIGN(const List shape, broadcast_shape(f.in(0).shape, f.in(1).shape));
      LANISTA_ASSIGN(Tensor result, f.room(f.in().type, shape));
      const auto out = elements_of<T>(result);
      const auto a = elements_of<T>(f.in(0)), b = elements_of<T>(f.in(1));
      bool fits = true;
      std::size_t to = 0;
      if (!out.empty()) {
        each_broadcast(f.in(0).shape, f.in(1).shape, shape,
                       [&](std::size_t i, std::size_t k) { fits = combined(op, a[i], b[k], out[to++]) && fits; });
      }
      if (!fits) return refused("its integers overflow, or it computes with the batch");
      return std::optional(std::move(result));
    });
  };
}

std::function<Folded(const Fold&)> real_function(double (*function)(double)) {
  return [function](const Fold& f) -> Folded {
    if (f.in().type != ElementType::kF32) return kNothing;
    LANISTA_ASSIGN(Tensor result, f.room(f.in().type, f.in().shape));
    std::ranges::transform(elements_of<float>(f.in()), elements_of<float>(result).begin(),
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

Folded cast(const Fold& f) {
  LANISTA_ASSIGN(const std::int64_t to, f.attribute("to", std::int64_t{0}));
  LANISTA_ASSIGN(const ElementType type, element_type(static_cast<std::uint64_t>(to)));
  return numeric(f.in().type, [&]<class From>(From) {
    return numeric(type, [&]<class To>(To) -> Folded {
      LANISTA_ASSIGN(Tensor result, f.room(type, f.in().shape));
      const auto out = elements_of<To>(result);
      const auto in = elements_of<From>(f.in());
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!converted(in[i], out[i])) return refused("a number is beyond the type it is cast to");
      }
      return std::optional(std::move(result));
    });
  });
}

Folded range(const Fold& f) {
  if (f.inputs.size() != 3 || !f.has(1) || !f.has(2)) return broken("it does not have three inputs");
  if (f.in(0).type != ElementType::kI64) return kNothing;
  std::int64_t bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    LANISTA_ASSIGN(const List number, f.list(i));
    if (number.size() != 1) return broken("its input " + std::to_string(i) + " is no single number");
    bounds[i] = number.front();
  }
  const auto [start, limit, step] = bounds;
  std::int64_t distance = 0;
  if (step == 0 || __builtin_sub_overflow(limit, start, &distance)) return refused("its range has no end");
  const bool away = (distance > 0) != (step > 0) || distance == 0;
  const std::int64_t count = away ? 0 : distance / step + (distance % step != 0 ? 1 : 0);
  LANISTA_ASSIGN(Tensor result, f.room(ElementType::kI64, {count}));
  const auto out = elements_of<std::int64_t>(result);
  for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = start + i * step;
  return std::optional(std::move(result));
}

Folded constant_of_shape(const Fold& f) {
  LANISTA_ASSIGN(const List shape, f.list(0));
  Tensor zero{.name = {}, .type = ElementType::kF32, .shape = {1}, .bytes = std::vector<std::byte>(4)};
  LANISTA_ASSIGN(const Tensor value, f.attribute("value", std::move(zero)));
  if (value.elements() != 1) return broken("its value is no single number");
  LANISTA_ASSIGN(Tensor result, f.room(value.type, shape));
  const std::size_t size = value.bytes.size();
  for (std::size_t to = 0; to < result.bytes.size(); to += size) {
    std::memcpy(result.bytes.data() + to, value.bytes.data(), size);
  }
  return std::optional(std::move(result));
}

using Table = std::map<std::string, std::function<Folded(const Fold&)>, std::less<>>;

const Table& folds() {
  static const Table table{{"Add", arithmetic('+')},
                           {"Cast", cast},
                           {"Concat", concat},
                           {"ConstantOfShape", constant_of_shape},
                           {"Div", arithmetic('/')},
                           {"Expand", expand},
                           {"Flatten", flatten},
                           {"Gather", gather},
                           {"Identity", identity},
                           {"Mul", arithmetic('*')},
                           {"Neg", real_function([](double x) { return -x; })},
                           {"Range", range},
                           {"Reshape", reshape},
                           {"Shape", shape},
                           {"Slice", slice},
                           {"Sqrt", real_function([](double x) { return std::sqrt(x); })},
                           {"Squeeze", squeeze},
                           {"Sub", arithmetic('-')},
                           {"Transpose", transpose},
                           {"Unsqueeze", unsqueeze}};
  return table;
}

}  // namespace

Result<void> ByteBudget::spend(std::size_t bytes) {
  if (bytes > left) {
    return Error{Code::kResourceExhausted,
                 "constants and weights would take " + std::to_string(bytes - left) +
                     " bytes more than are allowed: twice the constants of the file and some to spare",
                 ""};
  }
  left -= bytes;
  return {};
}

Result<std::optional<Tensor>> fold(const OnnxNode& node, std::span<const Tensor* const> inputs, ByteBudget& budget) {
  const auto found = folds().find(node.op);
  if (found == folds().end() || node.outputs.size() != 1 || inputs.empty() || inputs.front() == nullptr) {
    return kNothing;
  }
  return found->second(Fold{node, inputs, budget});
}

}  // namespace lanista::formats::onnx
