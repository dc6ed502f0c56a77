#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/backends/aten/lane_calls.h"

namespace lanista::device {

class OperandRounding;

/// Optimiser update that a weight-gradient product applies to the parameters [m, n] of each lane.
struct FusedUpdate {
  lane::UpdateTarget to;                  ///< parameters and optimiser slots in the lanes' states
  lane::UpdateRule by = lane::kNoUpdate;  ///< rule of the optimiser
};

/// Operations that a product applies to its result before it stores it.
struct ProductEpilogue {
  double scale = 1;   ///< factor of the product, applied first
  Tensor bias = {};   ///< [batch, n] of products without an inner batch, added to every row
  Tensor other = {};  ///< tensor of the product's shape that is added to it

  LaneActivation activation = {};  ///< activation f
  Tensor pre_activation = {};      ///< input of f, of the product's shape; the product is multiplied by f' of it
  bool activated = false;          ///< true: f(y) is returned in addition to y

  bool column_sums = false;  ///< true: the column sums of the right matrix are returned too
  Tensor destination = {};   ///< tensor that receives the product; allowed with a scale only
  /// Update to apply if the product is a weight gradient; null otherwise.
  ///
  /// The parameters of active lanes are updated at once, and no y is returned. If the product cannot do so, it returns
  /// y. Allowed with a scale and column sums only.
  const FusedUpdate* fused_update = nullptr;
};

/// Results of a product.
struct ProductResult {
  /// Product, with the outer dimensions of `left`: dense, or `destination`. Undefined if the update was applied.
  Tensor y;
  Tensor activated;    ///< f(y), dense; undefined unless requested
  Tensor column_sums;  ///< [batch, n]; undefined unless requested
};

/// Matrix products by lane kernels, all lanes in one launch.
///
/// Operands are [batch, m, k] and [batch, k, n], or [outer, inner, .., ..], with any strides. The terms of an element
/// are added in ascending order. LibTorch computes the exceptions: products with few elements and long sums, with
/// rounded operands, without terms, or with matrices above 2^31 elements.
class LaneProducts {
 public:
  /// `kernels` must outlive the object.
  LaneProducts(const LaneKernels& kernels, const OperandRounding& products);
  /// Returns the product of `left` and `right`, with the operations of `end`.
  ProductResult operator()(const Tensor& left, const Tensor& right, const ProductEpilogue& end = {}) const;
  /// Returns the lane kernels that compute the products.
  const LaneKernels& kernels() const { return *kernels_; }
  /// Returns a copy that uses the tile `kernel`, one of `tiles`, for all sizes if possible. The tile changes no bit.
  /// For tests.
  LaneProducts with_tile(std::string_view kernel) const;
  /// Returns the names of the tile kernels for a type of values, for with_tile().
  static std::vector<std::string> tiles(at::ScalarType type);

 private:
  ProductResult multiply_with_library(const Tensor& left, const Tensor& right, const ProductEpilogue& end) const;

  const LaneKernels* kernels_;
  bool uses_lane_kernels_;  // false with operand rounding, for which LibTorch uses tensor cores
  std::string tile_ = {};
};

/// Computes a `matmul` operator of all lanes on tensors [lanes, samples, rows, columns] with any strides.
class LaneMatmul {
 public:
  /// Copies its arguments and reads the transpositions of `call`. The product is multiplied by `scale`.
  LaneMatmul(const LaneProducts& multiply, const AtenCall& call, double scale = 1);
  /// Returns the product [outer, inner, rows, columns], written to `destination` if it is defined.
  Tensor operator()(const Tensor& left, const Tensor& right, const Tensor& destination = {}) const;

 private:
  LaneProducts multiply_;
  bool transposes_left_, transposes_right_;
  double scale_;
};

}  // namespace lanista::device
