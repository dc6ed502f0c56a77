// Lane kernels at the end of a step: losses, updates, totals of the chunk, and masks.
// NOLINTBEGIN
// ---- losses ----

LANE_FN T lane_cross_entropy_grad(T p, bool is_label, T hard, T soft, T share) {
  return (p - (is_label ? hard + soft : soft)) * share;
}
// i counts samples of all lanes; threads share the classes.
LANE_ROW_KERNEL(cross_entropy, CrossEntropy) {
  const i64 lane = n32(i) / n32(a.samples), sample = n32(i) % n32(a.samples);
  const T smoothing = T(a.smoothing[lane * a.smoothing_stride]);
  const T hard = T(1) - smoothing, soft = smoothing / T(a.classes);
  const T weight = a.weights ? LANE_READ(weights)[i] : T(1);
  T total = T(0);
  for (i64 position = 0; position < a.positions; ++position) {
    const i64 row = i * a.positions + position;
    const T* x = LANE_READ(x) + row * a.classes;
    T* p = LANE_WRITE(y) + row * a.classes;
    T most = x[0], sum = T(0), all = T(0);
    LANE_ROW_OF(k, a.classes) most = x[k] > most || x[k] != x[k] ? x[k] : most;
    most = LANE_ROW_MAX(most);
    LANE_ROW_OF(k, a.classes) {
      const T z = x[k] - most;
      all += z;
      sum += p[k] = LANE_EXP(z);
    }
    sum = LANE_ROW_SUM(sum);
    all = LANE_ROW_SUM(all);
    const i64 label = a.labels[lane * a.label_stride + sample * a.positions + position];
    LANE_ROW_OF(k, a.classes) {
      p[k] = p[k] / sum;
      if (a.gradient) {
        const T g = lane_cross_entropy_grad(p[k], label == k, hard, soft, T(a.share));
        LANE_WRITE(gradient)[row * a.classes + k] = a.weights ? g * weight : g;
      }
    }
    total += LANE_LOG(sum) - (hard * (x[label] - most) + (smoothing == T(0) ? T(0) : soft * all));
  }
  T loss = total / T(a.positions);
  if (a.weights) loss = loss * weight;
  if (LANE_ROW_FIRST) LANE_WRITE(loss)[i] = loss;
}
// i counts elements.
LANE_KERNEL(cross_entropy_grad, CrossEntropy) {
  const i64 k = n32(i) % n32(a.classes), row = n32(i) / n32(a.classes), sample = n32(row) / n32(a.positions),
            lane = n32(sample) / n32(a.samples);
  const T smoothing = T(a.smoothing[lane * a.smoothing_stride]);
  const T hard = T(1) - smoothing, soft = smoothing / T(a.classes);
  const i64 label = a.labels[lane * a.label_stride + row - lane * a.samples * a.positions];
  T y = lane_cross_entropy_grad(LANE_READ(x)[i], label == k, hard, soft, T(a.share));
  if (a.weights) y = y * LANE_READ(weights)[sample];
  LANE_WRITE(y)[i] = y;
}

// ---- the end of a step ----

// Rows of totals: sum of losses, last loss, first non-finite step.
LANE_FN void lane_record_loss(const LossRecord& a, i64 lane, double sum) {
  const double loss = sum / double(a.samples);
  a.totals[lane] += loss * double(a.samples);
  a.totals[a.lanes + lane] = loss;
  if (!(loss - loss == 0) && a.totals[2 * a.lanes + lane] < 0) a.totals[2 * a.lanes + lane] = double(a.step[0]);
}
// i is a lane; threads share the samples.
LANE_ROW_KERNEL(note, LossRecord) {
  if (a.active[i] == 0) return;
  double sum = 0;
  LANE_ROW_OF(n, a.samples) sum += double(LANE_READ(losses)[i * a.samples + n]);
  sum = LANE_ROW_SUM(sum);
  if (LANE_ROW_FIRST) lane_record_loss(a, i, sum);
}
// As `note`, by one thread.
LANE_FN void lane_record_loss_by_one_thread(const LossRecord& a, i64 lane) {
  if (a.active[lane] == 0) return;
  const T* losses = LANE_READ(losses) + lane * a.samples;
  double sum = 0;
  constexpr int kAtOnce = 32;  // loads in flight; all other threads wait for this one
  LANE_NO_UNROLL for (int first = 0; first < int(a.samples); first += kAtOnce) {
    T loss[kAtOnce];
    LANE_UNROLL for (int n = 0; n < kAtOnce; ++n) loss[n] = first + n < int(a.samples) ? losses[first + n] : T(0);
    LANE_UNROLL for (int n = 0; n < kAtOnce; ++n) {
      if (first + n < int(a.samples)) sum += double(loss[n]);
    }
  }
  lane_record_loss(a, lane, sum);
}

