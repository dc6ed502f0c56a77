#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lanista/exec/program/section.h"

namespace lanista::program {

/// A narrow linear layer at the beginning of a model, as one product for all lanes with one batch.
///
/// The weights of the lanes stand side by side in one matrix, so the columns of several lanes share a vector register.
/// A column is the same sum in the same order as in the lane alone, so the bits are equal. Calls before the layer read
/// no parameter, so they run once for all lanes. Examples: a head on the features of a frozen part, a linear model on a
/// table.
template <class T>
struct JointLinear {
  std::size_t forward_call = 0;  ///< Index in Section::calls of the layer, with or without a ReLU.
  std::size_t grad_call = 0;     ///< Index in Section::calls of its weight gradient; greater than `forward_call`.
  ElementCount rows;             ///< Rows of the product.
  std::int64_t in = 0, out = 0;  ///< Columns of the input, and of the result of one lane.
  Product<T> product = nullptr;  ///< Computes the layer.
  bool biased = false;           ///< True: the layer has a bias.
  Address x, w, bias;            ///< Input, weight and bias; `bias` is not used without a bias.
  Address y, dy, dw;             ///< Result, its gradient, and the gradient of the weight.

  /// Finds this layer in a training step. None if there is none, if it is too wide (autodiff::is_joint_row), or if
  /// other calls read its weight gradient or the results of the calls before it.
  static std::optional<JointLinear> find(const LoweredGraph& lowered, const Section<T>& section,
                                         const SectionInputs<T>& inputs, std::int64_t vector_bytes);

  /// Elements of the memory that forward() and weight_grads() need, with batches of `max_batch` samples.
  std::int64_t elements(std::int64_t lanes, std::int64_t max_batch) const {
    return lanes * out * (rows.at(max_batch) + in + 1);
  }

  /// Runs the calls before the layer in the first lane, and computes the layer of all `lanes` into `memory`. Their
  /// contexts have one batch.
  void forward(const kernels::Kernels<T>& k, const std::vector<Run<T>>& calls, std::span<const RunContext<T>> lanes,
               T* memory) const;
  /// Copies the result of lane number `i` of `count` from `memory` to the lane's own place, where its next calls read.
  void take_result(const RunContext<T>& lane, std::int64_t i, std::int64_t count, const T* memory) const;
  /// Copies the gradient of that result into `memory`, over the result.
  void give_grad(const RunContext<T>& lane, std::int64_t i, std::int64_t count, T* memory) const;
  /// Computes the weight gradients of all `lanes`, after give_grad() of each, at the places of the lanes.
  void weight_grads(const kernels::Kernels<T>& k, std::span<const RunContext<T>> lanes, T* memory) const;

 private:
  /// Copies a matrix of `num_rows` rows and `out` columns between one lane and the columns of all.
  void copy(std::int64_t num_rows, const T* from, std::int64_t from_columns, T* to, std::int64_t to_columns) const;
  /// The parts of the memory, for `lanes` lanes and a batch of `batch` samples.
  struct Parts {
    T* results;  // or their gradients: rows of all lanes
    T* weights;  // or their gradients
    T* offsets;
  };
  Parts parts(T* memory, std::size_t lanes, std::int64_t batch) const;
};

}  // namespace lanista::program
