// What moves values about: shapes, axes, slices, concatenation; and means over axes.
#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using graph::Attrs;
using graph::Port;
using Ports = std::span<const Port>;
using Planned = Result<Plan>;

/// Stands for a batch that the file does not fix: a slice that takes so many takes all.
constexpr std::int64_t kAnyBatch = 0x7fffffff;

Planned same(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return Plan{{std::move(input)}, [](ModelWriter&, Ports inputs) -> Result<Port> { return inputs.front(); }};
}

Planned cast(const Site& site) {
  LANISTA_TRY(site.only({"to", "saturate", "round_mode"}));
  LANISTA_ASSIGN(const std::int64_t to, site.integer("to", 1));
  if (to != 1) return refused("it casts to the element type " + std::to_string(to) + "; values are float");
  LANISTA_ASSIGN(std::string input, site.data(0));
  return Plan{{std::move(input)}, [](ModelWriter&, Ports inputs) -> Result<Port> { return inputs.front(); }};
}

/// A value in the shape that `rest(dims)` gives, all sizes but the batch. The dims are those that the file sees.
Plan shaped(std::string input, std::function<Result<List>(const List& dims)> rest) {
  return {{std::move(input)}, [rest = std::move(rest)](ModelWriter& w, Ports inputs) -> Result<Port> {
            LANISTA_ASSIGN(const List sizes, rest(seen_dims(w, inputs[0])));
            return in_shape(w, inputs[0], sizes);
          }};
}

Planned flatten(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", 1));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return shaped(std::move(input), [axis](const List& dims) -> Result<List> {
    LANISTA_ASSIGN(const std::size_t first, parting_of(axis, dims.size()));
    std::int64_t in_front = 1, behind = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) (i < first ? in_front : behind) *= dims[i];
    if (first == 0 || in_front != 1) {
      return refused("from the axis " + std::to_string(axis) + " of " + shown_sizes(dims) +
                     " on, it merges the batch with something");
    }
    return List{behind};
  });
}

Planned reshape(const Site& site) {
  LANISTA_TRY(site.only({"allowzero"}));
  LANISTA_ASSIGN(const std::int64_t literal, site.integer("allowzero", 0));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(Numbers target, site.numbers(1));
  std::vector<std::string> reads = std::move(target.shapes_of);
  reads.insert(reads.begin(), std::move(input));
  return Plan{std::move(reads),
              [value = std::move(target.value), literal](ModelWriter& w, Ports inputs) -> Result<Port> {
                std::vector<List> shapes;
                for (const Port& port : inputs.subspan(1)) shapes.push_back(seen_dims(w, port));
                LANISTA_ASSIGN(const List sizes, value(shapes));
                LANISTA_ASSIGN(const List rest, reshaped_sample(sizes, w.dims(inputs[0]), w.batch(), literal != 0));
                return in_shape(w, inputs[0], rest);
              }};
}

Planned squeeze(const Site& site) {
  LANISTA_TRY(site.only({"axes"}));
  LANISTA_ASSIGN(const auto axes, site.integers("axes", 1));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return shaped(std::move(input), [axes](const List& dims) -> Result<List> {
    // Without axes a batch of one sample is squeezed too.
    List own = axes.value_or(List());
    for (std::size_t i = 0; !axes && i < dims.size(); ++i) {
      if (dims[i] == 1) own.push_back(static_cast<std::int64_t>(i));
    }
    for (const std::int64_t axis : own) {
      LANISTA_ASSIGN(const std::size_t place, axis_of(axis, dims.size()));
      if (place == 0) return refused("it squeezes the batch away");
    }
    LANISTA_ASSIGN(List left, squeezed(dims, own));
    if (left.size() < 2) return refused("it leaves nothing but the batch");
    left.erase(left.begin());
    return left;
  });
}

Planned unsqueeze(const Site& site) {
  LANISTA_TRY(site.only({"axes"}));
  LANISTA_ASSIGN(const auto axes, site.integers("axes", 1));
  if (!axes) return broken("it has no axes");
  LANISTA_ASSIGN(std::string input, site.data(0));
  return shaped(std::move(input), [axes = *axes](const List& dims) -> Result<List> {
    for (const std::int64_t axis : axes) {
      LANISTA_ASSIGN(const std::size_t place, axis_of(axis, dims.size() + axes.size()));
      if (place == 0) return refused("it moves the batch");
    }
    LANISTA_ASSIGN(List all, unsqueezed(dims, axes));
    all.erase(all.begin());
    return all;
  });
}

