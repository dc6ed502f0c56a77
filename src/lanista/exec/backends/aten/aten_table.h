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

/// Numbers that decide a lane's random masks in one step.
struct LaneKey {
  std::uint64_t seed = 0, step = 0;       ///< trial seed, step number
  bool active = false;                    ///< true: the lane takes part in the step
  std::span<const std::int64_t> samples;  ///< [batch] sample numbers in the data set
};

/// Data that all calls of a section share in one run.
///
/// A value is a tensor [lanes, batch, …], or [lanes, …] without a batch. The dimensions after the lanes are those of
/// the graph, with any strides.
struct Frame {
  std::int64_t lanes = 0;       ///< number of lanes
  std::int64_t batch = 0;       ///< samples of each lane in this call
  std::int64_t total = 0;       ///< samples of each lane in the whole step, over which its loss is the mean
  at::TensorOptions real = {};  ///< element type and device of real values

  std::vector<LaneKey> keys = {};  ///< mask keys of each lane; empty in inference
  Tensor smoothing = {};           ///< [lanes] label smoothing
  Tensor weights = {};             ///< [lanes, batch] sample weights; undefined if all are 1
  Tensor lane_attrs = {};          ///< [lanes, k] of ExecutableProperties::lane_attrs, double

  Tensor active = {};     ///< [lanes] int64: 1 if the lane takes part; only in training steps
  Tensor mask_keys = {};  ///< [lanes, 2] int64: seed and step, as `keys` has them for the host
  Tensor samples = {};    ///< [lanes, batch] int64 sample numbers, if masks are sampled

  std::vector<double> host_lane_attrs = {};  ///< `lane_attrs` in host memory, for kernels on the host
  MatmulPrecisionScope products = {};        ///< precision scope of the device; may be empty
  /// Updates that the product at a node may apply instead of storing its gradient. Such a product returns no value.
  const std::map<graph::NodeId, FusedUpdate>* fused_updates = nullptr;
};

/// A node of the step graph as the table's entries see it before it runs.
struct AtenCall {
  graph::OpArgs args;                          ///< attributes, and types of all inputs including parameters
  const std::vector<graph::ValueType>& out;    ///< types of all outputs
  graph::NodeId id;                            ///< node of the call in the step graph
  std::vector<program::LaneAttr>& lane_attrs;  ///< lane attributes of the section so far
  mutable bool narrow = false;                 ///< true, set by the entry: a product of rounded operands

  /// Returns the shape of input number `i`, from 0.
  const graph::Shape& x(std::size_t i = 0) const { return args.inputs[i].shape; }
  /// Returns the shape of output number `i`, from 0.
  const graph::Shape& y(std::size_t i = 0) const { return out[i].shape; }
  /// Registers an attribute that lanes may set and returns its index in `Frame::lane_attrs`.
  std::size_t lane_attr(const std::string& attr) const {
    lane_attrs.push_back({id, attr, args.real(attr)});
    return lane_attrs.size() - 1;
  }
};

/// List of tensors.
using Tensors = std::vector<Tensor>;

/// Runs one call: receives the values of all inputs and returns those of all outputs, in order.
using AtenRun = std::function<Tensors(const Frame&, const Tensors&)>;

/// Prepares one call: computes everything that depends on neither lane nor batch.
using AtenPrepare = std::function<AtenRun(const AtenCall&)>;

/// Entries by operator name. The kernel table of the CPU has the same names, without the fusions.
using AtenTable = std::map<std::string, AtenPrepare, std::less<>>;

/// Returns the entries of all step operators of this backend except optimiser updates (`aten_update.h`).
///
/// If `kernels` is not null, its lane kernels replace entries of ATen calls. `kernels` must outlive the table.
AtenTable aten_table(const LaneKernels* kernels = nullptr, Precision precision = Precision::kFloat32);

