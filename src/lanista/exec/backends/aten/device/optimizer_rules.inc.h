// Update rules: new parameter and slots of an element from its gradient. The hyper-parameters of a lane are a row of a
// table.
// NOLINTBEGIN
#define LANE_HYPER(column) T(a.hyper[lane * a.columns + column])
// Columns of the table (UpdateHyperTable::Column).
enum {
  lane_negative_lr,
  lane_negative_adam_lr,
  lane_momentum,
  lane_weight_decay,
  lane_decay_factor,
  lane_beta1,
  lane_one_minus_beta1,
  lane_beta2,
  lane_one_minus_beta2,
  lane_sqrt_bias_correction,
  lane_eps,
  lane_nesterov,
  lane_is_first_step
};
// A lane without decay does not read the parameter.
#define LANE_ADD_L2_DECAY \
  if (LANE_HYPER(lane_weight_decay) != T(0)) g = LANE_HYPER(lane_weight_decay) * p + g;

struct SgdRule {
  LANE_STATIC_FN void step(const UpdateTarget& a, i64 lane, T g, T& p, T& first, T&) {
    LANE_ADD_L2_DECAY
    const T mu = LANE_HYPER(lane_momentum);
    T step = g;
    if (mu != T(0)) {
      first = LANE_HYPER(lane_is_first_step) != T(0) ? g : mu * first + g;
      step = LANE_HYPER(lane_nesterov) != T(0) ? mu * first + g : first;
    }
    p = LANE_HYPER(lane_negative_lr) * step + p;
  }
};
struct AdamRule {
  LANE_STATIC_FN void step(const UpdateTarget& a, i64 lane, T g, T& p, T& first, T& second) {
    LANE_ADD_L2_DECAY
    first = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_one_minus_beta1) * g;
    second = LANE_HYPER(lane_beta2) * second + (LANE_HYPER(lane_one_minus_beta2) * g) * g;
    p = LANE_HYPER(lane_negative_adam_lr) *
            (first / (LANE_SQRT(second) / LANE_HYPER(lane_sqrt_bias_correction) + LANE_HYPER(lane_eps))) +
        p;
  }
};
struct AdamwRule {
  LANE_STATIC_FN void step(const UpdateTarget& a, i64 lane, T g, T& p, T& first, T& second) {
    first = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_one_minus_beta1) * g;
    second = LANE_HYPER(lane_beta2) * second + (LANE_HYPER(lane_one_minus_beta2) * g) * g;
    const T shrunk = LANE_HYPER(lane_weight_decay) != T(0) ? p * LANE_HYPER(lane_decay_factor) : p;
    p = LANE_HYPER(lane_negative_adam_lr) *
            (first / (LANE_SQRT(second) / LANE_HYPER(lane_sqrt_bias_correction) + LANE_HYPER(lane_eps))) +
        shrunk;
  }
};
struct LionRule {
  LANE_STATIC_FN void step(const UpdateTarget& a, i64 lane, T g, T& p, T& first, T&) {
    const T toward = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_one_minus_beta1) * g;
    const T sign = toward > T(0) ? T(1) : toward < T(0) ? T(-1) : toward;
    first = LANE_HYPER(lane_beta2) * first + LANE_HYPER(lane_one_minus_beta2) * g;
    p = LANE_HYPER(lane_negative_lr) * sign + p * LANE_HYPER(lane_decay_factor);
  }
};
struct RmspropRule {
  LANE_STATIC_FN void step(const UpdateTarget& a, i64 lane, T g, T& p, T& first, T& second) {
    LANE_ADD_L2_DECAY
    first = LANE_HYPER(lane_beta2) * first + (LANE_HYPER(lane_one_minus_beta2) * g) * g;
    T step = g / (LANE_SQRT(first) + LANE_HYPER(lane_eps));
    if (LANE_HYPER(lane_momentum) != T(0)) {
      step = LANE_HYPER(lane_momentum) * second + step;
      second = step;
    }
    p = LANE_HYPER(lane_negative_lr) * step + p;
  }
};

// Four neighbouring parameters of a lane: loaded, updated by gradients, and stored.
struct UpdateFour {
  i64 at;
  Four p, first, second;
};
LANE_FN void lane_update_load(const UpdateTarget& a, i64 lane, i64 element, bool fours, int count, UpdateFour& of) {
  of.at = lane * a.lane + element;
  of.first = of.second = lane_zeros();
  of.p = lane_load_some(LANE_READ(parameters) + of.at, fours, count);
  if (a.slots[0]) of.first = lane_load_some((const T*)a.slots[0] + of.at, fours, count);
  if (a.slots[1]) of.second = lane_load_some((const T*)a.slots[1] + of.at, fours, count);
}
template <class Rule>
LANE_FN void lane_update_store(const UpdateTarget& a, i64 lane, const Four& g, bool fours, int count, UpdateFour& of) {
  LANE_UNROLL for (int k = 0; k < 4; ++k) Rule::step(a, lane, g.v[k], of.p.v[k], of.first.v[k], of.second.v[k]);
  lane_store_some(LANE_WRITE(parameters) + of.at, of.p, fours, count);
  if (a.slots[0]) lane_store_some((T*)a.slots[0] + of.at, of.first, fours, count);
  if (a.slots[1]) lane_store_some((T*)a.slots[1] + of.at, of.second, fours, count);
}
// NOLINTEND
