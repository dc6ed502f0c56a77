// A step whose batch comes in parts: shards, and parts of a shard that are accumulated. Every sum over parts has one
// order: parts of a shard ascending, then shards ascending, each element one addition at a time. Whoever computes the
// shards, one program or several, the additions are the same.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lanista/exec/program/lane_program.h"

namespace lanista::nn {
namespace {

constexpr auto kLossBytes = static_cast<std::int64_t>(kAlignment);  // at the end of what is told of a shard

// Numbers of parts, added up to those of shards, and these to that of the shard's place.
class PartSum {
 public:
  void add(const Part& part, bool opens_place, double value, double& place) {
    shard_ = part.begins_shard ? value : shard_ + value;
    if (part.ends_shard) place = opens_place ? shard_ : place + shard_;
  }

 private:
  double shard_ = 0;
};

// What all ranks told of places, in order of the shards.
template <class F>
void each_told(const ShardPeers& peers, const Cut& cut, std::int64_t n, std::int64_t shard_bytes, const F& f) {
  for (std::int64_t rank = 0; rank < peers.width(); ++rank) {
    const std::int64_t places = cut.share(n, peers.width(), rank).places();
    for (std::int64_t i = 0; i < places; ++i) f(peers.told(rank) + i * shard_bytes);
  }
}

}  // namespace

// Where gradients and losses of shards are summed: place after place, `stride` bytes apart.
template <class T>
struct LaneProgram<T>::Sums {
  T* gradients = nullptr;
  double* loss = nullptr;
  std::int64_t stride = 0;
  bool add = false;  // to what is there

  T* gradients_at(std::int64_t place) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(gradients) + place * stride);
  }
  double& loss_at(std::int64_t place) const {
    return *reinterpret_cast<double*>(reinterpret_cast<std::byte*>(loss) + place * stride);
  }
};

template <class T>
RunContext<T> LaneProgram<T>::part_of(const RunContext<T>& run, const Part& part, std::int64_t arena) const {
  RunContext<T> own = run;
  own.batch = part.size;
  own.base[static_cast<std::size_t>(Space::kArena)] += arena * arena_stride_;
  own.base[static_cast<std::size_t>(Space::kInput)] += part.begin * input_.stride;
  std::byte*& target = own.base[static_cast<std::size_t>(Space::kTarget)];
  if (target != nullptr) target += part.begin * target_.stride;
  if (own.sample_index != nullptr) own.sample_index += part.begin;
  if (own.weights != nullptr) own.weights += part.begin;
  return own;
}

template <class T>
double LaneProgram<T>::loss_sum(const RunContext<T>& run) const {
  double sum = 0;
  for (std::int64_t i = 0; i < run.batch; ++i) sum += static_cast<double>(run.at(loss_)[i]);
  return sum;
}

template <class T>
void LaneProgram<T>::add_gradients(T* sum, const T* first, const T* second) const {
  for (const Range& run : kind_->layout().trained) {
    kernels_->add(run.count, first + run.begin, second + run.begin, sum + run.begin);
  }
}

template <class T>
double LaneProgram<T>::sum_parts(const RunContext<T>& run, T* out, bool add) {
  if (stages_) return stages_->sum(run, out, desk_gradients(static_cast<int>(run.thread), gradient_count_ - 1), add);
  double loss = 0;
  const ShardRange all = cut_.share(run.batch, 1, 0);
  const Sums sums{.gradients = out, .loss = &loss, .add = add};
  if (train_.exchanges.empty()) {
    sum_apart(run, all, sums);
  } else {
    sum_in_step(run, all, sums, nullptr);
  }
  return loss;
}

// In what this rank tells in the coming round.
template <class T>
typename LaneProgram<T>::Sums LaneProgram<T>::sums_of(ShardPeers& peers) const {
  std::byte* const mine = peers.mine();
  const std::int64_t stride = facts().shard_bytes;
  return {.gradients = reinterpret_cast<T*>(mine),
          .loss = reinterpret_cast<double*>(mine + stride - kLossBytes),
          .stride = stride};
}

template <class T>
double LaneProgram<T>::sum_with(ShardPeers& peers, const RunContext<T>& run, T* out) {
  const std::int64_t stride = facts().shard_bytes;
  const ShardRange own = cut_.share(run.batch, peers.width(), peers.rank());
  if (!train_.exchanges.empty()) {
    sum_in_step(run, own, {}, &peers);
  } else {
    sum_apart(run, own, sums_of(peers));
  }
  peers.meet();
  const T* sum = nullptr;
  double loss = 0;
  each_told(peers, cut_, run.batch, stride, [&](const std::byte* told) {
    const T* const gradients = reinterpret_cast<const T*>(told);
    const double losses = *reinterpret_cast<const double*>(told + stride - kLossBytes);
    if (sum == nullptr) {
      sum = gradients;
      loss = losses;
      return;
    }
    add_gradients(out, sum, gradients);
    sum = out;
    loss += losses;
  });
  return loss;
}