/// Adds to `table` the entries, made of LibTorch calls, for linear layers, convolutions and matrix products.
void add_dense(AtenTable& table, const OperandRounding& products);
/// Adds to `table` the entries, made of LibTorch calls, for activations and other element-wise operators.
void add_elementwise(AtenTable& table);
/// Adds to `table` the entries, made of LibTorch calls, for normalisations.
void add_norms(AtenTable& table);
/// Adds to `table` the entries, made of LibTorch calls, for pools.
void add_pools(AtenTable& table);
/// Adds to `table` the entries, made of LibTorch calls, for data movement.
void add_moves(AtenTable& table);
/// Adds to `table` the entries, made of LibTorch calls, for losses.
void add_losses(AtenTable& table);
/// Replaces the entries of convolutions in `table` by calls of `kernels`, which must outlive it.
void add_lane_dense(AtenTable& table, const LaneKernels& kernels, const OperandRounding& products);
/// Replaces the entries of linear layers and matrix products in `table` by calls of `kernels`, which must outlive it.
void add_lane_linear(AtenTable& table, const LaneKernels& kernels, const OperandRounding& products);
/// Replaces `transpose` by a view if the last axis stays the last one, else by one copy.
void add_lane_moves(AtenTable& table);
/// Replaces the entries of layer norm, softmax and the training form of batch norm, with their gradients, by lane
/// kernels. `kernels` must outlive `table`.
void add_lane_norms(AtenTable& table, const LaneKernels& kernels);
/// Replaces the entries of element-wise operators, embeddings, dropout and cross-entropy in `table` by calls of
/// `kernels`, which must outlive it.
void add_lane_elementwise(AtenTable& table, const LaneKernels& kernels);
/// Replaces the entries of pools in `table` by calls of `kernels`, which must outlive it.
void add_lane_pools(AtenTable& table, const LaneKernels& kernels);

/// Returns the entry for a function of the input tensors alone.
template <class F>
AtenPrepare elementwise_entry(F f) {
  return [f](const AtenCall&) -> AtenRun { return [f](const Frame&, const Tensors& in) { return Tensors{f(in)}; }; };
}

/// Returns the permutation of a `transpose` call in tensor dimensions: the lane dimension 0 stays first, and then each
/// axis of the attribute `axes`, where 0 is the batch, plus 1.
std::vector<std::int64_t> axes_of(const AtenCall& call);

/// Returns the inverse of a permutation.
std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& axes);

/// Gradient of a mean: spreads the gradient of each mean over the elements of the mean.
struct MeanGradientShare {
  /// Reads the shapes of the operator that computes a mean's gradient.
  explicit MeanGradientShare(const AtenCall& call);
  /// Returns `shares`, one value for each mean, expanded to the sizes of the call's result.
  Tensor operator()(const Frame& frame, const Tensor& shares) const;
  graph::Shape kept;  ///< shape of the means, with reduced dimensions of size 1
  graph::Shape all;   ///< shape of the result
  double count = 1;   ///< number of elements of one mean
};

/// Returns the tensor sizes of a value with this shape, including the lane dimension.
std::vector<std::int64_t> sizes_of(const Frame& frame, const graph::Shape& shape);

/// Returns the sum over rows: [.., R, C] to [.., C], as a product with ones. So every lane is computed by the same
/// code.
Tensor column_sum(const Tensor& rows);

/// Returns the sum along the last dimension, which stays with size 1.
Tensor row_sum(const Tensor& x);

/// Returns x as [lanes, rows, channels], where dimension `channel` of x holds the channels.
Tensor rows_of(const Tensor& x, std::int64_t channel);

/// Returns `values` [lanes, C] as [lanes, 1, C, 1, …], with the channels at dimension `channel` of `rank`.
Tensor expand_channels(const Tensor& values, std::int64_t channel, std::int64_t rank);

/// Returns the tensor dimension of a value's channels, including the lane dimension.
std::int64_t channel_of(const graph::Shape& shape);

/// Returns the sigmoid of x, element by element.
Tensor sigmoid_of(const Tensor& x);

}  // namespace lanista::device
