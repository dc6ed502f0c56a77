// Element-wise lane kernels, and embedding tables.
// NOLINTBEGIN
// A kernel y = f(x) or f(x, dy) from an expression for one element.
#define LANE_ELEMENTWISE(name)                                                \
  LANE_KERNEL(name, Elementwise) {                                            \
    const int vector_width = int(a.vector_width);                             \
    const Four x = lane_load(LANE_READ(x) + i * vector_width, vector_width);  \
    Four y = x, dy = x;                                                       \
    if (a.dy) dy = lane_load(LANE_READ(dy) + i * vector_width, vector_width); \
    for (int k = 0; k < 4; ++k) {                                             \
      if (k < vector_width) y.v[k] = name##_of(x.v[k], dy.v[k], a);           \
    }                                                                         \
    lane_store(LANE_WRITE(y) + i * vector_width, y, vector_width);            \
  }

LANE_FN T relu_of(T x, T, const Elementwise&) { return x <= T(0) ? T(0) : x; }
LANE_FN T relu_grad_of(T x, T dy, const Elementwise&) { return x <= T(0) ? T(0) : dy; }
LANE_FN T clip_of(T x, T, const Elementwise& a) {
  const T raised = x < T(a.a) ? T(a.a) : x;
  return raised > T(a.b) ? T(a.b) : raised;
}
LANE_FN T clip_grad_of(T x, T dy, const Elementwise& a) { return x <= T(a.a) || x >= T(a.b) ? T(0) : dy; }
LANE_FN T lane_gelu_gate(T x) { return lane_sigmoid((x * T(1.5957691216057307)) * (x * x * T(0.044715) + T(1))); }
LANE_FN T gelu_of(T x, T, const Elementwise&) { return x * lane_gelu_gate(x); }
LANE_FN T gelu_grad_of(T x, T dy, const Elementwise&) {
  const T gate = lane_gelu_gate(x);
  const T slope = x * x * T(3 * 0.044715 * 1.5957691216057307) + T(1.5957691216057307);
  return dy * ((x * slope) * (gate * (T(1) - gate)) + gate);
}
LANE_FN T silu_of(T x, T, const Elementwise&) { return x * lane_sigmoid(x); }
LANE_FN T silu_grad_of(T x, T dy, const Elementwise&) {
  const T gate = lane_sigmoid(x);
  return dy * (x * (gate * (T(1) - gate)) + gate);
}
LANE_FN T hard_swish_of(T x, T, const Elementwise&) {
  T gate = x * T(1.0 / 6) + T(0.5);
  if (gate < T(0)) gate = T(0);
  if (gate > T(1)) gate = T(1);
  return x * gate;
}
LANE_FN T hard_swish_grad_of(T x, T dy, const Elementwise&) {
  return x <= T(-3) ? T(0) : x >= T(3) ? dy : dy * (x * T(1.0 / 3) + T(0.5));
}
LANE_ELEMENTWISE(relu)
LANE_ELEMENTWISE(relu_grad)
LANE_ELEMENTWISE(clip)
LANE_ELEMENTWISE(clip_grad)
LANE_ELEMENTWISE(gelu)
LANE_ELEMENTWISE(gelu_grad)
LANE_ELEMENTWISE(silu)
LANE_ELEMENTWISE(silu_grad)
LANE_ELEMENTWISE(hard_swish)
LANE_ELEMENTWISE(hard_swish_grad)

