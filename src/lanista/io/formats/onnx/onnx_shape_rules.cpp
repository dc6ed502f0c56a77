// Operators on shapes, axes, slices and concatenation; and means over axes.
#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// Replaces a batch that the file does not fix: a slice of this size selects all.
constexpr std::int64_t kAnyBatch = 0x7fffffff;

RewriteResult same(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return Rewrite{{std::move(input)}, [](ModelWriter&, Ports inputs) -> Result<Port> { return inputs.front(); }};
}

RewriteResult cast(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"to", "saturate", "round_mode"}));
  LANISTA_ASSIGN(const std::int64_t to, node_reader.integer("to", 1));
  if (to != 1) return unsupported("it casts to the element type " + std::to_string(to) + "; values are float");
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return Rewrite{{std::move(input)}, [](ModelWriter&, Ports inputs) -> Result<Port> { return inputs.front(); }};
}

/// A value in the shape `rest(dims)`, without the batch. The dims are those in the file.
Rewrite shaped(std::string input, std::function<Result<List>(const List& dims)> rest) {
  return {{std::move(input)}, [rest = std::move(rest)](ModelWriter& w, Ports inputs) -> Result<Port> {
            LANISTA_ASSIGN(const List sizes, rest(file_dims(w, inputs[0])));
            return in_shape(w, inputs[0], sizes);
          }};
}

RewriteResult flatten(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return shaped(std::move(input), [axis](const List& dims) -> Result<List> {
    LANISTA_ASSIGN(const std::size_t first, flatten_axis(axis, dims.size()));
    std::int64_t in_front = 1, behind = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) (i < first ? in_front : behind) *= dims[i];
    if (first == 0 || in_front != 1) {
      return unsupported("from the axis " + std::to_string(axis) + " of " + sizes_text(dims) +
                         " on, it merges the batch with something");
    }
    return List{behind};
  });
}

RewriteResult reshape(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"allowzero"}));
  LANISTA_ASSIGN(const std::int64_t literal, node_reader.integer("allowzero", 0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(ShapeIntegers target, node_reader.shape_integers(1));
  std::vector<std::string> input_values = std::move(target.shapes_of);
  input_values.insert(input_values.begin(), std::move(input));
  return Rewrite{std::move(input_values),
                 [value = std::move(target.value), literal](ModelWriter& w, Ports inputs) -> Result<Port> {
                   std::vector<List> shapes;
                   for (const Port& port : inputs.subspan(1)) shapes.push_back(file_dims(w, port));
                   LANISTA_ASSIGN(const List sizes, value(shapes));
                   LANISTA_ASSIGN(const List rest, reshaped_sample(sizes, w.dims(inputs[0]), w.batch(), literal != 0));
                   return in_shape(w, inputs[0], rest);
                 }};
}

RewriteResult squeeze(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axes"}));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return shaped(std::move(input), [axes](const List& dims) -> Result<List> {
    // Without axes a batch of one sample is squeezed too.
    List own = axes.value_or(List());
    for (std::size_t i = 0; !axes && i < dims.size(); ++i) {
      if (dims[i] == 1) own.push_back(static_cast<std::int64_t>(i));
    }
    for (const std::int64_t axis : own) {
      LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, dims.size()));
      if (axis_index == 0) return unsupported("it squeezes the batch away");
    }
    LANISTA_ASSIGN(List left, squeezed(dims, own));
    if (left.size() < 2) return unsupported("it leaves nothing but the batch");
    left.erase(left.begin());
    return left;
  });
}

RewriteResult unsqueeze(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axes"}));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
  if (!axes) return malformed("it has no axes");
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return shaped(std::move(input), [axes = *axes](const List& dims) -> Result<List> {
    for (const std::int64_t axis : axes) {
      LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, dims.size() + axes.size()));
      if (axis_index == 0) return unsupported("it moves the batch");
    }
    LANISTA_ASSIGN(List all, unsqueezed(dims, axes));
    all.erase(all.begin());
    return all;
  });
}

RewriteResult transpose(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"perm"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(List perm, node_reader.list("perm", {}));
  if (perm.empty() || perm.front() != 0) return unsupported("it moves the batch");
  return single_operator({std::move(input)}, "transpose", {{"axes", std::move(perm)}});
}

RewriteResult mean(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axes", "keepdims", "noop_with_empty_axes"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
  LANISTA_ASSIGN(const std::int64_t keep, node_reader.integer("keepdims", 1));
  if (!axes || axes->empty()) return unsupported("without axes it averages over the batch, or nothing");
  return Rewrite{{std::move(input)}, [axes = *axes, keep](ModelWriter& w, Ports inputs) -> Result<Port> {
                   List own;
                   for (const std::int64_t axis : axes) {
                     LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, w.dims(inputs[0]).size()));
                     if (axis_index == 0) return unsupported("it averages over the batch");
                     own.push_back(static_cast<std::int64_t>(axis_index));
                   }
                   std::sort(own.begin(), own.end());
                   return w.add("mean", {inputs[0]}, {{"axes", std::move(own)}, {"keep", keep != 0}});
                 }};
}

