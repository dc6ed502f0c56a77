#pragma once
// Which taps apply at which positions of one image axis. Positions with the same taps form a class. Positions, taps and
// sources of a class are arithmetic progressions. So the tile kernel runs a whole class without a branch per tap, and
// border taps are skipped rather than multiplied by zero.

#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

inline i64 gcd_of(i64 a, i64 b) {
  while (b != 0) {
    const i64 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// Forward: an output position o reads source o * stride - pad + tap * dilation. Backward: an input position i reads
/// output (i + pad - tap * dilation) / stride where that is whole.
struct ConvAxis {
  i64 positions, source_len, taps, stride, pad, dilation;
  bool backward;

  i64 position_step() const { return backward ? stride : 1; }
  i64 tap_step() const { return backward ? stride / gcd_of(dilation, stride) : 1; }
  i64 source_per_position() const { return backward ? 1 : stride; }
  i64 source_per_tap() const { return backward ? -(dilation / gcd_of(dilation, stride)) : dilation; }
};

struct AxisClass {
  i64 first = 0, count = 0;    // positions first, first + position_step, ...
  i64 tap = 0, tap_count = 0;  // taps tap, tap + tap_step, ...
  i64 source = 0;              // of the first position at the first tap
};

inline AxisClass axis_class_at(const ConvAxis& axis, i64 position) {
  AxisClass at;
  at.first = position;
  if (!axis.backward) {
    const i64 start = position * axis.stride - axis.pad;
    const i64 low = start < 0 ? (-start + axis.dilation - 1) / axis.dilation : 0;
    const i64 remaining = axis.source_len - start;
    const i64 high = remaining <= 0 ? 0 : smaller(axis.taps, (remaining + axis.dilation - 1) / axis.dilation);
    at.tap = low;
    at.tap_count = larger(0, high - low);
    at.source = start + low * axis.dilation;
    if (at.tap_count == 0) at.tap = at.source = 0;
    return at;
  }
  const i64 step = axis.tap_step();
  i64 tap = 0;
  while (tap < step && (position + axis.pad - tap * axis.dilation) % axis.stride != 0) ++tap;
  if (tap == step) return at;
  for (; tap < axis.taps; tap += step) {
    const i64 shifted = position + axis.pad - tap * axis.dilation;
    if (shifted < 0) break;
    const i64 source = shifted / axis.stride;
    if (source >= axis.source_len) continue;
    if (at.tap_count == 0) {
      at.tap = tap;
      at.source = source;
    }
    ++at.tap_count;
  }
  return at;
}

/// Steps through the classes of an axis: `current.count == 0` before the first one.
inline bool next_class(const ConvAxis& axis, AxisClass& current) {
  const i64 step = axis.position_step();
  i64 position = current.count == 0 ? 0 : current.first + current.count * step;
  if (position >= axis.positions) {
    position = current.first % step + 1;
    if (position >= smaller(step, axis.positions)) return false;
  }
  if (current.count == 0 && axis.positions <= 0) return false;
  current = axis_class_at(axis, position);
  current.count = 1;
  for (i64 next = position + step; next < axis.positions; next += step) {
    const AxisClass other = axis_class_at(axis, next);
    if (other.tap != current.tap || other.tap_count != current.tap_count) break;
    ++current.count;
  }
  return true;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