Planned transpose(const Site& site) {
  LANISTA_TRY(site.only({"perm"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(List perm, site.list("perm", {}));
  if (perm.empty() || perm.front() != 0) return refused("it moves the batch");
  return direct({std::move(input)}, "transpose", {{"axes", std::move(perm)}});
}

Planned mean(const Site& site) {
  LANISTA_TRY(site.only({"axes", "keepdims", "noop_with_empty_axes"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const auto axes, site.integers("axes", 1));
  LANISTA_ASSIGN(const std::int64_t keep, site.integer("keepdims", 1));
  if (!axes || axes->empty()) return refused("without axes it averages over the batch, or nothing");
  return Plan{{std::move(input)}, [axes = *axes, keep](ModelWriter& w, Ports inputs) -> Result<Port> {
                List own;
                for (const std::int64_t axis : axes) {
                  LANISTA_ASSIGN(const std::size_t place, axis_of(axis, w.dims(inputs[0]).size()));
                  if (place == 0) return refused("it averages over the batch");
                  own.push_back(static_cast<std::int64_t>(place));
                }
                std::sort(own.begin(), own.end());
                return w.add("mean", {inputs[0]}, {{"axes", std::move(own)}, {"keep", keep != 0}});
              }};
}

Planned concat(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_ASSIGN(auto reads, site.all_data());
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", 0));
  return Plan{std::move(reads), [axis](ModelWriter& w, Ports inputs) -> Result<Port> {
                if (inputs.empty()) return broken("it has no inputs");
                LANISTA_ASSIGN(const std::size_t place, axis_of(axis, w.dims(inputs[0]).size()));
                if (place == 0) return refused("it joins batches");
                if (inputs.size() == 1) return inputs[0];
                return w.add("concat", {inputs.begin(), inputs.end()}, {{"axis", static_cast<std::int64_t>(place)}});
              }};
}

/// Our slice: from `start` up to `end`, of which 0 means the end of the axis.
Result<Port> sliced(ModelWriter& w, Port value, std::size_t axis, std::int64_t start, std::int64_t end) {
  const std::int64_t size = w.dims(value)[axis];
  if (start == 0 && end == size) return value;
  return w.add("slice", {value},
               {{"axis", static_cast<std::int64_t>(axis)}, {"start", start}, {"end", end == size ? 0 : end}});
}

Planned slice(const Site& site) {
  LANISTA_TRY(site.only({"starts", "ends", "axes"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const auto starts, site.integers("starts", 1));
  LANISTA_ASSIGN(const auto ends, site.integers("ends", 2));
  LANISTA_ASSIGN(const auto axes, site.integers("axes", 3));
  LANISTA_ASSIGN(const auto steps, site.integers("steps", 4));
  if (!starts || !ends) return broken("it has no starts or no ends");
  return Plan{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                List seen = w.dims(inputs[0]);
                seen.front() = w.batch() > 0 ? w.batch() : kAnyBatch;
                LANISTA_ASSIGN(const auto cuts, slice_axes(*starts, *ends, axes, steps, seen));
                Port value = inputs[0];
                for (const SliceAxis& cut : cuts) {
                  const bool whole = cut.begin == 0 && cut.step == 1 && cut.count == seen[cut.axis] && cut.count > 0;
                  if (whole) continue;
                  if (cut.axis == 0) return refused("it cuts the batch");
                  if (cut.step != 1 || cut.count < 1) {
                    return refused("it takes " + std::to_string(cut.count) + " elements in steps of " +
                                   std::to_string(cut.step) + "; read are runs");
                  }
                  LANISTA_ASSIGN(value, sliced(w, value, cut.axis, cut.begin, cut.begin + cut.count));
                }
                return value;
              }};
}

/// One of the parts: this node is asked for each of its outputs alone.
Planned split(const Site& site) {
  LANISTA_TRY(site.only({"axis", "split", "num_outputs"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", 0));
  LANISTA_ASSIGN(const auto sizes, site.integers("split", 1));
  const auto count = static_cast<std::int64_t>(site.node().outputs.size());
  const std::size_t part = site.output();
  return Plan{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                LANISTA_ASSIGN(const std::size_t place, axis_of(axis, w.dims(inputs[0]).size()));
                if (place == 0) return refused("it cuts the batch");
                const std::int64_t size = w.dims(inputs[0])[place];
                // Without sizes the parts are equal, but for the last.
                List own = sizes.value_or(List(static_cast<std::size_t>(count), (size + count - 1) / count));
                if (static_cast<std::int64_t>(own.size()) != count) return broken("its sizes are not one a part");
                if (!sizes) own.back() = size - own.front() * (count - 1);
                std::int64_t start = 0;
                for (std::size_t i = 0; i < part; ++i) {
                  if (own[i] < 1 || own[i] > size - start) return refused("its parts do not fit");
                  start += own[i];
                }
                if (own[part] < 1 || own[part] > size - start) return refused("its parts do not fit");
                return sliced(w, inputs[0], place, start, start + own[part]);
              }};
}

/// Zeros in the shape of a value.
Planned constant_of_shape(const Site& site) {
  LANISTA_TRY(site.only({"value"}));
  const auto value = site.node().attributes.find("value");
  if (value != site.node().attributes.end()) {
    const Tensor* tensor = std::get_if<Tensor>(&value->second);
    if (tensor == nullptr || tensor->type != ElementType::kF32 || !all_are(*tensor, 0)) {
      return refused("its value is not 0");
    }
  }
  LANISTA_ASSIGN(const std::string shape, site.data(0));
  const OnnxNode* of = site.view().maker(shape, "Shape");
  if (of == nullptr || !of->attributes.empty() || of->inputs.size() != 1) {
    return refused("its shape is not that of a value");
  }
  return direct({of->inputs.front()}, "zero");
}

}  // namespace

Rules shape_rules() {
  return {{"Cast", {cast}},
          {"Concat", {concat}},
          {"ConstantOfShape", {constant_of_shape}},
          {"Flatten", {flatten}},
          {"Identity", {same}},
          {"ReduceMean", {mean}},
          {"Reshape", {group_norm_group, reshape}},
          {"Slice", {slice}},
          {"Split", {split}},
          {"Squeeze", {squeeze}},
          {"Transpose", {transpose}},
          {"Unsqueeze", {unsqueeze}}};
}

}  // namespace lanista::formats::onnx
