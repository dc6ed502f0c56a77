#pragma once
// The commit: gradients are scaled and applied to parameters and slots by the rules of update_rules.inc.h.
#include "lanista/exec/backends/cuda_blocks/device/math.inc.h"

namespace lanista::device::block {
namespace {

constexpr int kSquareBlock = 1024;

/// Gradient clipping: the factor of all gradients, 1 or clip_norm divided by their norm.
/// n: parameters. at: gradients, the factor, scratch of doubles [9 blocks].
BLOCK_OP int op_clip(const Call& call, const Frame& f, int first_thread) {
  const Reals gradients = place(f, call.at[0]), factor = place(f, call.at[1]);
  const int count = call.n[0], blocks = (count + kSquareBlock - 1) / kSquareBlock;
  const Doubles partial = doubles_at(place(f, call.at[2])), sums = partial + 8 * blocks;
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < 8 * blocks; i += kThreads) {
      const int start = i / 8 * kSquareBlock, end = smaller(start + kSquareBlock, count);
      double sum = 0;
      for (int k = start + i % 8; k < end; k += 8) {
        const double v = static_cast<double>(gradients[k]);
        sum = madd(v, v, sum);
      }
      partial[i] = sum;
    }
  }
  lane_barrier();
  PHASE(t) {
    BLOCK_UNROLL_BY(1)
    for (int i = t; i < blocks; i += kThreads) sums[i] = tree_of<double>(partial, 8 * i);
  }
  lane_barrier();
  PHASE(t) {
    if (t == 0) {
      double total = 0;
      for (int i = 0; i < blocks; ++i) total += sums[i];
      const double wanted = f.step->clip_norm / (root_of(total) + 1e-6);
      factor[0] = wanted >= 1 ? 1.0F : static_cast<float>(wanted);
    }
  }
  return used(1);
}

/// A parameter and its optimiser slots after an update.
struct Moved {
  float p, first, second;
};

/// Hyper-parameters of a step, for the rules of update_rules.inc.h. Both rates are that of the range.
struct Hyper : Step {
  float rate, corrected_rate, shrink;
  BLOCK_METHOD float madd(float a, float b, float c) const { return block::madd(a, b, c); }
  BLOCK_METHOD float sqrt(float x) const { return root_of(x); }
};

template <class Rule>
BLOCK_FN Moved moved(const Hyper& h, float p, float g, float first, float second) {
  Rule::step(h, g, p, first, second);
  return {p, first, second};
}

struct Moved4 {
  Four p, first, second;
};

/// Addresses of parameters, gradients and slots, and which slots the rule reads.
struct Flat {
  Reals gradients, parameters, first, second;
  bool has_first, has_second;
};

BLOCK_FN bool uses(SlotUse slot, const Frame& f) {
  return slot == kUsedSlot || (slot == kMomentumSlot && f.step->has_momentum != 0);
}

/// n: optimiser, words from a slot to the next. at: gradients, parameters, slots, the factor.
template <class Rule>
BLOCK_FN Flat flat_of(const Call& call, const Frame& f) {
  Flat at;
  at.gradients = place(f, call.at[0]);
  at.parameters = place(f, call.at[1]);
  at.has_first = uses(Rule::kFirst, f);
  at.has_second = uses(Rule::kSecond, f);
  at.first = at.has_first ? place(f, call.at[2]) : at.parameters;
  at.second = at.has_second ? at.first + call.n[1] : at.parameters;
  return at;
}

template <class Rule>
BLOCK_NOINLINE_FN void move_piece(const Call& call, const Frame& f, int number, int first_thread) {
  const LrRange piece = f.step->lr_ranges[number];
  const Hyper h{*f.step, piece.rate, piece.rate, piece.shrink};
  const Flat at = flat_of<Rule>(call, f);
  const float factor = h.clip_norm > 0 ? static_cast<float>(place(f, call.at[3])[0]) : 1.0F;
  const int begin = piece.begin, count = piece.count;
  if (count % 4 != 0 || !whole(at.gradients + begin) || !whole(at.parameters + begin) || !whole(at.first + begin) ||
      !whole(at.second + begin)) {
    each_into<1>(
        count, first_thread,
        [&](int k) {
          const int i = begin + k;
          return moved<Rule>(h, at.parameters[i], at.gradients[i] * factor, at.has_first ? at.first[i] : 0.0F,
                             at.has_second ? at.second[i] : 0.0F);
        },
        [&](int k, const Moved& to) {
          const int i = begin + k;
          at.parameters[i] = to.p;
          if (at.has_first) at.first[i] = to.first;
          if (at.has_second) at.second[i] = to.second;
        });
    return;
  }
  each_into<2>(
      count / 4, first_thread,
      [&](int k) {
        const int i = begin + 4 * k;
        Moved4 to{load4(at.parameters, i), {}, {}};
        const Four g = load4(at.gradients, i);
        if (at.has_first) to.first = load4(at.first, i);
        if (at.has_second) to.second = load4(at.second, i);
        BLOCK_UNROLL(4)
        for (int j = 0; j < 4; ++j) {
          const Moved one = moved<Rule>(h, to.p.v[j], g.v[j] * factor, to.first.v[j], to.second.v[j]);
          to.p.v[j] = one.p;
          to.first.v[j] = one.first;
          to.second.v[j] = one.second;
        }
        return to;
      },
      [&](int k, const Moved4& to) {
        const int i = begin + 4 * k;
        store4(at.parameters, i, to.p);
        if (at.has_first) store4(at.first, i, to.first);
        if (at.has_second) store4(at.second, i, to.second);
      });
}

template <class Rule>
BLOCK_FN void move_all(const Call& call, const Frame& f, int first_thread) {
  const int count = f.step->num_lr_ranges;
  BLOCK_UNROLL_BY(1)
  for (int i = 0; i < count; ++i) move_piece<Rule>(call, f, i, first_thread);
}

BLOCK_OP int op_update(const Call& call, const Frame& f, int first_thread) {
#define BLOCK_MOVE_ALL(name, Name) \
  if (call.n[0] == k##Name) move_all<Name##Rule>(call, f, first_thread);
  DEVICE_UPDATE_RULES(BLOCK_MOVE_ALL)
#undef BLOCK_MOVE_ALL
  return 0;
}

}  // namespace
}  // namespace lanista::device::block
