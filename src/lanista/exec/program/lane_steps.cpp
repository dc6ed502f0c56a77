// Steps of lanes: load the batch into a workspace, run the compute section, commit.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lanista/base/check.h"
#include "lanista/exec/program/commit.h"
#include "lanista/exec/program/gradient_norm.h"
#include "lanista/exec/program/lane_program.h"

namespace lanista::program {
namespace {

// The token number, or -1 for a value that is no token of any vocabulary.
std::int32_t token_of(float number) { return number >= 0 && number < 0x1p31F ? static_cast<std::int32_t>(number) : -1; }

}  // namespace

template <class T>
RunContext<T> LaneProgram<T>::context(std::int64_t lane, int thread) const {
  RunContext<T> run;
  const auto set = [&run](MemorySpace space, void* bytes) {
    run.base[static_cast<std::size_t>(space)] = static_cast<std::byte*>(bytes);
  };
  const LaneState& state = states_[static_cast<std::size_t>(lane)];
  LANISTA_CHECK(static_cast<bool>(state), "lane " + std::to_string(lane) + " is empty");
  set(MemorySpace::kArena, workspace(thread));
  set(MemorySpace::kParameter, state.parameters<T>());
  set(MemorySpace::kGradient, workspace(thread) + gradient_offset_);
  set(MemorySpace::kBuffer, state.buffers<T>());
  set(MemorySpace::kNewBuffer, workspace(thread) + new_buffer_offset_);
  run.scratch = reinterpret_cast<T*>(workspace(thread) + scratch_offset_);
  run.seed = state.seed();
  run.step = static_cast<std::uint64_t>(state.step_count());
  run.thread = static_cast<std::size_t>(thread);
  return run;
}

// Returns the batch's own memory if no copy is necessary; inputs are never written.
template <class T>
std::byte* LaneProgram<T>::load_input(const BatchInput& load_input, std::byte* workspace, std::int64_t n,
                                      std::span<const float> values) const {
  LANISTA_CHECK(static_cast<std::int64_t>(values.size()) == load_input.reorder.elements(n),
                "a batch of " + std::to_string(n) + " samples brings " + std::to_string(values.size()) +
                    " values; it must bring " + std::to_string(load_input.reorder.elements(n)));
  if (load_input.bytes == 0) return reinterpret_cast<std::byte*>(const_cast<float*>(values.data()));
  std::byte* memory = workspace + load_input.offset;
  if (load_input.tokens) {
    std::ranges::transform(values, reinterpret_cast<std::int32_t*>(memory), token_of);
    return memory;
  }
  if constexpr (std::is_same_v<T, float>) {
    load_input.reorder.apply(*kernels_, n, values.data(), reinterpret_cast<T*>(memory));
  } else {
    load_input.reorder.convert(n, values.data(), reinterpret_cast<T*>(memory));
  }
  return memory;
}

template <class T>
void LaneProgram<T>::load_features(RunContext<T>& run, std::byte* workspace, const Batch& batch) const {
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  run.batch = run.total = batch.size;
  run.base[static_cast<std::size_t>(MemorySpace::kInput)] = load_input(input_, workspace, batch.size, batch.features);
}

template <class T>
void LaneProgram<T>::check_labels(const Batch& batch) const {
  LANISTA_CHECK(static_cast<std::int64_t>(batch.labels.size()) == batch.size * positions_,
                std::to_string(batch.labels.size()) + " labels for " + std::to_string(batch.size) + " samples" +
                    (positions_ > 1 ? " of " + std::to_string(positions_) + " positions" : ""));
  for (const std::int32_t label : batch.labels) {
    LANISTA_CHECK(label >= 0 && label < classes_,
                  "label " + std::to_string(label) + " of " + std::to_string(classes_) + " classes");
  }
}

template <class T>
void LaneProgram<T>::load_batch(RunContext<T>& run, std::byte* workspace, const Batch& batch) const {
  load_features(run, workspace, batch);
  std::byte*& target = run.base[static_cast<std::size_t>(MemorySpace::kTarget)];
  if (classes_ == 0) {
    target = load_input(target_, workspace, batch.size, batch.targets);
  } else {
    check_labels(batch);
    target = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(batch.labels.data()));
  }
  LANISTA_CHECK(!train_.has_random_masks || static_cast<std::int64_t>(batch.sample_index.size()) == batch.size,
                "dropout needs the index of every sample of a batch");
  run.sample_index = batch.sample_index.data();
  LANISTA_CHECK(batch.weights.empty() || static_cast<std::int64_t>(batch.weights.size()) == batch.size,
                std::to_string(batch.weights.size()) + " weights for " + std::to_string(batch.size) + " samples");
  run.weights = batch.weights.empty() ? nullptr : batch.weights.data();
}