// Range of a lane's element.
LANE_FN int lane_range_index(const StateRanges& of, i64 element) {
  int low = 0, high = of.items - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (of.first[middle] <= element) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}
// An optimiser step for four elements per thread. i counts fours of all lanes, then lanes with losses to record.
template <class Rule>
LANE_FN void lane_update(i64 i, const Update& a) {
  const n32 of_lane = n32(a.of.count) / 4;
  if (i >= a.updates) {
    lane_record_loss_by_one_thread(a.note, i - a.updates);
    return;
  }
  const i64 lane = n32(i) / of_lane, element = i64(n32(i) % of_lane) * 4;
  if (a.to.active[lane] == 0) return;
  const int item = lane_range_index(a.of, element);
  const i64 own = element - a.of.first[item];
  const bool fours = a.of.fours[item] != 0;
  const int count = int(a.of.length[item] - own < 4 ? a.of.length[item] - own : 4);
  Four g = lane_load_some((const T*)a.of.from[item] + lane * a.of.from_stride[item] + own, fours, count);
  if (a.scale) {
    LANE_UNROLL for (int k = 0; k < 4; ++k) g.v[k] = g.v[k] * LANE_READ(scale)[lane];
  }
  UpdateFour of;
  lane_update_load(a.to, lane, a.of.begin[item] + own, fours, count, of);
  lane_update_store<Rule>(a.to, lane, g, fours, count, of);
}
#define LANE_UPDATE_KERNEL(name, Name) \
  LANE_KERNEL(update_##name, Update) { lane_update<lanista::device::Name##Rule>(i, a); }
DEVICE_UPDATE_RULES(LANE_UPDATE_KERNEL)
#undef LANE_UPDATE_KERNEL
LANE_KERNEL(renew, Renew) {
  const i64 lane = n32(i) / n32(a.of.count), element = n32(i) % n32(a.of.count);
  if (a.active[lane] == 0) return;
  const int item = lane_range_index(a.of, element);
  const i64 own = element - a.of.first[item];
  if (own >= a.of.length[item]) return;
  LANE_WRITE(to)
  [lane * a.lane + a.of.begin[item] + own] = ((const T*)a.of.from[item])[lane * a.of.from_stride[item] + own];
}
// i counts [lanes, parts].
LANE_KERNEL(clip_part, Clip) {
  const i64 lane = i / a.parts;
  double sum = 0;
  for (i64 k = i % a.parts; k < a.count; k += a.parts) {
    const double g = double(LANE_READ(gradients)[lane * a.lane + k]);
    sum += g * g;
  }
  a.partial[i] = sum;
}
LANE_KERNEL(clip_end, Clip) {
  double sum = 0;
  for (i64 k = 0; k < a.parts; ++k) sum += a.partial[i * a.parts + k];
  const double clip = a.hyper[i * a.columns + a.clip], wanted = clip / (LANE_SQRT(sum) + 1e-6);
  LANE_WRITE(scale)[i] = clip > 0 && !(wanted >= 1) ? T(wanted) : T(1);
}

// ---- masks: Philox4x32-10 as kernels::dropout_keeps has it ----

LANE_FN void lane_philox(u64 key, u64 high, u64 low, u32* c) {
  u32 k0 = u32(key), k1 = u32(key >> 32);
  c[0] = u32(low);
  c[1] = u32(low >> 32);
  c[2] = u32(high);
  c[3] = u32(high >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64(0xD2511F53u) * c[0], p1 = u64(0xCD9E8D57u) * c[2];
    const u32 a = u32(p1 >> 32) ^ c[1] ^ k0, b = u32(p0 >> 32) ^ c[3] ^ k1;
    c[1] = u32(p1);
    c[3] = u32(p0);
    c[0] = a;
    c[2] = b;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
LANE_KERNEL(dropout, Dropout) {
  const i64 element = i % a.each, n = i / a.each % a.batch, lane = i / a.each / a.batch;
  if (a.active[lane] == 0) {
    LANE_WRITE(y)[i] = T(0);
    return;
  }
  u32 words[4];
  lane_philox(u64(a.keys[2 * lane]), u64(a.origin), u64(a.keys[2 * lane + 1]), words);
  const u64 stream = (u64(words[1]) << 32) | words[0];
  lane_philox(stream, u64(a.samples[lane * a.sample_stride + n]), u64(element / 32 * 8 + element % 8), words);
  const double keep = 1.0 - a.lane_attrs[lane * a.lane_attr_stride];
  const bool keeps = words[element / 8 % 4] * (1.0 / 4294967296.0) < keep;
  LANE_WRITE(y)[i] = keeps ? LANE_READ(x)[i] * T(1.0 / keep) : T(0);
}
// NOLINTEND