// Activation of an epilogue, and its gradient. It is called instead of inlined, to keep the code small.
LANE_CALL Four lane_other_activation(int activation, Four x, T low, T high) {
  const Elementwise a{0, 0, 0, low, high, 1};
  Four y = x;
  for (int j = 0; j < 4; ++j) {
    switch (activation) {
      case kGelu:
        y.v[j] = gelu_of(x.v[j], x.v[j], a);
        break;
      case kSilu:
        y.v[j] = silu_of(x.v[j], x.v[j], a);
        break;
      case kHardSwish:
        y.v[j] = hard_swish_of(x.v[j], x.v[j], a);
        break;
      case kClip:
        y.v[j] = clip_of(x.v[j], x.v[j], a);
        break;
      default:
        break;
    }
  }
  return y;
}
LANE_FN Four lane_activation(int activation, Four x, T low, T high) {
  if (activation != kRelu) return lane_other_activation(activation, x, low, high);
  const Elementwise a{0, 0, 0, low, high, 1};
  LANE_UNROLL for (int j = 0; j < 4; ++j) x.v[j] = relu_of(x.v[j], x.v[j], a);
  return x;
}
LANE_CALL Four lane_other_activation_grad(int activation, Four x, Four dy, T low, T high) {
  const Elementwise a{0, 0, 0, low, high, 1};
  Four y = dy;
  for (int j = 0; j < 4; ++j) {
    switch (activation) {
      case kGelu:
        y.v[j] = gelu_grad_of(x.v[j], dy.v[j], a);
        break;
      case kSilu:
        y.v[j] = silu_grad_of(x.v[j], dy.v[j], a);
        break;
      case kHardSwish:
        y.v[j] = hard_swish_grad_of(x.v[j], dy.v[j], a);
        break;
      case kClip:
        y.v[j] = clip_grad_of(x.v[j], dy.v[j], a);
        break;
      default:
        break;
    }
  }
  return y;
}
LANE_FN Four lane_activation_grad(int activation, Four x, Four dy, T low, T high) {
  if (activation != kRelu) return lane_other_activation_grad(activation, x, dy, low, high);
  const Elementwise a{0, 0, 0, low, high, 1};
  LANE_UNROLL for (int j = 0; j < 4; ++j) dy.v[j] = relu_grad_of(x.v[j], dy.v[j], a);
  return dy;
}
LANE_KERNEL(sum, Sum) {
  const int vector_width = int(a.vector_width);
  Four y = lane_load((const T*)a.x[0] + i * vector_width, vector_width);
  for (int term = 1; term < 4; ++term) {
    if (term >= a.terms) continue;
    const Four x = lane_load((const T*)a.x[term] + i * vector_width, vector_width);
    for (int k = 0; k < 4; ++k) {
      if (k < vector_width) y.v[k] = y.v[k] + x.v[k];
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, y, vector_width);
}

// A token that is not in the table gives zeros.
LANE_KERNEL(embedding, Embedding) {
  const int vector_width = int(a.vector_width);
  const n32 of_row = n32(a.dim) / vector_width, row = n32(i) / of_row, lane = row / n32(a.each);
  const i64 token = a.tokens[lane * a.token_stride + row % n32(a.each)], column = i64(n32(i) % of_row) * vector_width;
  Four y = lane_zeros();
  if (token >= 0 && token < a.vocab) {
    y = lane_load(LANE_READ(table) + lane * a.stride + token * a.dim + column, vector_width);
  }
  if (a.position) {
    const n32 position = row % n32(a.each) % n32(a.positions);
    const Four own =
        lane_load(LANE_READ(position) + lane * a.position_stride + position * a.dim + column, vector_width);
    for (int k = 0; k < 4; ++k) {
      if (k < vector_width) y.v[k] = y.v[k] + own.v[k];
    }
  }
  lane_store(LANE_WRITE(y) + i * vector_width, y, vector_width);
}
// i counts [lanes, vocab]; threads share the columns. `table` is the gradient of the rows that were read, [lanes, each,
// dim].
LANE_ROW_KERNEL(embedding_grad, Embedding) {
  const n32 lane = n32(i) / n32(a.vocab);
  const i64 token = n32(i) % n32(a.vocab);
  const i64* tokens = a.tokens + lane * a.token_stride;
  const T* dy = LANE_READ(table) + lane * a.each * a.dim;
  T* y = LANE_WRITE(y) + i * a.dim;
  // All threads search for rows together, whether they have a column or not.
  for (i64 first = 0; first < a.dim; first += LANE_THREADS_PER_ROW) {
    const i64 k = first + LANE_ROW_OWN(0);
    const bool has = k < a.dim;
    T sum = T(0);
    LANE_ROW_FOR_EACH_MATCH(
        a.each, [&](i64 row) { return tokens[row] == token; },
        [&](i64 row) { return has ? dy[row * a.dim + k] : T(0); }, [&](T d) { sum += d; });
    if (has) y[k] = sum;
  }
}
// NOLINTEND
