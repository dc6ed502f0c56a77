// What optimisers make of a number's gradient, itself, and its slots; a lane's rates are a row of a table.
// NOLINTBEGIN
#define LANE_HYPER(column) T(a.hyper[lane * a.columns + column])
// Columns of the table (UpdateHyper::Column).
enum {
  lane_rate,
  lane_adam_rate,
  lane_momentum,
  lane_decay,
  lane_shrink,
  lane_beta1,
  lane_take1,
  lane_beta2,
  lane_take2,
  lane_root,
  lane_eps,
  lane_nesterov,
  lane_first
};
// A lane without decay does not look at the parameter.
#define LANE_DECAYED \
  if (LANE_HYPER(lane_decay) != T(0)) g = LANE_HYPER(lane_decay) * p + g;

struct DescentSgd {
  LANE_MEMBER void step(const Descended& a, i64 lane, T g, T& p, T& first, T&) {
    LANE_DECAYED
    const T mu = LANE_HYPER(lane_momentum);
    T step = g;
    if (mu != T(0)) {
      first = LANE_HYPER(lane_first) != T(0) ? g : mu * first + g;
      step = LANE_HYPER(lane_nesterov) != T(0) ? mu * first + g : first;
    }
    p = LANE_HYPER(lane_rate) * step + p;
  }
};
struct DescentAdam {
  LANE_MEMBER void step(const Descended& a, i64 lane, T g, T& p, T& first, T& second) {
    LANE_DECAYED
    first = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_take1) * g;
    second = LANE_HYPER(lane_beta2) * second + (LANE_HYPER(lane_take2) * g) * g;
    p = LANE_HYPER(lane_adam_rate) * (first / (LANE_SQRT(second) / LANE_HYPER(lane_root) + LANE_HYPER(lane_eps))) + p;
  }
};
struct DescentAdamw {
  LANE_MEMBER void step(const Descended& a, i64 lane, T g, T& p, T& first, T& second) {
    first = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_take1) * g;
    second = LANE_HYPER(lane_beta2) * second + (LANE_HYPER(lane_take2) * g) * g;
    const T shrunk = LANE_HYPER(lane_decay) != T(0) ? p * LANE_HYPER(lane_shrink) : p;
    p = LANE_HYPER(lane_adam_rate) * (first / (LANE_SQRT(second) / LANE_HYPER(lane_root) + LANE_HYPER(lane_eps))) +
        shrunk;
  }
};
struct DescentLion {
  LANE_MEMBER void step(const Descended& a, i64 lane, T g, T& p, T& first, T&) {
    const T toward = LANE_HYPER(lane_beta1) * first + LANE_HYPER(lane_take1) * g;
    const T sign = toward > T(0) ? T(1) : toward < T(0) ? T(-1) : toward;
    first = LANE_HYPER(lane_beta2) * first + LANE_HYPER(lane_take2) * g;
    p = LANE_HYPER(lane_rate) * sign + p * LANE_HYPER(lane_shrink);
  }
};
struct DescentRmsprop {
  LANE_MEMBER void step(const Descended& a, i64 lane, T g, T& p, T& first, T& second) {
    LANE_DECAYED
    first = LANE_HYPER(lane_beta2) * first + (LANE_HYPER(lane_take2) * g) * g;
    T step = g / (LANE_SQRT(first) + LANE_HYPER(lane_eps));
    if (LANE_HYPER(lane_momentum) != T(0)) {
      step = LANE_HYPER(lane_momentum) * second + step;
      second = step;
    }
    p = LANE_HYPER(lane_rate) * step + p;
  }
};

// Four neighbours of a lane's parameters, where they lie: brought near, changed by gradients, and put back.
struct Descending {
  i64 at;
  Four p, first, second;
};
LANE_FN void lane_descent_begins(const Descended& a, i64 lane, i64 element, bool fours, int count, Descending& of) {
  of.at = lane * a.lane + element;
  of.first = of.second = lane_zeros();
  of.p = lane_some(LANE_READ(parameters) + of.at, fours, count);
  if (a.slots[0]) of.first = lane_some((const T*)a.slots[0] + of.at, fours, count);
  if (a.slots[1]) of.second = lane_some((const T*)a.slots[1] + of.at, fours, count);
}
template <class Rule>
LANE_FN void lane_descent_ends(const Descended& a, i64 lane, const Four& g, bool fours, int count, Descending& of) {
  LANE_UNROLL for (int k = 0; k < 4; ++k) Rule::step(a, lane, g.v[k], of.p.v[k], of.first.v[k], of.second.v[k]);
  lane_put(LANE_WRITE(parameters) + of.at, of.p, fours, count);
  if (a.slots[0]) lane_put((T*)a.slots[0] + of.at, of.first, fours, count);
  if (a.slots[1]) lane_put((T*)a.slots[1] + of.at, of.second, fours, count);
}
// NOLINTEND
