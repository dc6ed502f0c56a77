// Means, sums and maxima over dimensions.
#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// Reduces the dimensions `axes` of a port to 1.
using Reduce = std::function<Result<Port>(ModelWriter&, Port, const List& axes)>;

Result<Port> mean(ModelWriter& w, Port value, const List& axes) {
  return w.add("mean", {value}, {{"axes", axes}, {"keep", true}});
}

Result<Port> sum(ModelWriter& w, Port value, const List& axes) {
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(w.dims(value)[static_cast<std::size_t>(axis)]);
  LANISTA_ASSIGN(const Port average, mean(w, value, axes));
  return w.add("scale_by", {average}, {{"by", count}});
}

Result<Port> opposite_of(ModelWriter& w, Port value) { return w.add("scale_by", {value}, {{"by", -1.0}}); }

Result<Port> minima(ModelWriter& w, Port value, const List& axes) {
  LANISTA_ASSIGN(const Port opposite, opposite_of(w, value));
  LANISTA_ASSIGN(const Port largest, maxima(w, opposite, axes));
  return opposite_of(w, largest);
}

Result<Port> sum_of_squares(ModelWriter& w, Port value, const List& axes) {
  LANISTA_ASSIGN(const Port squares, w.add("mul", {value, value}));
  return sum(w, squares, axes);
}

Result<Port> norm(ModelWriter& w, Port value, const List& axes) {
  LANISTA_ASSIGN(const Port squares, sum_of_squares(w, value, axes));
  return w.add("sqrt", {squares});
}

Result<Port> sum_of_sizes(ModelWriter& w, Port value, const List& axes) {
  LANISTA_ASSIGN(const Port opposite, opposite_of(w, value));
  LANISTA_ASSIGN(const Port below, w.add("relu", {opposite}));
  LANISTA_ASSIGN(const Port above, w.add("relu", {value}));
  LANISTA_ASSIGN(const Port sizes, w.add("add", {above, below}));
  return sum(w, sizes, axes);
}

RewriteRule reduction(Reduce reduce, bool plain_mean = false) {
  return [reduce = std::move(reduce), plain_mean](const NodeReader& node_reader) -> RewriteResult {
    LANISTA_TRY(node_reader.allow_attributes({"axes", "keepdims", "noop_with_empty_axes"}));
    LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
    LANISTA_ASSIGN(const auto axes, node_reader.integers("axes", 1));
    LANISTA_ASSIGN(const std::int64_t keep, node_reader.integer("keepdims", 1));
    if (!axes || axes->empty()) return unsupported("without axes it reduces the batch, or nothing");
    return placed_rewrite(
        {std::move(input)}, [=, axes = *axes](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
          PlacedPort value = inputs[0];
          const auto own = port_axes(w, value, axes);
          if (!own) {
            return own.error().code == Code::kDataLoss ? own.error() : unsupported("it averages over the batch");
          }
          std::vector<std::size_t> gone;
          for (const std::int64_t axis : axes) {
            LANISTA_ASSIGN(const std::size_t at, axis_of(axis, file_rank(w, value)));
            gone.push_back(at);
          }
          const BatchPlace place = keep != 0 ? value.place : place_without(value.place, gone);
          if (plain_mean) {
            LANISTA_ASSIGN(value.port, w.add("mean", {value.port}, {{"axes", *own}, {"keep", keep != 0}}));
            return PlacedPort{value.port, place};
          }
          List rest;
          const List dims = w.dims(value.port);
          for (std::size_t i = 1; i < dims.size(); ++i) {
            const bool reduced = std::ranges::count(*own, static_cast<std::int64_t>(i)) > 0;
            if (!reduced) rest.push_back(dims[i]);
          }
          if (keep == 0 && rest.empty()) return unsupported("it leaves nothing but the batch");
          LANISTA_ASSIGN(value.port, reduce(w, value.port, *own));
          if (keep != 0) return value;
          LANISTA_ASSIGN(value.port, in_shape(w, value.port, rest));
          return PlacedPort{value.port, place};
        });
  };
}

}  // namespace

RewriteRules reduce_rules() {
  return {{"ReduceL1", {reduction(sum_of_sizes)}},
          {"ReduceL2", {reduction(norm)}},
          {"ReduceMax", {reduction(maxima)}},
          {"ReduceMean", {reduction(mean, true)}},
          {"ReduceMin", {reduction(minima)}},
          {"ReduceSum", {reduction(sum)}},
          {"ReduceSumSquare", {reduction(sum_of_squares)}}};
}

}  // namespace lanista::formats::onnx
