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
  const UpdateTarget& a;
  i64 lane;
  LANE_METHOD bool has_decay() const { return decay() != T(0); }
  LANE_METHOD bool has_momentum() const { return momentum() != T(0); }
  LANE_METHOD bool nesterov() const { return LANE_HYPER(lane_nesterov) != T(0); }
  LANE_METHOD bool is_first_step() const { return LANE_HYPER(lane_is_first_step) != T(0); }
  LANE_METHOD T rate() const { return LANE_HYPER(lane_negative_lr); }
  LANE_METHOD T corrected_rate() const { return LANE_HYPER(lane_negative_adam_lr); }
  LANE_METHOD T decay() const { return LANE_HYPER(lane_weight_decay); }
  LANE_METHOD T shrink() const { return LANE_HYPER(lane_decay_factor); }
  LANE_METHOD T momentum() const { return LANE_HYPER(lane_momentum); }
  LANE_METHOD T beta1() const { return LANE_HYPER(lane_beta1); }
  LANE_METHOD T one_minus_beta1() const { return LANE_HYPER(lane_one_minus_beta1); }
  LANE_METHOD T beta2() const { return LANE_HYPER(lane_beta2); }
  LANE_METHOD T one_minus_beta2() const { return LANE_HYPER(lane_one_minus_beta2); }
  LANE_METHOD T correction() const { return LANE_HYPER(lane_sqrt_bias_correction); }
  LANE_METHOD T eps() const { return LANE_HYPER(lane_eps); }
  LANE_STATIC_FN T madd(T x, T y, T z) { return x * y + z; }
  LANE_STATIC_FN T sqrt(T x) { return LANE_SQRT(x); }
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
  LANE_UNROLL for (int k = 0; k < 4; ++k)
      Rule::step(LaneHyper{a, lane}, g.v[k], of.p.v[k], of.first.v[k], of.second.v[k]);
  lane_store_some(LANE_WRITE(parameters) + of.at, of.p, fours, count);
  if (a.slots[0]) lane_store_some((T*)a.slots[0] + of.at, of.first, fours, count);
  if (a.slots[1]) lane_store_some((T*)a.slots[1] + of.at, of.second, fours, count);
}
// NOLINTEND
