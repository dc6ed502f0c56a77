// Pads of any mode along any dimension but the batch.
#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// The number that Pad fills with: an attribute up to opset 10, then input 2.
Result<double> pad_value(const NodeReader& node_reader) {
  if (!node_reader.has(2)) return node_reader.real("value", 0);
  LANISTA_ASSIGN(const Tensor* value, node_reader.weight(2));
  if (value->elements() != 1) return malformed("its value is no single number");
  return shortest_double(elements_of<float>(*value).front());
}

/// The elements along an axis of `size` with cells before and after that repeat elements. Errors: kUnimplemented
/// (another mode, or more cells than the mode has elements for).
Result<List> padded_picks(const std::string& mode, std::int64_t size, std::int64_t before, std::int64_t after) {
  const std::int64_t most = mode == "reflect" ? size - 1 : mode == "wrap" ? size : kMaxExtent;
  if (before > most || after > most) {
    return unsupported("in mode " + in_quotes(mode) + " it adds more cells than the " + std::to_string(size) +
                       " of its input allow");
  }
  List picks;
  for (std::int64_t i = -before; i < size + after; ++i) {
    const std::int64_t mirrored = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    picks.push_back(mode == "reflect" ? mirrored
                    : mode == "wrap"  ? (i + size) % size
                                      : std::clamp<std::int64_t>(i, 0, size - 1));
  }
  return picks;
}

/// The value with cells before and after along an axis of the port; negative numbers cut elements.
Result<Port> padded_axis(ModelWriter& w, Port value, std::size_t axis, std::int64_t before, std::int64_t after,
                         const std::string& mode, double number) {
  const std::int64_t start = std::max<std::int64_t>(-before, 0), end = std::max<std::int64_t>(-after, 0);
  const std::int64_t size = w.dims(value)[axis] - start - end;
  if (size < 1) return unsupported("its pads leave no elements");
  LANISTA_ASSIGN(value, taken_in_steps(w, value, axis, start, 1, size));
  before = std::max<std::int64_t>(before, 0);
  after = std::max<std::int64_t>(after, 0);
  if (before == 0 && after == 0) return value;
  if (mode == "constant") return padded(w, value, axis, before, after, number);
  LANISTA_ASSIGN(const List picks, padded_picks(mode, size, before, after));
  return taken(w, value, axis, picks);
}

RewriteResult pad(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"mode", "pads", "value"}));
  LANISTA_ASSIGN(const std::string mode, node_reader.text("mode", "constant"));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const auto pads, node_reader.integers("pads", 1));
  if (!pads) return malformed("it has no pads");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return unsupported("its mode is " + in_quotes(mode) + "; read are constant, reflect, edge and wrap");
  }
  LANISTA_ASSIGN(const double number, pad_value(node_reader));
  if (!std::isfinite(number)) return unsupported("it pads with a number that is not finite");
  std::optional<List> axes;
  if (node_reader.has(3)) {
    LANISTA_ASSIGN(axes, node_reader.integers(3));
  }
  return Rewrite{{std::move(input)}, [pads = *pads, axes, mode, number](ModelWriter& w, Ports inputs) -> Result<Port> {
                   const List dims = w.dims(inputs[0]);
                   const std::size_t count = axes ? axes->size() : dims.size();
                   if (pads.size() != 2 * count)
                     return malformed("its pads " + graph::attr_text(pads) + " are no pairs");
                   List front(dims.size(), 0), behind(dims.size(), 0);
                   for (std::size_t i = 0; i < count; ++i) {
                     LANISTA_ASSIGN(const std::size_t axis,
                                    axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), dims.size()));
                     if (std::max(std::abs(pads[i]), std::abs(pads[i + count])) > kMaxExtent) {
                       return unsupported("its pads " + graph::attr_text(pads) + " are too large");
                     }
                     front[axis] = pads[i];
                     behind[axis] = pads[i + count];
                   }
                   if (front[0] != 0 || behind[0] != 0) return unsupported("it pads the batch");
                   const bool image = dims.size() == 4 && front[1] == 0 && behind[1] == 0 && mode == "constant" &&
                                      number == 0 && std::min({front[2], front[3], behind[2], behind[3]}) >= 0;
                   if (image)
                     return w.add("pad", {inputs[0]}, {{"pads", List{front[2], behind[2], front[3], behind[3]}}});
                   Port value = inputs[0];
                   for (std::size_t axis = 1; axis < dims.size(); ++axis) {
                     LANISTA_ASSIGN(value, padded_axis(w, value, axis, front[axis], behind[axis], mode, number));
                   }
                   return value;
                 }};
}

}  // namespace

RewriteRules pad_rules() { return {{"Pad", {pad}}}; }

}  // namespace lanista::formats::onnx