// Part after part. The first one writes, the first of a shard does so beside the sum of those before.
template <class T>
void LaneProgram<T>::sum_apart(const RunContext<T>& run, const ShardRange& own, const Sums& sums) {
  const int thread = static_cast<int>(run.thread);
  const bool at_desk = sums.gradients == desk_gradients(thread, 0);
  T* const beside = desk_gradients(thread, at_desk && gradient_count_ > 1 ? 1 : 0);
  T* const piece = desk_gradients(thread, gradient_count_ - 1);
  PartSum losses;
  cut_.each(run.batch, [&](const Part& part) {
    if (!own.has(part)) return;
    const std::int64_t place = own.place(part);
    T* const out = sums.gradients_at(place);
    T* const shard = own.opens_place(part) && !sums.add ? out : beside;
    T* const to = part.begins_shard ? shard : piece;
    RunContext<T> now = part_of(run, part, 0);
    now.base[static_cast<std::size_t>(Space::kGradient)] = reinterpret_cast<std::byte*>(to);
    for (const Run<T>& call : train_.calls) call(now);
    losses.add(part, own.opens_place(part), loss_sum(now), sums.loss_at(place));
    if (to != shard) add_gradients(shard, shard, to);
    if (part.ends_shard && shard != out) add_gradients(out, out, shard);
  });
}

template <class T>
RunContext<T> LaneProgram<T>::waiting_part(const RunContext<T>& run, const Part& part) const {
  RunContext<T> now = part_of(run, part, part.number);
  now.base[static_cast<std::size_t>(Space::kGradient)] =
      reinterpret_cast<std::byte*>(desk_gradients(static_cast<int>(run.thread), part.number));
  return now;
}

// Of one call of all own parts: the value that all shards give together, whoever computes them.
template <class T>
void LaneProgram<T>::exchange_values(const RunContext<T>& run, const Exchange<T>& exchange, const ShardRange& own,
                                     ShardPeers* peers) {
  double* const value = reinterpret_cast<double*>(desk(static_cast<int>(run.thread)) + value_offset_);
  double* const beside = value + exchange.numbers;
  double* const piece = beside + exchange.numbers;
  std::byte* const out = peers != nullptr ? peers->mine() : reinterpret_cast<std::byte*>(value);
  cut_.each(run.batch, [&](const Part& part) {
    if (!own.has(part)) return;
    double* const sum = reinterpret_cast<double*>(out + own.place(part) * facts().shard_bytes);
    double* const shard = own.opens_place(part) ? sum : beside;
    double* const given = part.begins_shard ? shard : piece;
    exchange.give(waiting_part(run, part), given);
    if (given != shard) exchange.merge(exchange.numbers, shard, given);
    if (part.ends_shard && shard != sum) exchange.merge(exchange.numbers, sum, shard);
  });
  if (peers != nullptr) {
    peers->meet();
    bool is_first = true;
    each_told(*peers, cut_, run.batch, facts().shard_bytes, [&](const std::byte* told) {
      const double* const shard = reinterpret_cast<const double*>(told);
      if (std::exchange(is_first, false)) {
        std::copy_n(shard, exchange.numbers, value);
      } else {
        exchange.merge(exchange.numbers, value, shard);
      }
    });
  }
  cut_.each(run.batch, [&](const Part& part) {
    if (own.has(part)) exchange.take(waiting_part(run, part), value);
  });
}

// All parts together, as far as the next value that they exchange.
template <class T>
void LaneProgram<T>::sum_in_step(const RunContext<T>& run, const ShardRange& own, Sums sums, ShardPeers* peers) {
  std::size_t begin = 0;
  const auto run_until = [&](std::size_t end) {
    cut_.each(run.batch, [&](const Part& part) {
      if (!own.has(part)) return;
      const RunContext<T> now = waiting_part(run, part);
      for (std::size_t i = begin; i < end; ++i) train_.calls[i](now);
    });
    begin = end;
  };
  for (const ExchangeCall<T>& each : train_.exchanges) {
    run_until(each.call);
    ++begin;
    exchange_values(run, each.exchange, own, peers);
  }
  run_until(train_.calls.size());

  if (peers != nullptr) sums = sums_of(*peers);
  PartSum losses;
  T* shard = nullptr;
  cut_.each(run.batch, [&](const Part& part) {
    if (!own.has(part)) return;
    const std::int64_t place = own.place(part);
    losses.add(part, own.opens_place(part), loss_sum(waiting_part(run, part)), sums.loss_at(place));
    T* const gradients = desk_gradients(static_cast<int>(run.thread), part.number);
    if (part.begins_shard) {
      shard = gradients;
    } else {
      add_gradients(shard, shard, gradients);
    }
    T* const out = sums.gradients_at(place);
    if (!part.ends_shard || shard == out) return;
    if (own.opens_place(part) && !sums.add) {
      std::memcpy(out, shard, static_cast<std::size_t>(bytes_of<T>(kind_->layout().parameters)));
    } else {
      add_gradients(out, out, shard);
    }
  });
}

#define LANISTA_PARTS(T)                                                                                 \
  template RunContext<T> LaneProgram<T>::part_of(const RunContext<T>&, const Part&, std::int64_t) const; \
  template double LaneProgram<T>::sum_parts(const RunContext<T>&, T*, bool);                             \
  template double LaneProgram<T>::sum_with(ShardPeers&, const RunContext<T>&, T*);
LANISTA_PARTS(float)
LANISTA_PARTS(double)
#undef LANISTA_PARTS

}  // namespace lanista::nn
