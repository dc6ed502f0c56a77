#include "random_attrs.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace lanista::testing {
namespace {

using graph::AttrSpec;
using graph::AttrValue;
using List = std::vector<std::int64_t>;

/// The inputs of the samples of one attribute.
struct AttrContext {
  const graph::OpDef& def;
  std::span<const graph::ValueType> inputs;
  const graph::Attrs& sampled_attrs;  // attributes that were sampled before

  std::int64_t rank() const { return inputs.empty() ? 1 : static_cast<std::int64_t>(inputs[0].shape.rank()); }
  std::int64_t dim(std::int64_t axis) const {
    return axis > 0 && axis < rank() ? inputs[0].shape.dims[static_cast<std::size_t>(axis)] : 1;
  }
  std::int64_t channels() const { return dim(rank() == 3 && def.name == "attention" ? 2 : 1); }
};

List divisors(std::int64_t n) {
  List all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

template <class T>
T one_of(Rng& rng, const std::vector<T>& choices) {
  return choices[rng.below(choices.size())];
}

std::int64_t random_integer(Rng& rng, const AttrSpec& spec, const AttrContext& context) {
  const std::string_view name = spec.name;
  if (name == "axis" && spec.min < 0)
    return rng.between(1 - context.rank(), std::max<std::int64_t>(1, context.rank() - 1));
  if (name == "axis" || name == "axes") return rng.between(1, std::max<std::int64_t>(1, context.rank() - 1));
  if (name == "groups" || name == "heads") return one_of(rng, divisors(context.channels()));
  if (name == "start" || name == "end") {
    const std::int64_t most = context.dim(rng.between(1, std::max<std::int64_t>(1, context.rank() - 1)));
    return rng.between(-most, most);
  }
  if (name == "size") return 1 + 2 * rng.between(0, 3);
  if (name == "vocab" || name == "dim" || name == "out") return rng.between(1, 8);
  return std::max(spec.min, std::int64_t{0}) + rng.between(0, 3);
}

// Returns padding: for images one, two or four numbers, for sequences one or two.
List random_padding(Rng& rng, const AttrContext& context) {
  List padding(context.rank() == 4 ? one_of(rng, List{1, 2, 2, 4, 4}) : one_of(rng, List{1, 2, 2}));
  const std::int64_t most = rng.bernoulli(0.25) ? 2 : 1;
  for (std::int64_t& cells : padding) cells = rng.between(0, most);
  return padding;
}

std::int64_t largest_stride(const AttrContext& context) {
  const AttrValue* stride = context.sampled_attrs.find("stride");
  return stride == nullptr ? 1 : std::ranges::max(std::get<List>(*stride));
}

List random_list(Rng& rng, const AttrSpec& spec, const AttrContext& context) {
  const std::string_view name = spec.name;
  if (name == "padding") return random_padding(rng, context);
  if (name == "shape")
    return random_dims(rng, context.inputs.empty() ? 1 : context.inputs[0].shape.elements_per_sample());
  if (name == "axes" && spec.min == 0) {
    List axes{0};
    for (const std::uint32_t axis : rng.permutation(static_cast<std::uint32_t>(context.rank() - 1))) {
      axes.push_back(axis + 1);
    }
    return axes;
  }
  if (name == "axes") {
    List axes;
    const bool all = rng.bernoulli(0.2);
    for (std::int64_t axis = 1; axis < context.rank(); ++axis) {
      if (all || rng.bernoulli(0.5)) axes.push_back(axis);
    }
    return axes;
  }
  const std::int64_t span = name == "out" ? 4 : name == "output_padding" ? largest_stride(context) - 1 : 2;
  List list(name == "pads" ? 4 : 1 + rng.below(2), spec.min + rng.between(0, span));
  if (rng.bernoulli(0.3)) return list;
  for (std::int64_t& value : list) value = spec.min + rng.between(0, span);
  return list;
}

// Returns a number that operators accept: probabilities and momentum in [0, 1), a small positive eps, constants near 1.
double random_real(Rng& rng, const AttrSpec& spec) {
  const std::string_view name = spec.name;
  if (name == "p" || name == "dropout") return rng.bernoulli(0.1) ? 0.0 : rng.uniform(0, 0.8);
  if (name == "momentum") return one_of(rng, std::vector<double>{0, 1, rng.uniform(), rng.uniform()});
  if (name == "eps") return 1e-3 * std::exp(rng.uniform(-5, 5));
  if (name == "min" || name == "max") return rng.uniform(-1, 1);
  if (name == "alpha") return rng.uniform(-0.2, 1.5);
  if (name == "bias") return rng.uniform(0.5, 2);
  return rng.uniform(-1.5, 1.5);
}

AttrValue random_value(Rng& rng, const AttrSpec& spec, const AttrContext& context) {
  if (std::holds_alternative<bool>(spec.default_value)) return rng.bernoulli(0.5);
  if (std::holds_alternative<double>(spec.default_value)) return random_real(rng, spec);
  if (std::holds_alternative<std::int64_t>(spec.default_value)) return random_integer(rng, spec, context);
  if (std::holds_alternative<std::string>(spec.default_value)) return one_of(rng, spec.allowed);
  return random_list(rng, spec, context);
}

}  // namespace

graph::Attrs random_attrs(Rng& rng, const graph::OpDef& def, std::span<const graph::ValueType> inputs) {
  graph::Attrs attrs;
  for (const AttrSpec& spec : def.attrs) {
    if (spec.role == graph::AttrRole::kDerived) continue;
    if (!spec.required && rng.below(3) == 0) continue;
    attrs.set(spec.name, random_value(rng, spec, {def, inputs, attrs}));
  }
  return attrs;
}

List random_dims(Rng& rng, std::int64_t elements) {
  List dims;
  // Most shapes are images, which most operators need.
  for (std::int64_t left = one_of(rng, List{0, 1, 2, 2, 2, 3, 3}); left > 0; --left) {
    dims.push_back(one_of(rng, divisors(elements)));
    elements /= dims.back();
  }
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(rng.below(dims.size() + 1)), elements);
  return dims;
}

}  // namespace lanista::testing
