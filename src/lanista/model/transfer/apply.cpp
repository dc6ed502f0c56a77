#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {
namespace {

/// A tensor in double precision.
struct Numbers {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t out = 1;
  for (const std::int64_t dim : dims) out *= dim;
  return out;
}

/// [outer, axis, inner] of a shape.
struct Split {
  std::int64_t outer, size, inner;
  Split(std::span<const std::int64_t> shape, std::size_t axis)
      : outer(product(shape.first(axis))), size(shape[axis]), inner(product(shape.subspan(axis + 1))) {}
};

/// Maps one axis. Elements of kZero and kRandomValue are zero.
Numbers mapped(const Numbers& in, std::size_t axis, const AxisMap& map) {
  const Split from(in.shape, axis);
  Numbers out{in.shape, {}};
  const auto n = static_cast<std::int64_t>(map.from.size());
  out.shape[axis] = n;
  out.values.assign(static_cast<std::size_t>(from.outer * n * from.inner), 0.0);
  const auto row = [&](std::int64_t a, std::int64_t u) { return in.values.data() + (a * from.size + u) * from.inner; };
  for (std::int64_t a = 0; a < from.outer; ++a) {
    for (std::int64_t t = 0; t < n; ++t) {
      const std::int64_t u = map.from[static_cast<std::size_t>(t)];
      const double times = map.times.empty() ? 1.0 : map.times[static_cast<std::size_t>(t)];
      double* to = out.values.data() + (a * n + t) * from.inner;
      if (u >= 0) {
        for (std::int64_t i = 0; i < from.inner; ++i) to[i] = times * row(a, u)[i];
      } else if (u == kMean) {
        for (std::int64_t each = 0; each < from.size; ++each) {
          for (std::int64_t i = 0; i < from.inner; ++i) to[i] += row(a, each)[i];
        }
        for (std::int64_t i = 0; i < from.inner; ++i) to[i] *= times / static_cast<double>(from.size);
      }
    }
  }
  return out;
}

/// Returns the dense kernel that equals a grouped kernel [out, in / groups, ...].
Numbers dense(const Numbers& in, std::int64_t groups) {
  const std::int64_t rows = in.shape[0], each = in.shape[1], inner = Split(in.shape, 1).inner;
  Numbers out{in.shape, {}};
  out.shape[1] *= groups;
  out.values.assign(in.values.size() * static_cast<std::size_t>(groups), 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row / (rows / groups) * each;
    const auto from = in.values.begin() + row * each * inner;
    std::copy(from, from + each * inner, out.values.begin() + (row * each * groups + first) * inner);
  }
  return out;
}

double random_parameter(Rng& rng, const graph::ParamSpec& spec) {
  switch (spec.init) {
    case graph::Init::kZeros:
      return 0;
    case graph::Init::kOnes:
      return 1;
    case graph::Init::kUniformFanIn: {
      const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(spec.fan_in, 1)));
      return rng.uniform(-bound, bound);
    }
    case graph::Init::kNormal:
      return spec.deviation * rng.normal();
    case graph::Init::kSinusoid:
      return 0;  // no plan maps a table of sine waves
  }
  return 0;
}

/// Sets fill and random values for the special values of each axis.
void fill_special_indices(Numbers& out, const TensorPlan& plan, const graph::ParamSpec& spec, Rng rng) {
  for (const std::int64_t word : {kRandomValue, kZero}) {  // kZero overwrites kRandomValue
    for (std::size_t axis = 0; axis < plan.axes.size(); ++axis) {
      const auto& from = plan.axes[axis].from;
      if (std::ranges::find(from, word) == from.end()) continue;
      const Split split(out.shape, axis);
      for (std::int64_t a = 0; a < split.outer; ++a) {
        for (std::int64_t t = 0; t < split.size; ++t) {
          if (from[static_cast<std::size_t>(t)] != word) continue;
          double* to = out.values.data() + (a * split.size + t) * split.inner;
          for (std::int64_t i = 0; i < split.inner; ++i)
            to[i] = word == kZero ? plan.fill : random_parameter(rng, spec);
        }
      }
    }
  }
}

Numbers identity(const TensorPlan& plan) {
  Numbers out{plan.shape, std::vector<double>(static_cast<std::size_t>(product(plan.shape)), 0.0)};
  const std::int64_t inputs = plan.shape[1], inner = Split(plan.shape, 1).inner;
  std::int64_t cell = 0;
  for (std::size_t i = 0; i < plan.tap.size(); ++i) cell = cell * plan.shape[i + 2] + plan.tap[i];
  for (std::int64_t row = 0; row < plan.shape[0]; ++row) {
    out.values[static_cast<std::size_t>((row * inputs + row % inputs) * inner + cell)] = 1;
  }
  return out;
}

