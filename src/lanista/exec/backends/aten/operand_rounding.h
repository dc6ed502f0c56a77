#pragma once

#include "lanista/base/precision.h"
#include "lanista/exec/backends/aten/aten_table.h"

namespace lanista::device {

/// Returns x rounded to the nearest tf32 (10 bits of mantissa) or bf16 (7 bits) values, ties to even. The result is
/// float32.
///
/// With any other precision it returns x. NaN and infinity stay so. Lanes that share memory share it in the result too.
Tensor rounded(const Tensor& x, Precision precision);

/// Rounding of a product's operands, which are the first two inputs of its call. Sums and epilogues are not rounded.
class OperandRounding {
 public:
  /// With kFloat32 or kFloat64, operands are not rounded.
  explicit OperandRounding(Precision precision = Precision::kFloat32) : precision_(precision) {}
  /// Returns the table entry of a product with its operands rounded first.
  AtenPrepare of(AtenPrepare entry) const;
  /// Returns true if operands are rounded.
  bool rounds_operands() const { return stored(precision_) != precision_; }

 private:
  Precision precision_;
};

}  // namespace lanista::device
