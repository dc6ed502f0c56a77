// Steps of a batch in parts: shards, and parts of a shard. Every sum over parts has one order: parts of a shard
// ascending, then shards ascending, one addition an element. So the bits do not depend on how ranks share the shards.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lanista/exec/program/lane_program.h"

namespace lanista::program {
namespace {

constexpr auto kLossBytes = static_cast<std::int64_t>(kAlignment);  // at the end of a shard's bytes in a send buffer

// A sum of parts within a shard, which is then added to the shard's accumulator.
class ShardedSum {
 public:
  void add(const BatchPart& part, bool starts_accumulator, double value, double& accumulator) {
    shard_ = part.begins_shard ? value : shard_ + value;
    if (part.ends_shard) accumulator = starts_accumulator ? shard_ : accumulator + shard_;
  }

 private:
  double shard_ = 0;
};

// Calls f with the bytes of each accumulator of all ranks, in order of the shards.
template <class F>
void for_each_received(const ShardCommunicator& communicator, const BatchSplit& cut, std::int64_t n,
                       std::int64_t shard_bytes, const F& f) {
  for (std::int64_t rank = 0; rank < communicator.width(); ++rank) {
    const std::int64_t num_accumulators = cut.shards_of_rank(n, communicator.width(), rank).num_accumulators();
    for (std::int64_t i = 0; i < num_accumulators; ++i) f(communicator.received_from(rank) + i * shard_bytes);
  }
}

}  // namespace

// The accumulators for gradients and losses of shards, `stride` bytes apart.
template <class T>
struct LaneProgram<T>::GradientSums {
  T* gradients = nullptr;
  double* loss = nullptr;
  std::int64_t stride = 0;
  bool add = false;  // whether to add to the present values

  T* gradients_at(std::int64_t accumulator) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(gradients) + accumulator * stride);
  }
  double& loss_at(std::int64_t accumulator) const {
    return *reinterpret_cast<double*>(reinterpret_cast<std::byte*>(loss) + accumulator * stride);
  }
};

template <class T>
RunContext<T> LaneProgram<T>::part_context(const RunContext<T>& run, const BatchPart& part, std::int64_t arena) const {
  RunContext<T> own_shards = run;
  own_shards.batch = part.size;
  own_shards.base[static_cast<std::size_t>(MemorySpace::kArena)] += arena * arena_stride_;
  own_shards.base[static_cast<std::size_t>(MemorySpace::kInput)] += part.begin * input_.stride;
  std::byte*& target = own_shards.base[static_cast<std::size_t>(MemorySpace::kTarget)];
  if (target != nullptr) target += part.begin * target_.stride;
  if (own_shards.sample_index != nullptr) own_shards.sample_index += part.begin;
  if (own_shards.weights != nullptr) own_shards.weights += part.begin;
  return own_shards;
}

template <class T>
double LaneProgram<T>::loss_sum(const RunContext<T>& run) const {
  double sum = 0;
  for (std::int64_t i = 0; i < run.batch; ++i) sum += static_cast<double>(run.at(loss_)[i]);
  return sum;
}

template <class T>
void LaneProgram<T>::add_gradients(T* sum, const T* first, const T* second) const {
  for (const Range& run : state_format_->layout().trained) {
    kernels_->add(run.count, first + run.begin, second + run.begin, sum + run.begin);
  }
}

template <class T>
double LaneProgram<T>::sum_gradients(const RunContext<T>& run, T* out, bool add) {
  if (stages_)
    return stages_->sum_gradients(run, out, workspace_gradients(static_cast<int>(run.thread), gradient_count_ - 1),
                                  add);
  double loss = 0;
  const ShardRange all = batch_split_.shards_of_rank(run.batch, 1, 0);
  const GradientSums sums{.gradients = out, .loss = &loss, .add = add};
  if (train_.batch_reductions.empty()) {
    sum_parts_in_sequence(run, all, sums);
  } else {
    sum_parts_in_lockstep(run, all, sums, nullptr);
  }
  return loss;
}