Result<Numbers> read(const Tensor& tensor) {
  Numbers out{tensor.shape, {}};
  if (tensor.type == ElementType::kF32) {
    const auto values = elements_of<float>(tensor);
    out.values.assign(values.begin(), values.end());
  } else if (tensor.type == ElementType::kF64) {
    const auto values = elements_of<double>(tensor);
    out.values.assign(values.begin(), values.end());
  } else {
    return Error{Code::kInvalidArgument, "tensor " + tensor.name + " has no real numbers", ""};
  }
  return out;
}

Tensor written(const Numbers& numbers, const std::string& name, ElementType type) {
  Tensor out{name, type, numbers.shape, {}};
  out.bytes.resize(numbers.values.size() * element_size(type));
  if (type == ElementType::kF64) {
    std::ranges::copy(numbers.values, elements_of<double>(out).begin());
  } else {
    std::ranges::transform(numbers.values, elements_of<float>(out).begin(),
                           [](double v) { return static_cast<float>(v); });
  }
  return out;
}

/// Whether the plan fits the tensor of the parent and the shape of the child.
bool fits(const TensorPlan& plan, const std::vector<std::int64_t>& shape) {
  if (plan.kind == TensorPlan::Kind::kCopy) return shape == plan.shape;
  if (plan.axes.size() != shape.size() || plan.shape.size() != shape.size() || plan.groups < 1) return false;
  if (plan.groups > 1 && (shape.size() < 2 || shape[0] % plan.groups != 0)) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const AxisMap& axis = plan.axes[i];
    const std::int64_t size = shape[i] * (i == 1 ? plan.groups : 1);
    if (axis.from.empty() ? plan.shape[i] != size : std::cmp_not_equal(axis.from.size(), plan.shape[i])) return false;
    if (!axis.times.empty() && axis.times.size() != axis.from.size()) return false;
    if (std::ranges::any_of(axis.from, [&](std::int64_t u) { return u >= size || u < kRandomValue; })) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<Tensor>> apply(const TransferPlan& plan, std::span<const Tensor> parent, const graph::Graph& child,
                                  const graph::OpTable& ops, std::uint64_t seed) {
  std::map<std::string_view, const Tensor*> given;
  for (const Tensor& tensor : parent) given.emplace(tensor.name, &tensor);
  LANISTA_ASSIGN(const auto params, graph::parameters(child, ops));
  std::map<std::string_view, const graph::ParamSpec*> specs;
  for (const graph::NamedParam& param : params) specs.emplace(param.name, &param.spec);
  const bool doubles = std::ranges::any_of(parent, [](const Tensor& t) { return t.type == ElementType::kF64; });
  const ElementType type = doubles ? ElementType::kF64 : ElementType::kF32;

  std::vector<Tensor> out;
  for (const TensorPlan& one : plan.tensors) {
    const auto spec = specs.find(one.name);
    if (spec == specs.end() || spec->second->shape.dims != one.shape) {
      return Error{Code::kInvalidArgument, "the plan makes " + one.name + ", which the child has not so", ""};
    }
    if (one.kind == TensorPlan::Kind::kRandom) continue;
    Numbers numbers;
    if (one.kind == TensorPlan::Kind::kIdentity) {
      if (one.shape.size() != one.tap.size() + 2) {
        return Error{Code::kInvalidArgument, "the plan's identity for " + one.name + " has another rank", ""};
      }
      numbers = identity(one);
    } else if (one.kind == TensorPlan::Kind::kConstant) {
      numbers = {one.shape, std::vector<double>(static_cast<std::size_t>(product(one.shape)), one.fill)};
    } else {
      const auto from = given.find(one.from);
      if (from == given.end()) return Error{Code::kInvalidArgument, "the parent has no tensor " + one.from, ""};
      if (!fits(one, from->second->shape)) {
        return Error{Code::kInvalidArgument, "the parent's tensor " + one.from + " is not what the plan reads", ""};
      }
      LANISTA_ASSIGN(numbers, read(*from->second));
      if (one.groups > 1) numbers = dense(numbers, one.groups);
      for (std::size_t axis = 0; axis < one.axes.size(); ++axis) {
        if (!one.axes[axis].from.empty()) numbers = mapped(numbers, axis, one.axes[axis]);
      }
      fill_special_indices(numbers, one, *spec->second, Rng(seed).split("transfer").split(one.name));
    }
    out.push_back(written(numbers, one.name, type));
  }
  return out;
}

}  // namespace lanista::zoo