// Lets a lane read the batch that `shared` has loaded for all lanes.
template <class T>
void LaneProgram<T>::use_batch(RunContext<T>& run, const RunContext<T>& shared) {
  run.batch = run.total = shared.batch;
  run.sample_index = shared.sample_index;
  run.weights = shared.weights;
  for (const MemorySpace space : {MemorySpace::kInput, MemorySpace::kTarget}) {
    run.base[static_cast<std::size_t>(space)] = shared.base[static_cast<std::size_t>(space)];
  }
}

template <class T>
void LaneProgram<T>::check_hyper(const LaneHyper& hyper) const {
  LANISTA_CHECK(hyper.lane_attrs.empty() || hyper.lane_attrs.size() == train_.lane_attrs.size(),
                std::to_string(hyper.lane_attrs.size()) + " lane attributes; there must be " +
                    std::to_string(train_.lane_attrs.size()));
}

template <class T>
std::int64_t LaneProgram<T>::step_count(std::int64_t lane) const {
  const LaneState& state = states_[static_cast<std::size_t>(lane)];
  return state ? state.step_count() : -1;
}

template <class T>
void LaneProgram<T>::run(const Chunk& chunk, std::span<LaneResult> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (chunk.active[i] != 0) results[i] = {.loss_sum = results[i].loss_sum, .failure = {}};
  }
  for (std::int64_t step = 0; step < chunk.steps; ++step) train_step(chunk, step, results);
}

template <class T>
void LaneProgram<T>::train_step(const Chunk& chunk, std::int64_t step, std::span<LaneResult> results) {
  const StepInput step_input = chunk.step_input(step);
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(
      step_input.hyper.size() == lanes && (step_input.batches.size() == 1 || step_input.batches.size() == lanes),
      "a step needs hyper-parameters for every lane, and one batch or one a lane");
  for (const LaneHyper& each : step_input.hyper) check_hyper(each);
  RunContext<T> shared;
  const bool is_shared = step_input.batches.size() == 1;
  if (is_shared) load_batch(shared, workspace(0), step_input.batches[0]);
  const auto trains = [&](std::size_t i) { return chunk.active[i] != 0 && results[i].steps >= step; };

  if (is_shared && joint_ && chunk.communicator == nullptr) {
    joint_->numbers.clear();
    for (std::size_t i = 0; i < lanes; ++i) {
      if (trains(i)) joint_->numbers.push_back(static_cast<std::int64_t>(i));
    }
    const auto count = static_cast<std::int64_t>(joint_->numbers.size());
    if (count > 1) {
      const std::int64_t groups = thread_pool_.size();
      thread_pool_.parallel_for(groups, [&](int thread, std::int64_t group) {
        train_joint_lanes(chunk, step, step_input, shared, thread, group, groups, results);
      });
      return;
    }
  }
  thread_pool_.parallel_for(options_.lanes, [&](int thread, std::int64_t lane) {
    const auto i = static_cast<std::size_t>(lane);
    if (!trains(i)) return;
    try {
      RunContext<T> run = context(lane, thread);
      run.hyper = &step_input.hyper[i];
      if (is_shared) {
        use_batch(run, shared);
      } else {
        load_batch(run, workspace(thread), step_input.batches[i]);
      }
      finish_step(run, lane, chunk, step, compute_gradients(run, chunk.communicator), results);
    } catch (...) {
      results[i].failure = std::current_exception();
    }
  });
}

