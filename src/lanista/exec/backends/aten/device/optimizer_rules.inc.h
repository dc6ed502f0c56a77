// Updates of parameters and slots. The hyper-parameters of a lane are a row of a table.
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
// Hyper-parameters of a lane, for the rules of update_rules.inc.h.
struct LaneHyper {
  T rate, corrected_rate, momentum, decay, shrink, beta1, one_minus_beta1, beta2, one_minus_beta2, root, eps;
  bool has_weight_decay, has_momentum, nesterov, first;
  LANE_STATIC_FN T madd(T x, T y, T z) { return x * y + z; }
  LANE_STATIC_FN T sqrt(T x) { return LANE_SQRT(x); }
};
LANE_FN LaneHyper lane_hyper(const UpdateTarget& a, i64 lane) {
  return {LANE_HYPER(lane_negative_lr),
          LANE_HYPER(lane_negative_adam_lr),
          LANE_HYPER(lane_momentum),
          LANE_HYPER(lane_weight_decay),
          LANE_HYPER(lane_decay_factor),
          LANE_HYPER(lane_beta1),
          LANE_HYPER(lane_one_minus_beta1),
          LANE_HYPER(lane_beta2),
          LANE_HYPER(lane_one_minus_beta2),
          LANE_HYPER(lane_sqrt_bias_correction),
          LANE_HYPER(lane_eps),
          LANE_HYPER(lane_weight_decay) != T(0),
          LANE_HYPER(lane_momentum) != T(0),
          LANE_HYPER(lane_nesterov) != T(0),
          LANE_HYPER(lane_is_first_step) != T(0)};
}

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
  const LaneHyper h = lane_hyper(a, lane);
  LANE_UNROLL for (int k = 0; k < 4; ++k) Rule::step(h, g.v[k], of.p.v[k], of.first.v[k], of.second.v[k]);
  lane_store_some(LANE_WRITE(parameters) + of.at, of.p, fours, count);
  if (a.slots[0]) lane_store_some((T*)a.slots[0] + of.at, of.first, fours, count);
  if (a.slots[1]) lane_store_some((T*)a.slots[1] + of.at, of.second, fours, count);
}
// NOLINTEND
