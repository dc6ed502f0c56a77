#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/backends/aten/lane_calls.h"

namespace lanista::device {

class OperandRounding;

/// Parameters [m, n] of each lane, one behind the other where the state holds them, and what changes them.
struct FusedUpdate {
  lane::UpdateTarget to;
  lane::UpdateRule by = lane::kNoUpdate;
};

/// What a product does to its numbers before it stores them.
struct ProductEpilogue {
  double scale = 1;
  Tensor bias = {};                ///< [batch, n] of products without an inner batch, added to every row
  Tensor other = {};               ///< as the product: added to it
  LaneActivation activation = {};  ///< f
  Tensor pre_activation = {};      ///< what f was of, as the product: its gradient goes on
  bool activated = false;          ///< f(y) is wanted beside y
  bool column_sums = false;        ///< of the right matrix, beside the product
  Tensor destination = {};         ///< where the product is written, if that is somewhere; with a scale alone
  /// Of what the product is the gradient, if anything: lanes that are active descend at once, and there is no y; where
  /// that cannot be, there is one. With a scale and column sums alone.
  const FusedUpdate* fused_update = nullptr;
};

struct ProductResult {
  Tensor y, activated, column_sums;  ///< [batch, m, n] without gaps, the same, [batch, n]
};

/// OperandRounding of matrices [batch, m, k] and [batch, k, n], or [outer, inner, .., ..], wherever their numbers lie;
/// all in one launch. A number's terms are added in their order, but for few numbers of long sums, which the library
/// makes.
class LaneProducts {
 public:
  LaneProducts(const LaneKernels& kernels, const OperandRounding& products);
  ProductResult operator()(const Tensor& left, const Tensor& right, const ProductEpilogue& end = {}) const;
  const LaneKernels& kernels() const { return *kernels_; }
  /// The same, whatever the sizes, with one tile of `tiles`, where it can be. No bit depends on it.
  LaneProducts with_tile(std::string_view kernel) const;
  static std::vector<std::string> tiles(at::ScalarType type);

 private:
  ProductResult multiply_with_library(const Tensor& left, const Tensor& right, const ProductEpilogue& end) const;

  const LaneKernels* kernels_;
  bool uses_lane_kernels_;  ///< no rounding, for which the library has units of its own
  std::string tile_ = {};
};

/// What a `matmul` makes of values, wherever their matrices lie.
class LaneMatmul {
 public:
  LaneMatmul(const LaneProducts& multiply, const AtenCall& call, double scale = 1);
  /// [outer, inner, rows, columns]; in `destination`, wherever its matrices lie, if there is such a place.
  Tensor operator()(const Tensor& left, const Tensor& right, const Tensor& destination = {}) const;

 private:
  LaneProducts multiply_;
  bool transposes_left_, transposes_right_;
  double scale_;
};

}  // namespace lanista::device