// The joint layer needs the lanes' values before and after their own calls, so the lanes go through three phases.
template <class T>
void LaneProgram<T>::train_joint_lanes(const Chunk& chunk, std::int64_t step, const StepInput& step_input,
                                       const RunContext<T>& shared, int thread, std::int64_t group, std::int64_t groups,
                                       std::span<LaneResult> results) {
  const JointLinear<T>& layer = joint_->layer;
  std::byte* const lane_memory = joint_->memory.data() + joint_->products_bytes;
  const auto num_lanes = static_cast<std::int64_t>(joint_->numbers.size());
  const std::int64_t begin = group * num_lanes / groups, end = (group + 1) * num_lanes / groups;
  T* const products = reinterpret_cast<T*>(joint_->memory.data()) + layer.elements(begin, options_.max_batch);
  const auto fails = [&](std::int64_t lane) -> std::exception_ptr& {
    return results[static_cast<std::size_t>(lane)].failure;
  };
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t lane = joint_->numbers[static_cast<std::size_t>(i)];
    try {
      RunContext<T> run = context(lane, thread);
      use_batch(run, shared);
      run.hyper = &step_input.hyper[static_cast<std::size_t>(lane)];
      std::byte* const own = lane_memory + (begin + count) * joint_->lane_bytes;
      run.base[static_cast<std::size_t>(MemorySpace::kGradient)] = own;
      run.base[static_cast<std::size_t>(MemorySpace::kNewBuffer)] = own + gradient_stride_;
      joint_->contexts[static_cast<std::size_t>(begin + count)] = run;
      joint_->numbers[static_cast<std::size_t>(begin + count)] = lane;
      ++count;
    } catch (...) {
      fails(lane) = std::current_exception();
    }
  }
  if (count == 0) return;

  const std::span<const RunContext<T>> runs{&joint_->contexts[static_cast<std::size_t>(begin)],
                                            static_cast<std::size_t>(count)};
  try {
    layer.forward(*kernels_, train_.calls, runs, products);
  } catch (...) {  // a kernel of the caller before the layer
    for (std::int64_t i = begin; i < begin + count; ++i) {
      fails(joint_->numbers[static_cast<std::size_t>(i)]) = std::current_exception();
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const RunContext<T>& run = runs[static_cast<std::size_t>(i)];
    try {
      layer.take_result(run, i, count, products);
      for (std::size_t call = layer.forward_call + 1; call < train_.calls.size(); ++call) {
        if (call == layer.grad_call) {
          layer.give_grad(run, i, count, products);
        } else {
          train_.calls[call](run);
        }
      }
      joint_->losses[static_cast<std::size_t>(begin + i)] =
          static_cast<double>(kernels_->mean(run.batch, run.at(loss_)));
    } catch (...) {
      fails(joint_->numbers[static_cast<std::size_t>(begin + i)]) = std::current_exception();
    }
  }
  layer.weight_grads(*kernels_, runs, products);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t lane = joint_->numbers[static_cast<std::size_t>(begin + i)];
    if (fails(lane)) continue;
    try {
      finish_step(runs[static_cast<std::size_t>(i)], lane, chunk, step,
                  joint_->losses[static_cast<std::size_t>(begin + i)], results);
    } catch (...) {
      fails(lane) = std::current_exception();
    }
  }
}

template <class T>
double LaneProgram<T>::compute_gradients(RunContext<T>& run, ShardCommunicator* communicator) {
  LANISTA_CHECK(!stages_ || communicator == nullptr, "a step in stages cannot be data-parallel too");
  T* const sum = workspace_gradients(static_cast<int>(run.thread), 0);
  if (stages_) {
    const double loss = sum_gradients(run, sum, false);
    return batch_split_.is_whole() ? static_cast<double>(kernels_->mean(run.batch, stages_->losses()))
                                   : loss / static_cast<double>(run.batch);
  }
  if (batch_split_.is_whole()) {
    for (const Run<T>& call : train_.calls) call(run);
    return static_cast<double>(kernels_->mean(run.batch, run.at(loss_)));
  }
  // If the batch is too small for all ranks, each computes all of it.
  const bool is_shared = communicator != nullptr && batch_split_.num_used_shards(run.batch) >= communicator->width();
  const double loss = is_shared ? sum_gradients_across_ranks(*communicator, run, sum) : sum_gradients(run, sum, false);
  return loss / static_cast<double>(run.batch);
}

// Nothing can fail after the commit begins, so a lane has its whole step or none of it.
template <class T>
void LaneProgram<T>::finish_step(const RunContext<T>& run, std::int64_t lane, const Chunk& chunk, std::int64_t step,
                                 double loss, std::span<LaneResult> results) {
  const auto i = static_cast<std::size_t>(lane);
  LaneResult& end = results[i];
  if (options_.before_commit) options_.before_commit(lane);
  if (!chunk.needs_gradient_norm.empty() && chunk.needs_gradient_norm[i] != 0) {
    const auto* gradients = reinterpret_cast<const T*>(run.base[static_cast<std::size_t>(MemorySpace::kGradient)]);
    end.squared_gradient_norm = program::squared_gradient_norm(states_[i], gradients, *run.hyper, *kernels_);
  }
  commit_lane(run, lane);
  end.loss = loss;
  end.loss_sum += loss * static_cast<double>(run.batch);
  if (!std::isfinite(loss) && end.first_nonfinite_step < 0) end.first_nonfinite_step = step;
  ++end.steps;
}

