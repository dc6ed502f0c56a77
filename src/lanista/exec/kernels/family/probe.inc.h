#pragma once
// Probes of a level's limits: multiply-adds without memory access, and reads without dependent arithmetic.

#include "lanista/exec/kernels/family/vector_ops.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

template <class T>
i64 fma_chain(i64 rounds, T* out) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr int kChains = kProbeChains;  // more than latency times units; with both constants they fit 16 registers
  V chain[kChains];
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) chain[c] = S::set(static_cast<T>(c));
  const V half = S::set(T(0.5)), one = S::set(T(1));
  for (i64 r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) chain[c] = S::madd(chain[c], half, one);
  }
  for (int c = 0; c < kChains; ++c) {
    T lanes[S::kWidth];
    S::store(lanes, chain[c]);
    out[c] = lanes[S::kWidth - 1];
  }
  return rounds * kChains * S::kWidth * 2;
}

template <class T>
T read_sum(i64 rounds, i64 count, const T* x) {
  using S = Wide<T>;
  using V = typename S::V;
  constexpr i64 kW = S::kWidth;
  constexpr int kStreams = 8;
  V sum[kStreams] = {};
  for (i64 r = 0; r < rounds; ++r) {
    i64 i = 0;
    for (; i + kStreams * kW <= count; i += kStreams * kW) {
#pragma GCC unroll 8
      for (int j = 0; j < kStreams; ++j) sum[j] = sum[j] + S::load(x + i + j * kW);
    }
    for (; i + kW <= count; i += kW) sum[0] = sum[0] + S::load(x + i);
    if (i < count) sum[1] = sum[1] + S::load_part(x + i, count - i);
  }
  T total = T(0);
  for (int j = 0; j < kStreams; ++j) {
    T lanes[kW];
    S::store(lanes, sum[j]);
    for (i64 lane = 0; lane < kW; ++lane) total += lanes[lane];
  }
  return total;
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