RewriteResult concat(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_ASSIGN(auto input_values, node_reader.computed_inputs());
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 0));
  return Rewrite{
      std::move(input_values), [axis](ModelWriter& w, Ports inputs) -> Result<Port> {
        if (inputs.empty()) return malformed("it has no inputs");
        LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, w.dims(inputs[0]).size()));
        if (axis_index == 0) return unsupported("it joins batches");
        if (inputs.size() == 1) return inputs[0];
        return w.add("concat", {inputs.begin(), inputs.end()}, {{"axis", static_cast<std::int64_t>(axis_index)}});
      }};
}

/// A slice from `start` up to `end`; 0 means the end of the axis.
Result<Port> sliced(ModelWriter& w, Port value, std::size_t axis, std::int64_t start, std::int64_t end) {
  const std::int64_t size = w.dims(value)[axis];
  if (start == 0 && end == size) return value;
  return w.add("slice", {value},
               {{"axis", static_cast<std::int64_t>(axis)}, {"start", start}, {"end", end == size ? 0 : end}});
}

RewriteResult slice(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"starts", "ends", "axes"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const auto starts, node_reader.integers("starts", 1));
  LANISTA_ASSIGN(const auto ends, node_reader.integers("ends", 2));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 3));
  LANISTA_ASSIGN(const auto steps, node_reader.integers("steps", 4));
  if (!starts || !ends) return malformed("it has no starts or no ends");
  return Rewrite{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                   List seen = w.dims(inputs[0]);
                   seen.front() = w.batch() > 0 ? w.batch() : kAnyBatch;
                   LANISTA_ASSIGN(const auto cuts, slice_axes(*starts, *ends, axes, steps, seen));
                   Port value = inputs[0];
                   for (const SliceAxis& cut : cuts) {
                     const bool whole = cut.begin == 0 && cut.step == 1 && cut.count == seen[cut.axis] && cut.count > 0;
                     if (whole) continue;
                     if (cut.axis == 0) return unsupported("it cuts the batch");
                     if (cut.step != 1 || cut.count < 1) {
                       return unsupported("it takes " + std::to_string(cut.count) + " elements in steps of " +
                                          std::to_string(cut.step) + "; read are runs");
                     }
                     LANISTA_ASSIGN(value, sliced(w, value, cut.axis, cut.begin, cut.begin + cut.count));
                   }
                   return value;
                 }};
}

/// One of the parts. The rule is called for each output of the node.
RewriteResult split(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis", "split", "num_outputs"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 0));
  LANISTA_ASSIGN(const auto sizes, node_reader.integers("split", 1));
  const auto count = static_cast<std::int64_t>(node_reader.node().outputs.size());
  const std::size_t part = node_reader.output();
  return Rewrite{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                   LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, w.dims(inputs[0]).size()));
                   if (axis_index == 0) return unsupported("it cuts the batch");
                   const std::int64_t size = w.dims(inputs[0])[axis_index];
                   // Without sizes the parts are equal, except for the last.
                   List own = sizes.value_or(List(static_cast<std::size_t>(count), (size + count - 1) / count));
                   if (static_cast<std::int64_t>(own.size()) != count) return malformed("its sizes are not one a part");
                   if (!sizes) own.back() = size - own.front() * (count - 1);
                   std::int64_t start = 0;
                   for (std::size_t i = 0; i < part; ++i) {
                     if (own[i] < 1 || own[i] > size - start) return unsupported("its parts do not fit");
                     start += own[i];
                   }
                   if (own[part] < 1 || own[part] > size - start) return unsupported("its parts do not fit");
                   return sliced(w, inputs[0], axis_index, start, start + own[part]);
                 }};
}

/// Zeros in the shape of a value.
RewriteResult constant_of_shape(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"value"}));
  const auto value = node_reader.node().attributes.find("value");
  if (value != node_reader.node().attributes.end()) {
    const Tensor* tensor = std::get_if<Tensor>(&value->second);
    if (tensor == nullptr || tensor->type != ElementType::kF32 || !all_equal(*tensor, 0)) {
      return unsupported("its value is not 0");
    }
  }
  LANISTA_ASSIGN(const std::string shape, node_reader.computed_input(0));
  const OnnxNode* of = node_reader.view().producer(shape, "Shape");
  if (of == nullptr || !of->attributes.empty() || of->inputs.size() != 1) {
    return unsupported("its shape is not that of a value");
  }
  return single_operator({of->inputs.front()}, "zero");
}

}  // namespace

RewriteRules shape_rules() {
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