template <class T>
void LaneProgram<T>::commit_lane(const RunContext<T>& run, std::int64_t lane) {
  const auto at = [&](MemorySpace space) {
    return reinterpret_cast<const T*>(run.base[static_cast<std::size_t>(space)]);
  };
  program::commit(state_of(lane), at(MemorySpace::kGradient), at(MemorySpace::kNewBuffer), commit_, *run.hyper,
                  *kernels_);
}

template <class T>
double LaneProgram<T>::gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                                 LaneGradients& out, bool add) {
  check_hyper(hyper);
  LANISTA_CHECK(total >= batch.size,
                "a batch of " + std::to_string(batch.size) + " samples in a step of " + std::to_string(total));
  RunContext<T> run = context(lane, 0);
  run.hyper = &hyper;
  load_batch(run, workspace(0), batch);
  run.total = total;
  run.base[static_cast<std::size_t>(MemorySpace::kNewBuffer)] = reinterpret_cast<std::byte*>(out.new_buffers<T>());
  return sum_gradients(run, out.gradients<T>(), add);
}

template <class T>
void LaneProgram<T>::commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) {
  program::commit(state_of(lane), gradients.gradients<T>(), gradients.new_buffers<T>(), commit_, hyper, *kernels_);
}

template <class T>
double LaneProgram<T>::squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients,
                                             const LaneHyper& hyper) const {
  return program::squared_gradient_norm(states_[static_cast<std::size_t>(lane)], gradients.gradients<T>(), hyper,
                                        *kernels_);
}

template <class T>
void LaneProgram<T>::profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  RunContext<T> run = context(0, 0);
  run.hyper = &hyper;
  load_batch(run, workspace(0), batch);
  if (!stages_)
    run =
        part_context(run, {.begin = 0, .size = std::min(batch.size, batch_split_.largest_part(options_.max_batch))}, 0);
  const auto each = [&](const std::vector<Run<T>>& calls) {
    for (const Run<T>& call : calls) {
      call(run);
      done();
    }
  };
  if (stages_) stages_->profile_step(run, workspace_gradients(0, 0), done);
  auto batch_reduction = train_.batch_reductions.begin();
  for (std::size_t i = 0; i < train_.calls.size(); ++i) {
    if (batch_reduction != train_.batch_reductions.end() && batch_reduction->call == i) {
      double* const value = reinterpret_cast<double*>(workspace(0) + value_offset_);
      batch_reduction->batch_reduction.compute_partial(run, value);
      (batch_reduction++)->batch_reduction.apply_result(run, value);
    } else {
      train_.calls[i](run);
    }
    done();
  }
  commit_lane(run, 0);
  done();
  each(infer_.calls);
}

#define LANISTA_STEPS(T)                                                                                             \
  template RunContext<T> LaneProgram<T>::context(std::int64_t, int) const;                                           \
  template void LaneProgram<T>::load_features(RunContext<T>&, std::byte*, const Batch&) const;                       \
  template void LaneProgram<T>::check_labels(const Batch&) const;                                                    \
  template std::int64_t LaneProgram<T>::step_count(std::int64_t) const;                                              \
  template void LaneProgram<T>::run(const Chunk&, std::span<LaneResult>);                                            \
  template double LaneProgram<T>::gradients(std::int64_t, const Batch&, std::int64_t, const LaneHyper&,              \
                                            LaneGradients&, bool);                                                   \
  template void LaneProgram<T>::commit(std::int64_t, const LaneGradients&, const LaneHyper&);                        \
  template double LaneProgram<T>::squared_gradient_norm(std::int64_t, const LaneGradients&, const LaneHyper&) const; \
  template void LaneProgram<T>::profile_step(const Batch&, const LaneHyper&, const std::function<void()>&);
LANISTA_STEPS(float)
LANISTA_STEPS(double)
#undef LANISTA_STEPS

}  // namespace lanista::program
