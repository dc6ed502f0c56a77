#pragma once

#include "lanista/base/precision.h"
#include "lanista/exec/backends/aten/aten_table.h"

namespace lanista::device {

/// The numbers nearest to those of x, ties to even, that tf32 (10 bits of mantissa) or bf16 (7) has; in float32. What
/// is no finite number stays what it is. Lanes that share values still share them.
Tensor rounded(const Tensor& x, Precision precision);

/// How products see their operands, the first two inputs of their calls: as they are, or rounded. Sums, and whatever a
/// call does besides, know no rounding.
class OperandRounding {
 public:
  explicit OperandRounding(Precision precision = Precision::kFloat32) : precision_(precision) {}
  /// The entry of an operator that is a product.
  AtenPrepare of(AtenPrepare entry) const;
  bool rounds_operands() const { return stored(precision_) != precision_; }

 private:
  Precision precision_;
};

}  // namespace lanista::device
