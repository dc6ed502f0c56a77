#include "lanista/exec/backends/aten/operand_rounding.h"

#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>

#include <utility>

namespace lanista::device {
namespace {

constexpr int kDropped = 13;  // mantissa bits of a float that tf32 lacks

// Adds half of the dropped range, minus one if the kept part is even. A carry correctly increases the exponent.
Tensor rounded_to_tf32(const Tensor& x) {
  const Tensor bits = x.view(at::kInt);
  const Tensor odd = at::bitwise_and(at::bitwise_right_shift(bits, kDropped), 1);
  const Tensor near = at::bitwise_and(bits + odd + ((1 << (kDropped - 1)) - 1), -(1 << kDropped));
  return at::where(at::isfinite(x), near.view(at::kFloat), x);
}

}  // namespace

Tensor rounded(const Tensor& x, Precision precision) {
  if (precision != Precision::kTf32 && precision != Precision::kBf16) return x;
  if (x.size(0) > 1 && x.stride(0) == 0) return rounded(x.narrow(0, 0, 1), precision).expand(x.sizes());
  return precision == Precision::kTf32 ? rounded_to_tf32(x) : x.to(at::kBFloat16).to(at::kFloat);
}

AtenPrepare OperandRounding::of(AtenPrepare entry) const {
  if (!rounds_operands()) return entry;
  return [entry = std::move(entry), precision = precision_](const AtenCall& call) -> AtenRun {
    call.narrow = true;
    return [run = entry(call), precision](const Frame& frame, const Tensors& in) {
      Tensors operands = in;
      for (std::size_t i = 0; i < 2; ++i) operands[i] = rounded(in[i], precision);
      return run(frame, operands);
    };
  };
}

}  // namespace lanista::device