// The accumulators in this rank's send buffer.
template <class T>
typename LaneProgram<T>::GradientSums LaneProgram<T>::sums_to_send(ShardCommunicator& communicator) const {
  std::byte* const send_buffer = communicator.send_buffer();
  const std::int64_t stride = properties().shard_bytes;
  return {.gradients = reinterpret_cast<T*>(send_buffer),
          .loss = reinterpret_cast<double*>(send_buffer + stride - kLossBytes),
          .stride = stride};
}

template <class T>
double LaneProgram<T>::sum_gradients_across_ranks(ShardCommunicator& communicator, const RunContext<T>& run, T* out) {
  const std::int64_t stride = properties().shard_bytes;
  const ShardRange own_shards = batch_split_.shards_of_rank(run.batch, communicator.width(), communicator.rank());
  if (!train_.batch_reductions.empty()) {
    sum_parts_in_lockstep(run, own_shards, {}, &communicator);
  } else {
    sum_parts_in_sequence(run, own_shards, sums_to_send(communicator));
  }
  communicator.all_gather();
  const T* sum = nullptr;
  double loss = 0;
  for_each_received(communicator, batch_split_, run.batch, stride, [&](const std::byte* received_from) {
    const T* const gradients = reinterpret_cast<const T*>(received_from);
    const double losses = *reinterpret_cast<const double*>(received_from + stride - kLossBytes);
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

// Computes part after part. The first part of all writes its gradients; the first of a later shard has a sum of its
// own.
template <class T>
void LaneProgram<T>::sum_parts_in_sequence(const RunContext<T>& run, const ShardRange& own_shards,
                                           const GradientSums& sums) {
  const int thread = static_cast<int>(run.thread);
  const bool in_workspace = sums.gradients == workspace_gradients(thread, 0);
  T* const scratch_sum = workspace_gradients(thread, in_workspace && gradient_count_ > 1 ? 1 : 0);
  T* const part_gradients = workspace_gradients(thread, gradient_count_ - 1);
  ShardedSum losses;
  batch_split_.for_each_part(run.batch, [&](const BatchPart& part) {
    if (!own_shards.contains(part)) return;
    const std::int64_t accumulator = own_shards.accumulator(part);
    T* const out = sums.gradients_at(accumulator);
    T* const shard = own_shards.starts_accumulator(part) && !sums.add ? out : scratch_sum;
    T* const to = part.begins_shard ? shard : part_gradients;
    RunContext<T> now = part_context(run, part, 0);
    now.base[static_cast<std::size_t>(MemorySpace::kGradient)] = reinterpret_cast<std::byte*>(to);
    for (const Run<T>& call : train_.calls) call(now);
    losses.add(part, own_shards.starts_accumulator(part), loss_sum(now), sums.loss_at(accumulator));
    if (to != shard) add_gradients(shard, shard, to);
    if (part.ends_shard && shard != out) add_gradients(out, out, shard);
  });
}

template <class T>
RunContext<T> LaneProgram<T>::lockstep_part(const RunContext<T>& run, const BatchPart& part) const {
  RunContext<T> now = part_context(run, part, part.number);
  now.base[static_cast<std::size_t>(MemorySpace::kGradient)] =
      reinterpret_cast<std::byte*>(workspace_gradients(static_cast<int>(run.thread), part.number));
  return now;
}

// Runs one call of all own parts with the partial that all shards give together, from every rank.
template <class T>
void LaneProgram<T>::reduce_over_parts(const RunContext<T>& run, const BatchReduction<T>& batch_reduction,
                                       const ShardRange& own_shards, ShardCommunicator* communicator) {
  double* const value = reinterpret_cast<double*>(workspace(static_cast<int>(run.thread)) + value_offset_);
  double* const scratch_sum = value + batch_reduction.num_values;
  double* const part_gradients = scratch_sum + batch_reduction.num_values;
  std::byte* const out = communicator != nullptr ? communicator->send_buffer() : reinterpret_cast<std::byte*>(value);
  batch_split_.for_each_part(run.batch, [&](const BatchPart& part) {
    if (!own_shards.contains(part)) return;
    double* const sum = reinterpret_cast<double*>(out + own_shards.accumulator(part) * properties().shard_bytes);
    double* const shard = own_shards.starts_accumulator(part) ? sum : scratch_sum;
    double* const given = part.begins_shard ? shard : part_gradients;
    batch_reduction.compute_partial(lockstep_part(run, part), given);
    if (given != shard) batch_reduction.merge(batch_reduction.num_values, shard, given);
    if (part.ends_shard && shard != sum) batch_reduction.merge(batch_reduction.num_values, sum, shard);
  });
  if (communicator != nullptr) {
    communicator->all_gather();
    bool is_first = true;
    for_each_received(*communicator, batch_split_, run.batch, properties().shard_bytes,
                      [&](const std::byte* received_from) {
                        const double* const shard = reinterpret_cast<const double*>(received_from);
                        if (std::exchange(is_first, false)) {
                          std::copy_n(shard, batch_reduction.num_values, value);
                        } else {
                          batch_reduction.merge(batch_reduction.num_values, value, shard);
                        }
                      });
  }
  batch_split_.for_each_part(run.batch, [&](const BatchPart& part) {
    if (own_shards.contains(part)) batch_reduction.apply_result(lockstep_part(run, part), value);
  });
}

// Runs all parts call by call, from one batch reduction to the next.
template <class T>
void LaneProgram<T>::sum_parts_in_lockstep(const RunContext<T>& run, const ShardRange& own_shards, GradientSums sums,
                                           ShardCommunicator* communicator) {
  std::size_t begin = 0;
  const auto run_until = [&](std::size_t end) {
    batch_split_.for_each_part(run.batch, [&](const BatchPart& part) {
      if (!own_shards.contains(part)) return;
      const RunContext<T> now = lockstep_part(run, part);
      for (std::size_t i = begin; i < end; ++i) train_.calls[i](now);
    });
    begin = end;
  };
  for (const BatchReductionCall<T>& each : train_.batch_reductions) {
    run_until(each.call);
    ++begin;
    reduce_over_parts(run, each.batch_reduction, own_shards, communicator);
  }
  run_until(train_.calls.size());

  if (communicator != nullptr) sums = sums_to_send(*communicator);
  ShardedSum losses;
  T* shard = nullptr;
  batch_split_.for_each_part(run.batch, [&](const BatchPart& part) {
    if (!own_shards.contains(part)) return;
    const std::int64_t accumulator = own_shards.accumulator(part);
    losses.add(part, own_shards.starts_accumulator(part), loss_sum(lockstep_part(run, part)),
               sums.loss_at(accumulator));
    T* const gradients = workspace_gradients(static_cast<int>(run.thread), part.number);
    if (part.begins_shard) {
      shard = gradients;
    } else {
      add_gradients(shard, shard, gradients);
    }
    T* const out = sums.gradients_at(accumulator);
    if (!part.ends_shard || shard == out) return;
    if (own_shards.starts_accumulator(part) && !sums.add) {
      std::memcpy(out, shard, static_cast<std::size_t>(bytes_of<T>(state_format_->layout().parameters)));
    } else {
      add_gradients(out, out, shard);
    }
  });
}

#define LANISTA_PARTS(T)                                                                                           \
  template RunContext<T> LaneProgram<T>::part_context(const RunContext<T>&, const BatchPart&, std::int64_t) const; \
  template double LaneProgram<T>::sum_gradients(const RunContext<T>&, T*, bool);                                   \
  template double LaneProgram<T>::sum_gradients_across_ranks(ShardCommunicator&, const RunContext<T>&, T*);
LANISTA_PARTS(float)
LANISTA_PARTS(double)
#undef LANISTA_PARTS

}  // namespace lanista::program
