// A step whose batch comes in parts: shards, and parts of a shard that are accumulated. Every sum over parts has one
// order: parts of a shard ascending, then shards ascending, each element one addition at a time.
#include <cstring>

#include "lanista/nn/lane_program.h"

namespace lanista::nn {
namespace {

// Numbers of parts, added up to those of shards, and these to that of the step.
class PartSum {
 public:
  void add(const Part& part, double value) {
    shard_ = part.begins_shard ? value : shard_ + value;
    if (part.ends_shard) total_ = part.first_shard ? shard_ : total_ + shard_;
  }
  double total() const { return total_; }

 private:
  double shard_ = 0, total_ = 0;
};

}  // namespace

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
void LaneProgram<T>::add_gradients(T* sum, const T* more) const {
  for (const Range& run : kind_->layout().trained) {
    kernels_->add(run.count, sum + run.begin, more + run.begin, sum + run.begin);
  }
}

template <class T>
double LaneProgram<T>::sum_parts(const RunContext<T>& run, T* out, bool add) {
  return train_.exchanges.empty() ? sum_apart(run, out, add) : sum_in_step(run, out, add);
}

// Part after part. The first one writes, the first of a shard does so beside the sum of those before.
template <class T>
double LaneProgram<T>::sum_apart(const RunContext<T>& run, T* out, bool add) {
  const int thread = static_cast<int>(run.thread);
  const bool own = out == desk_gradients(thread, 0);
  T* const beside = desk_gradients(thread, own && gradient_count_ > 1 ? 1 : 0);
  T* const piece = desk_gradients(thread, gradient_count_ - 1);
  PartSum losses;
  cut_.each(run.batch, [&](const Part& part) {
    T* const shard = part.first_shard && !add ? out : beside;
    T* const to = part.begins_shard ? shard : piece;
    RunContext<T> now = part_of(run, part, 0);
    now.base[static_cast<std::size_t>(Space::kGradient)] = reinterpret_cast<std::byte*>(to);
    for (const Run<T>& call : train_.calls) call(now);
    losses.add(part, loss_sum(now));
    if (to != shard) add_gradients(shard, to);
    if (part.ends_shard && shard != out) add_gradients(out, shard);
  });
  return losses.total();
}

// All parts together, as far as the next value that they exchange.
template <class T>
double LaneProgram<T>::sum_in_step(const RunContext<T>& run, T* out, bool add) {
  const int thread = static_cast<int>(run.thread);
  const auto context_of = [&](const Part& part) {
    RunContext<T> now = part_of(run, part, part.number);
    now.base[static_cast<std::size_t>(Space::kGradient)] =
        reinterpret_cast<std::byte*>(desk_gradients(thread, part.number));
    return now;
  };
  std::size_t begin = 0;
  const auto run_until = [&](std::size_t end) {
    cut_.each(run.batch, [&](const Part& part) {
      const RunContext<T> now = context_of(part);
      for (std::size_t i = begin; i < end; ++i) train_.calls[i](now);
    });
    begin = end;
  };
  double* const value = reinterpret_cast<double*>(desk(thread) + value_offset_);
  for (const ExchangeCall<T>& each : train_.exchanges) {
    const Exchange<T>& exchange = each.exchange;
    run_until(each.call);
    ++begin;
    double* const shard = value + exchange.numbers;
    double* const piece = shard + exchange.numbers;
    cut_.each(run.batch, [&](const Part& part) {
      double* const to = part.first_shard ? value : shard;
      double* const given = part.begins_shard ? to : piece;
      exchange.give(context_of(part), given);
      if (given != to) exchange.merge(exchange.numbers, to, given);
      if (part.ends_shard && to != value) exchange.merge(exchange.numbers, value, to);
    });
    cut_.each(run.batch, [&](const Part& part) { exchange.take(context_of(part), value); });
  }
  run_until(train_.calls.size());

  PartSum losses;
  T* shard = nullptr;
  cut_.each(run.batch, [&](const Part& part) {
    losses.add(part, loss_sum(context_of(part)));
    T* const own = desk_gradients(thread, part.number);
    if (part.begins_shard) {
      shard = own;
    } else {
      add_gradients(shard, own);
    }
    if (!part.ends_shard || shard == out) return;
    if (part.first_shard && !add) {
      std::memcpy(out, shard, static_cast<std::size_t>(bytes_of<T>(kind_->layout().parameters)));
    } else {
      add_gradients(out, shard);
    }
  });
  return losses.total();
}

#define LANISTA_PARTS(T)                                                                                 \
  template RunContext<T> LaneProgram<T>::part_of(const RunContext<T>&, const Part&, std::int64_t) const; \
  template double LaneProgram<T>::sum_parts(const RunContext<T>&, T*, bool);
LANISTA_PARTS(float)
LANISTA_PARTS(double)
#undef LANISTA_PARTS

}  // namespace lanista::nn
