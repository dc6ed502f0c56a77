#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/precision.h"
#include "lanista/exec/backends/aten/aten_queue.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/model/graph/op.h"

namespace lanista::device {

using at::Tensor;
class LaneKernels;
class OperandRounding;
struct FusedUpdate;

/// What keys a lane's masks in a step.
struct LaneKey {
  std::uint64_t seed = 0, step = 0;
  bool active = false;
  std::span<const std::int64_t> samples;  ///< [batch] numbers of them in the data set
};

/// What the calls of a section see when they run. A value is a tensor [lanes, batch, …], one without a batch
/// [lanes, …]; behind the lanes its dimensions are those of the graph, whatever the strides are.
struct Frame {
  std::int64_t lanes = 0, batch = 0;
  std::int64_t total = 0;                    ///< samples of the step; its loss is the mean over them
  at::TensorOptions real = {};               ///< element type and device of real values
  std::vector<LaneKey> keys = {};            ///< of each lane; none in inference
  Tensor smoothing = {};                     ///< [lanes] of labels
  Tensor weights = {};                       ///< [lanes, batch] of samples; undefined: 1 each
  Tensor lane_attrs = {};                    ///< [lanes, k] of ExecutableProperties::lane_attrs, double
  Tensor active = {};                        ///< [lanes] int64: 1 where a lane takes part; of steps
  Tensor mask_keys = {};                     ///< [lanes, 2] int64: seed and step, as `keys` has them for the host
  Tensor samples = {};                       ///< [lanes, batch] int64 numbers of samples, where masks are drawn
  std::vector<double> host_lane_attrs = {};  ///< the same, for kernels of the host
  MatmulPrecisionScope products = {};        ///< of the device; may be empty
  /// What gradients by these nodes are for, where their makers may change it at once; a maker that does, has no value.
  const std::map<graph::NodeId, FusedUpdate>* fused_updates = nullptr;
};

/// A call before it runs.
struct AtenCall {
  graph::OpArgs args;  ///< types of all inputs, parameters too
  const std::vector<graph::ValueType>& out;
  graph::NodeId id;
  std::vector<nn::LaneAttr>& lane_attrs;  ///< of the section so far
  mutable bool narrow = false;            ///< told by the entry: a product of rounded operands

  const graph::Shape& x(std::size_t i = 0) const { return args.inputs[i].shape; }
  const graph::Shape& y(std::size_t i = 0) const { return out[i].shape; }
  /// The index in Frame::numbers of an attribute that lanes may set.
  std::size_t lane_attr(const std::string& attr) const {
    lane_attrs.push_back({id, attr, args.real(attr)});
    return lane_attrs.size() - 1;
  }
};

using Tensors = std::vector<Tensor>;
/// Values of all inputs in, of all outputs out. What does not depend on lane or batch is fixed in it.
using AtenRun = std::function<Tensors(const Frame&, const Tensors&)>;
using AtenPrepare = std::function<AtenRun(const AtenCall&)>;
/// By the name of the operator. Kernels of the CPU have a table of the same names, less the fusions.
using AtenTable = std::map<std::string, AtenPrepare, std::less<>>;

/// Every operator of steps that this backend knows, but updates (aten_update.h); where `kernels` has one that stands
/// for many calls, it takes their place. They outlive the table.
AtenTable aten_table(const LaneKernels* kernels = nullptr, Precision precision = Precision::kFloat32);

// Its parts, one file each.
void add_dense(AtenTable& table, const OperandRounding& products);
void add_elementwise(AtenTable& table);
void add_norms(AtenTable& table);
void add_pools(AtenTable& table);
void add_moves(AtenTable& table);
void add_losses(AtenTable& table);
// Entries of kernels of our own, in place of those.
void add_lane_dense(AtenTable& table, const LaneKernels& kernels, const OperandRounding& products);
void add_lane_linear(AtenTable& table, const LaneKernels& kernels, const OperandRounding& products);
void add_lane_moves(AtenTable& table);
void add_lane_norms(AtenTable& table, const LaneKernels& kernels);
void add_lane_elementwise(AtenTable& table, const LaneKernels& kernels);
void add_lane_pools(AtenTable& table, const LaneKernels& kernels);

// What several parts use.

/// An entry that reads nothing of its call.
template <class F>
AtenPrepare elementwise_entry(F f) {
  return [f](const AtenCall&) -> AtenRun { return [f](const Frame&, const Tensors& in) { return Tensors{f(in)}; }; };
}

/// The order of a `transpose`'s dimensions as tensors have them, behind the lanes; and the way back from an order.
std::vector<std::int64_t> axes_of(const AtenCall& call);
std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& axes);
/// A mean's gradient: every number's share of what `kept` has beside it, as sizes of the call's result.
struct MeanGradientShare {
  explicit MeanGradientShare(const AtenCall& call);
  Tensor operator()(const Frame& frame, const Tensor& shares) const;
  graph::Shape kept, all;
  double count = 1;
};
/// The sizes of a value of this shape.
std::vector<std::int64_t> sizes_of(const Frame& frame, const graph::Shape& shape);
/// [.., R, C] -> [.., C]: the sum of rows, as a product with ones, so that every lane's is computed alike.
Tensor column_sum(const Tensor& rows);
/// The sum along the last dimension, which stays with size 1.
Tensor row_sum(const Tensor& x);
/// Channels last: [lanes, rows, channels] of a value whose channels are dimension `channel` of the tensor.
Tensor rows_of(const Tensor& x, std::int64_t channel);
/// [lanes, C] as [lanes, 1, C, 1, …], with the channels at dimension `channel` of `rank`.
Tensor expand_channels(const Tensor& values, std::int64_t channel, std::int64_t rank);
/// Dimension of the tensor that holds the channels of a value: behind the lanes, so one more than the graph says.
std::int64_t channel_of(const graph::Shape& shape);
Tensor sigmoid_of(const Tensor& x);

}  // namespace lanista::device
