#pragma once
// Dropout by Philox4x32-10 (Salmon et al., SC'11): 32 elements at a time, the same words as `dropout_keeps`.

#include "lanista/exec/kernels/family/vector_ops.inc.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/kernels/levels.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Words of counters (high, low .. low + 7), word-major: words[8 * word + counter].
inline void philox_eight(u64 key, u64 high, u64 low, u32* words) {
  u32 c0[8], c1[8], c2[8], c3[8];
  for (u32 i = 0; i < 8; ++i) {
    c0[i] = static_cast<u32>(low + i);
    c1[i] = static_cast<u32>((low + i) >> 32);
    c2[i] = static_cast<u32>(high);
    c3[i] = static_cast<u32>(high >> 32);
  }
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 8; ++i) {
      const u64 a = u64{0xD2511F53U} * c0[i], b = u64{0xCD9E8D57U} * c2[i];
      c0[i] = static_cast<u32>(b >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<u32>(b);
      c2[i] = static_cast<u32>(a >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<u32>(a);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (int i = 0; i < 8; ++i) {
    words[i] = c0[i];
    words[8 + i] = c1[i];
    words[16 + i] = c2[i];
    words[24 + i] = c3[i];
  }
}

template <class T>
void dropout(i64 samples, i64 per_sample, const i64* sample_index, double p, DropoutKey key, const T* x, T* y) {
  const u64 mixed = detail::dropout_stream(key);
  // word * 2^-32 < 1 - p, decided with integers.
  const double bound = (1.0 - p) * 4294967296.0;
  u64 least_dropped = bound <= 0 ? 0 : (bound >= 4294967296.0 ? u64{1} << 32 : static_cast<u64>(bound));
  if (static_cast<double>(least_dropped) < bound) ++least_dropped;
  const T factor = p < 1 ? static_cast<T>(1.0 / (1.0 - p)) : T(0);
  for (i64 s = 0; s < samples; ++s) {
    const u64 sample = static_cast<u64>(sample_index[s]);
    const T* from = x + s * per_sample;
    T* to = y + s * per_sample;
    for (i64 e = 0; e < per_sample; e += 32) {
      u32 words[32];
      philox_eight(mixed, sample, static_cast<u64>(e / 4), words);
      const i64 count = smaller(32, per_sample - e);
      if (count == 32) {
        for (int i = 0; i < 32; ++i) to[e + i] = words[i] < least_dropped ? from[e + i] * factor : T(0);
      } else {
        for (i64 i = 0; i < count; ++i) to[e + i] = words[i] < least_dropped ? from[e + i] * factor : T(0);
      }
    }
  }
}

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
