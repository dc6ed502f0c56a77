#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "lanista/model/graph/graph.h"

// Values of which the batch is not the first dimension in the file, as exporters of attention write them.
namespace lanista::formats::onnx {

class ModelWriter;

/// Where the ONNX file has the batch of a value. The value of the model has the batch first, and the other dimensions
/// in the order of the file. A dimension of the file may be the product before x batch x after. Then the model has
/// `before` and `after` as dimensions of their own.
struct BatchPlace {
  std::size_t axis = 0;                ///< dimension of the file that is the batch, or contains it
  bool before = false, after = false;  ///< whether the dimension has factors before and after the batch

  /// True means that the value of the model has the dimensions of the file.
  bool in_front() const { return axis == 0 && !before && !after; }
  bool operator==(const BatchPlace&) const = default;
};

/// A value of the model, and where the file has its batch.
struct PlacedPort {
  graph::Port port;  ///< value of the model, with the batch first
  BatchPlace place;  ///< place of the batch in the file
};

/// The number of dimensions of a value in the file.
std::size_t file_rank(const ModelWriter& writer, const PlacedPort& value);
/// The dimensions of a value in the file. An unknown batch is batch_times(1); merged with factors, batch_times(k).
List file_dims(const ModelWriter& writer, const PlacedPort& value);
/// The dimension of the port that is dimension `axis` of the file (negative: from the end). Errors: kDataLoss (there is
/// none), kUnimplemented (it contains the batch).
Result<std::size_t> port_axis(const ModelWriter& writer, const PlacedPort& value, std::int64_t axis);
/// The value after Reshape to `target`, as in the file; with `literal` a zero is a size. Errors: kInvalidArgument
/// (another number of elements), kUnimplemented (the batch does not keep its place between the other sizes).
Result<PlacedPort> placed_reshape(ModelWriter& writer, const PlacedPort& value, const List& target,
                                  bool literal = false);
/// The value after Transpose with this permutation of the dimensions of the file. Errors: kDataLoss (no permutation),
/// those of ModelWriter::add().
Result<PlacedPort> placed_transpose(ModelWriter& writer, const PlacedPort& value, const List& perm);
/// The value after Unsqueeze at these axes of the result. Errors: kDataLoss (an axis that does not exist, or twice).
Result<PlacedPort> placed_unsqueeze(ModelWriter& writer, const PlacedPort& value, const List& axes);
/// The value after Squeeze of these axes; without axes, of all sizes of 1. Errors: kDataLoss (an axis that does not
/// exist or is not 1), kUnimplemented (the batch is squeezed, or nothing is left).
Result<PlacedPort> placed_squeeze(ModelWriter& writer, const PlacedPort& value, const std::optional<List>& axes);
/// The place of the batch after a reduction of these dimensions of the file, which disappear.
BatchPlace place_without(const BatchPlace& place, const std::vector<std::size_t>& axes);
/// The dimensions of the port that are these dimensions of the file, in ascending order. Errors: as of port_axis().
Result<List> port_axes(const ModelWriter& writer, const PlacedPort& value, const List& axes);
/// The dimensions of a constant that is broadcast over `value`, for the port: all of its dimensions, with 1 for the
/// batch. Errors: kUnimplemented (it would stretch the value, or differs along the batch).
Result<List> constant_dims(const ModelWriter& writer, const PlacedPort& value, const List& dims);
/// Two values as one broadcast operator reads them: equal dimensions of the ports and equal places. Errors:
/// kUnimplemented (the batches are not the same dimension), kDataLoss (the shapes do not fit).
Result<std::pair<PlacedPort, PlacedPort>> placed_broadcast(ModelWriter& writer, PlacedPort a, PlacedPort b,
                                                           std::size_t matrix_dims = 0);

// Copies of elements along a dimension of a port, not the batch.

/// The elements at `picks` along `axis`, in this order. Errors: kUnimplemented (over 256 runs of neighbours), those of
/// ModelWriter::add(). Precondition: every pick exists, and there is one.
Result<graph::Port> taken(ModelWriter& writer, graph::Port value, std::size_t axis, const List& picks);
/// The elements `start`, `start + step` and so on, `count` of them. Preconditions: they exist; `count` is above 0.
Result<graph::Port> taken_in_steps(ModelWriter& writer, graph::Port value, std::size_t axis, std::int64_t start,
                                   std::int64_t step, std::int64_t count);
/// The value with `times` copies of its only element along `axis`.
Result<graph::Port> repeated(ModelWriter& writer, graph::Port value, std::size_t axis, std::int64_t times);
/// The value with `before` and `after` cells of `number` along `axis`. Errors: those of ModelWriter::add().
Result<graph::Port> padded(ModelWriter& writer, graph::Port value, std::size_t axis, std::int64_t before,
                           std::int64_t after, double number);
/// The values at `out` positions between the first and the last element along `axis`, interpolated linearly. Errors:
/// kUnimplemented (over 2^24 elements for a sample on the way), those of ModelWriter::add().
Result<graph::Port> interpolated(ModelWriter& writer, graph::Port value, std::size_t axis, std::int64_t out);
/// The largest of `kernel` elements at a distance of `dilation` along `axis`, at every `stride`-th position. Errors:
/// kUnimplemented (no window fits), those of ModelWriter::add().
Result<graph::Port> window_maxima(ModelWriter& writer, graph::Port value, std::size_t axis, std::int64_t kernel,
                                  std::int64_t stride, std::int64_t dilation);
/// The largest elements along the dimensions `axes`, which become 1. Errors: those of ModelWriter::add().
Result<graph::Port> maxima(ModelWriter& writer, graph::Port value, const List& axes);

}  // namespace lanista::formats::onnx
