// Operators on shapes and axes, and parts of values.
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
  return placed_rewrite({std::move(input)},
                        [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs.front(); });
}

RewriteResult cast(const NodeReader& node_reader) {
  constexpr std::int64_t kFloats[] = {1, 10, 11, 16};  // of 32, 16 and 64 bits, and bfloat16
  LANISTA_TRY(node_reader.allow_attributes({"to", "saturate", "round_mode"}));
  LANISTA_ASSIGN(const std::int64_t to, node_reader.integer("to", 1));
  if (std::ranges::find(kFloats, to) == std::end(kFloats)) {
    return unsupported("it casts to the element type " + std::to_string(to) + "; values are float");
  }
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)},
                        [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs.front(); });
}

/// A cast to the type of another value: all values are float.
RewriteResult cast_like(const NodeReader& node_reader) {
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)},
                        [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs.front(); });
}

RewriteResult flatten(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)}, [axis](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    const List dims = file_dims(w, inputs[0]);
    LANISTA_ASSIGN(const std::size_t first, flatten_axis(axis, dims.size()));
    // The batch stays in front of the other sizes of its group, or before them.
    List groups{1, 1};
    std::int64_t batch = 0;  // the sizes of the group of the batch, if it is unknown
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& group = groups[i < first ? 0 : 1];
      if (is_batch(dims[i])) batch = i < first ? 1 : 2;
      group *= is_batch(dims[i]) ? batch_factor(dims[i]) : dims[i];
    }
    if (batch > 0)
      groups[static_cast<std::size_t>(batch) - 1] = batch_times(groups[static_cast<std::size_t>(batch) - 1]);
    return placed_reshape(w, inputs[0], groups, true);
  });
}

RewriteResult reshape(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"allowzero"}));
  LANISTA_ASSIGN(const std::int64_t literal, node_reader.integer("allowzero", 0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(List target, node_reader.shape_integers(1));
  return placed_rewrite({std::move(input)}, [target = std::move(target), literal](ModelWriter& w, PlacedPorts inputs) {
    return placed_reshape(w, inputs[0], target, literal != 0);
  });
}

RewriteResult squeeze(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axes"}));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)},
                        [axes](ModelWriter& w, PlacedPorts inputs) { return placed_squeeze(w, inputs[0], axes); });
}

RewriteResult unsqueeze(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axes"}));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
  if (!axes) return malformed("it has no axes");
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)}, [axes = *axes](ModelWriter& w, PlacedPorts inputs) {
    return placed_unsqueeze(w, inputs[0], axes);
  });
}

RewriteResult transpose(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"perm"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(List perm, node_reader.list("perm", {}));
  return placed_rewrite({std::move(input)}, [perm = std::move(perm)](ModelWriter& w, PlacedPorts inputs) {
    List order = perm;
    for (std::size_t i = file_rank(w, inputs[0]); perm.empty() && i-- > 0;)
      order.push_back(static_cast<std::int64_t>(i));
    return placed_transpose(w, inputs[0], order);
  });
}

RewriteResult slice(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"starts", "ends", "axes"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const auto starts, node_reader.shape_integers("starts", 1));
  LANISTA_ASSIGN(const auto ends, node_reader.shape_integers("ends", 2));
  LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 3));
  LANISTA_ASSIGN(const auto steps, node_reader.integers("steps", 4));
  if (!starts || !ends) return malformed("it has no starts or no ends");
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    List seen = file_dims(w, value), own_ends = *ends;
    // Any number stands for the batch; a slice up to it selects all.
    for (std::int64_t& size : seen) size = is_batch(size) ? kAnyBatch : size;
    for (std::int64_t& end : own_ends) end = is_batch(end) ? kAnyBatch : end;
    if (std::ranges::any_of(*starts, is_batch)) return unsupported("it cuts the batch");
    LANISTA_ASSIGN(const auto cuts, slice_axes(*starts, own_ends, axes, steps, seen));
    for (const SliceAxis& cut : cuts) {
      const bool whole = cut.begin == 0 && cut.step == 1 && cut.count == seen[cut.axis] && cut.count > 0;
      if (whole) continue;
      const auto at = port_axis(w, value, static_cast<std::int64_t>(cut.axis));
      if (!at) return unsupported("it cuts the batch");
      if (cut.count < 1) return unsupported("it selects no elements");
      if (cut.step > 0) {
        LANISTA_ASSIGN(value.port, taken_in_steps(w, value.port, *at, cut.begin, cut.step, cut.count));
        continue;
      }
      List picks;
      for (std::int64_t i = 0; i < cut.count; ++i) picks.push_back(cut.begin + i * cut.step);
      LANISTA_ASSIGN(value.port, taken(w, value.port, *at, picks));
    }
    return value;
  });
}

/// One of the parts. The rule is called for each output of the node.
RewriteResult split(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis", "split", "num_outputs"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 0));
  LANISTA_ASSIGN(const auto sizes, node_reader.shape_integers("split", 1));
  const auto count = static_cast<std::int64_t>(node_reader.node().outputs.size());
  const std::size_t part = node_reader.output();
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    const auto at = port_axis(w, inputs[0], axis);
    if (!at) return at.error().code == Code::kUnimplemented ? unsupported("it cuts the batch") : at.error();
    const std::int64_t size = w.dims(inputs[0].port)[*at];
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
    LANISTA_ASSIGN(const Port port, taken_in_steps(w, inputs[0].port, *at, start, 1, own[part]));
    return PlacedPort{port, inputs[0].place};
  });
}

