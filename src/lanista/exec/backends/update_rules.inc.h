#pragma once
// The update rules of the optimisers, for the batched and the block backend. The compilers of the host and NVRTC read
// this text. Formulas are those of kernels/family/update.inc.h.

/// All rules: RULE(name of the optimiser, name of the rule without "Rule").
#define DEVICE_UPDATE_RULES(RULE) \
  RULE(sgd, Sgd) RULE(adam, Adam) RULE(adamw, Adamw) RULE(lion, Lion) RULE(rmsprop, Rmsprop)

#ifdef __CUDACC_RTC__
#define UPDATE_FN static __device__ __forceinline__
#else
#define UPDATE_FN static
#endif

namespace lanista::device {
namespace {

#ifndef __CUDACC_RTC__
#define UPDATE_RULE_NAME(name, Name) #name,
/// Names of the optimisers, in the order of DEVICE_UPDATE_RULES.
constexpr const char* kUpdateRuleNames[] = {DEVICE_UPDATE_RULES(UPDATE_RULE_NAME)};
#undef UPDATE_RULE_NAME
#endif

/// When a rule reads and writes an optimiser slot.
enum SlotUse { kUnusedSlot, kMomentumSlot, kUsedSlot };

// A rule changes a parameter `p` and its slots by the gradient `g`. `h` has the hyper-parameters of the lane and the
// arithmetic of the backend: `h.madd(a, b, c)` is a b + c. A rule without a slot leaves it as it is.

struct SgdRule {
  static constexpr SlotUse kFirst = kMomentumSlot, kSecond = kUnusedSlot;
  template <class Hyper, class T>
  UPDATE_FN void step(const Hyper& h, T g, T& p, T& first, T&) {
    if (h.has_weight_decay) g = h.madd(h.decay, p, g);
    if (h.has_momentum) {
      // The first momentum is the gradient.
      first = h.first ? g : h.madd(h.momentum, first, g);
      g = h.nesterov ? h.madd(h.momentum, first, g) : first;
    }
    p = h.madd(h.rate, g, p);
  }
};

/// Both forms of Adam. Decay acts on the gradient, or if decoupled on the parameter.
template <bool kDecoupled>
struct AnyAdamRule {
  static constexpr SlotUse kFirst = kUsedSlot, kSecond = kUsedSlot;
  template <class Hyper, class T>
  UPDATE_FN void step(const Hyper& h, T g, T& p, T& first, T& second) {
    if (h.has_weight_decay && kDecoupled) p = p * h.shrink;
    if (h.has_weight_decay && !kDecoupled) g = h.madd(h.decay, p, g);
    first = h.madd(h.beta1, first, h.one_minus_beta1 * g);
    second = h.madd(h.beta2, second, (h.one_minus_beta2 * g) * g);
    p = h.madd(h.corrected_rate, first / (h.sqrt(second) / h.root + h.eps), p);
  }
};
using AdamRule = AnyAdamRule<false>;
using AdamwRule = AnyAdamRule<true>;

struct LionRule {
  static constexpr SlotUse kFirst = kUsedSlot, kSecond = kUnusedSlot;
  template <class Hyper, class T>
  UPDATE_FN void step(const Hyper& h, T g, T& p, T& first, T&) {
    const T toward = h.madd(h.beta1, first, h.one_minus_beta1 * g);
    const T down = toward < T(0) ? T(-1) : toward;
    const T sign = toward > T(0) ? T(1) : down;
    first = h.madd(h.beta2, first, h.one_minus_beta2 * g);
    p = h.madd(h.rate, sign, p * h.shrink);
  }
};

struct RmspropRule {
  static constexpr SlotUse kFirst = kUsedSlot, kSecond = kMomentumSlot;
  template <class Hyper, class T>
  UPDATE_FN void step(const Hyper& h, T g, T& p, T& first, T& second) {
    if (h.has_weight_decay) g = h.madd(h.decay, p, g);
    first = h.madd(h.beta2, first, (h.one_minus_beta2 * g) * g);
    T step = g / (h.sqrt(first) + h.eps);
    if (h.has_momentum) {
      step = h.madd(h.momentum, second, step);
      second = step;
    }
    p = h.madd(h.rate, step, p);
  }
};

}  // namespace
}  // namespace lanista::device
