#pragma once
// Depthwise convolutions.
#include "lanista/exec/backends/cuda_blocks/device/tap_weights.inc.h"

namespace lanista::device::block {
namespace {

/// The sums of one or four channels of a position, from `channel` on.
template <int kChannels>
BLOCK_FN Four depthwise_at(const Taps& s, int position, int channel) {
  const int c = s.source_c, line = position / s.w.positions;
  const int w = position % s.w.positions, h = line % s.h.positions, image = line / s.h.positions * s.h.length;
  Four sum = {};
  BLOCK_UNROLL_BY(1)
  for (int th = 0; th < s.h.taps; ++th) {
    const int sh = s.h.meets(h, th);
    if (sh < 0) continue;
    BLOCK_UNROLL_BY(1)
    for (int tw = 0; tw < s.w.taps; ++tw) {
      const int sw = s.w.meets(w, tw);
      if (sw < 0) continue;
      const int from = ((image + sh) * s.w.length + sw) * c + channel, tap = (th * s.w.taps + tw) * c + channel;
      if (kChannels == 4) {
        const Four x = load4(s.source, from), weight = load4(s.weights, tap);
        BLOCK_UNROLL(4)
        for (int j = 0; j < 4; ++j) sum.v[j] = madd(x.v[j], weight.v[j], sum.v[j]);
      } else {
        sum.v[0] = madd(s.source[from], s.weights[tap], sum.v[0]);
      }
    }
  }
  BLOCK_UNROLL(4)
  for (int j = 0; j < kChannels; ++j) {
    if (s.biased) sum.v[j] = sum.v[j] + s.bias[channel + j];
    if (s.relu) sum.v[j] = relu_of(sum.v[j]);
  }
  return sum;
}

/// Each channel is a group. Neighbouring threads have neighbouring channels. at: source, weights, bias, target.
BLOCK_OP int op_depthwise(const Call& call, const Frame& f, int first_thread) {
  const Taps s = taps_of(call, f);
  const int c = s.source_c, all = s.samples * s.h.positions * s.w.positions * c;
  if (c % 4 == 0 && whole(s.source) && whole(s.weights) && whole(s.target) && whole(s.finish.saved)) {
    const int fours = c / 4;
    return each_four(all / 4, s.target, first_thread,
                     [&](int i) { return s.finish.four_at(4 * i, depthwise_at<4>(s, i / fours, i % fours * 4)); });
  }
  return each_alone(all, s.target, first_thread,
                    [&](int i) { return s.finish.at(i, depthwise_at<1>(s, i / c, i % c).v[0]); });
}

/// at: x, dy, none, dw.
BLOCK_OP int op_depthwise_weights(const Call& call, const Frame& f) {
  const Taps s = taps_of(call, f);
  const Reals dy = place(f, call.at[1]), dw = place(f, call.at[3]);
  const int c = s.source_c;
  in_chunks(
      s.samples, samples_at_once(s), s.h.taps * s.w.taps * c,
      [&](int begin, int some, int busy) { prefetch_samples(s, dy, begin, some, busy); },
      [&](int i, int begin, int end) {
        const int channel = i % c, x_step = s.w.stride * c;
        float sum = begin == 0 ? 0.0F : dw[i];
        each_row_seen(s, i / c, begin, end, [&](int x, int y, int count) {
          const int from = x * c + channel, gradient = y * c + channel;
          BLOCK_UNROLL_BY(8)
          for (int k = 0; k < count; ++k) sum = madd(s.source[from + k * x_step], dy[gradient + k * c], sum);
        });
        dw[i] = sum;
      });
  return 0;
}

}  // namespace
}  // namespace lanista::device::block