/// Elements of a value at constant indices along an axis.
RewriteResult gather_elements(const NodeReader& node_reader) {
  if (node_reader.has(0) && node_reader.view().constant(node_reader.node().inputs[0]) != nullptr) return Rewrite{};
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  const OnnxNode* flat = node_reader.view().producer(input, "Reshape");
  const auto view = node_reader.has(1) ? node_reader.view().counting_shape(node_reader.node().inputs[1]) : std::nullopt;
  if (axis == 0 && flat != nullptr && view && flat->inputs.size() == 2) {
    const auto target = node_reader.view().integers(flat->inputs[1]);
    if (target && *target == List{-1}) {
      return placed_rewrite({flat->inputs[0]}, [shape = *view](ModelWriter& w, PlacedPorts inputs) {
        return placed_reshape(w, inputs[0], shape);
      });
    }
  }
  const Tensor* positions = node_reader.has(1) ? node_reader.view().constant(node_reader.node().inputs[1]) : nullptr;
  if (positions == nullptr) return unsupported("its input 1 is no constant");
  LANISTA_ASSIGN(const List indices, integers_of(*positions));
  const List shape = positions->shape;
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    LANISTA_ASSIGN(const std::size_t at, port_axis(w, value, axis));
    LANISTA_ASSIGN(const std::size_t file_axis, axis_of(axis, file_rank(w, value)));
    List picks = indices;
    for (std::int64_t& pick : picks) {
      const std::int64_t size = w.dims(value.port)[at];
      pick += pick < 0 ? size : 0;
      if (pick < 0 || pick >= size) return malformed("an index is beyond the " + std::to_string(size) + " there are");
    }
    if (picks.empty()) return unsupported("it selects no elements");
    LANISTA_ASSIGN(value.port, taken(w, value.port, at, picks));
    if (shape.empty()) return placed_squeeze(w, value, List{static_cast<std::int64_t>(file_axis)});
    // The axis becomes those of the indices.
    List rest(w.dims(value.port).begin() + 1, w.dims(value.port).end());
    const auto place = rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at) - 1);
    rest.insert(place, shape.begin(), shape.end());
    LANISTA_ASSIGN(value.port, in_shape(w, value.port, rest));
    if (file_axis < value.place.axis) value.place.axis += shape.size() - 1;
    return value;
  });
}

/// The perm and the sizes between DepthToSpace or its inverse: blocks of pixels become channels, or come from them.
RewriteResult blocks(const NodeReader& node_reader, bool to_space) {
  LANISTA_TRY(node_reader.allow_attributes({"blocksize", "mode"}));
  LANISTA_ASSIGN(const std::int64_t size, node_reader.integer("blocksize", 0));
  LANISTA_ASSIGN(const std::string mode, node_reader.text("mode", "DCR"));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  if (mode != "DCR" && mode != "CRD") return malformed("its mode is \"" + mode + "\"; known are DCR and CRD");
  if (size < 1 || size > kMaxExtent) return malformed("its blocksize is " + std::to_string(size));
  return Rewrite{{std::move(input)}, [=](ModelWriter& w, Ports inputs) -> Result<Port> {
                   const List dims = w.dims(inputs[0]);
                   const bool fits = dims.size() == 4 && (to_space ? dims[1] % (size * size) == 0
                                                                   : dims[2] % size == 0 && dims[3] % size == 0);
                   if (!fits) return malformed("blocks of " + std::to_string(size) + " do not fit " + sizes_text(dims));
                   const std::int64_t c = dims[1], h = dims[2], width = dims[3], few = c / (size * size);
                   const List apart = !to_space       ? List{c, h / size, size, width / size, size}
                                      : mode == "CRD" ? List{few, size, size, h, width}
                                                      : List{size, size, few, h, width};
                   const bool channels_first = mode == "CRD";
                   const List perm = !to_space ? (channels_first ? List{0, 1, 3, 5, 2, 4} : List{0, 3, 5, 1, 2, 4})
                                     : channels_first ? List{0, 1, 4, 2, 5, 3}
                                                      : List{0, 3, 4, 1, 5, 2};
                   const List together =
                       to_space ? List{few, h * size, width * size} : List{c * size * size, h / size, width / size};
                   LANISTA_ASSIGN(const Port split, in_shape(w, inputs[0], apart));
                   LANISTA_ASSIGN(const Port turned, w.add("transpose", {split}, {{"axes", perm}}));
                   return in_shape(w, turned, together);
                 }};
}

}  // namespace

RewriteRules shape_rules() {
  return {{"Cast", {cast}},
          {"CastLike", {cast_like}},
          {"DepthToSpace", {[](const NodeReader& node) { return blocks(node, true); }}},
          {"Flatten", {flatten}},
          {"Gather", {gather_elements, embedding_gather}},
          {"Identity", {same}},
          {"Reshape", {group_norm_group, reshape}},
          {"Slice", {slice}},
          {"SpaceToDepth", {[](const NodeReader& node) { return blocks(node, false); }}},
          {"Split", {split}},
          {"Squeeze", {squeeze}},
          {"Transpose", {transpose}},
          {"Unsqueeze", {unsqueeze}}};
}

}  // namespace lanista::formats::onnx
