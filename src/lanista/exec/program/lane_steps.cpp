// Steps of lanes: a batch goes to a desk, through the compute section, and the commit.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "lanista/base/check.h"
#include "lanista/exec/program/commit.h"
#include "lanista/exec/program/gradient_square.h"
#include "lanista/exec/program/lane_program.h"

namespace lanista::nn {
namespace {

// What is no token number is a token that no vocabulary holds.
std::int32_t token_of(float number) { return number >= 0 && number < 0x1p31F ? static_cast<std::int32_t>(number) : -1; }

}  // namespace

template <class T>
RunContext<T> LaneProgram<T>::context(std::int64_t lane, int thread) const {
  RunContext<T> run;
  const auto set = [&run](Space space, void* bytes) {
    run.base[static_cast<std::size_t>(space)] = static_cast<std::byte*>(bytes);
  };
  const LaneState& state = states_[static_cast<std::size_t>(lane)];
  LANISTA_CHECK(static_cast<bool>(state), "lane " + std::to_string(lane) + " is empty");
  set(Space::kArena, desk(thread));
  set(Space::kParameter, state.parameters<T>());
  set(Space::kGradient, desk(thread) + gradient_offset_);
  set(Space::kBuffer, state.buffers<T>());
  set(Space::kNewBuffer, desk(thread) + new_buffer_offset_);
  run.scratch = reinterpret_cast<T*>(desk(thread) + scratch_offset_);
  run.seed = state.seed();
  run.step = static_cast<std::uint64_t>(state.step_count());
  run.thread = static_cast<std::size_t>(thread);
  return run;
}

// Sources are never written, so the batch's own memory may serve as one.
template <class T>
std::byte* LaneProgram<T>::feed(const Feed& feed, std::byte* desk, std::int64_t n,
                                std::span<const float> values) const {
  LANISTA_CHECK(static_cast<std::int64_t>(values.size()) == feed.reorder.elements(n),
                "a batch of " + std::to_string(n) + " samples brings " + std::to_string(values.size()) +
                    " values instead of " + std::to_string(feed.reorder.elements(n)));
  if (feed.bytes == 0) return reinterpret_cast<std::byte*>(const_cast<float*>(values.data()));
  std::byte* memory = desk + feed.offset;
  if (feed.tokens) {
    std::ranges::transform(values, reinterpret_cast<std::int32_t*>(memory), token_of);
    return memory;
  }
  if constexpr (std::is_same_v<T, float>) {
    feed.reorder.apply(*kernels_, n, values.data(), reinterpret_cast<T*>(memory));
  } else {
    feed.reorder.convert(n, values.data(), reinterpret_cast<T*>(memory));
  }
  return memory;
}

template <class T>
void LaneProgram<T>::feed_features(RunContext<T>& run, std::byte* desk, const Batch& batch) const {
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  run.batch = run.total = batch.size;
  run.base[static_cast<std::size_t>(Space::kInput)] = feed(input_, desk, batch.size, batch.features);
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
void LaneProgram<T>::feed_batch(RunContext<T>& run, std::byte* desk, const Batch& batch) const {
  feed_features(run, desk, batch);
  std::byte*& target = run.base[static_cast<std::size_t>(Space::kTarget)];
  if (classes_ == 0) {
    target = feed(target_, desk, batch.size, batch.targets);
  } else {
    check_labels(batch);
    target = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(batch.labels.data()));
  }
  LANISTA_CHECK(!train_.draws_masks || static_cast<std::int64_t>(batch.sample_index.size()) == batch.size,
                "dropout wants the index of every sample of a batch");
  run.sample_index = batch.sample_index.data();
  LANISTA_CHECK(batch.weights.empty() || static_cast<std::int64_t>(batch.weights.size()) == batch.size,
                std::to_string(batch.weights.size()) + " weights for " + std::to_string(batch.size) + " samples");
  run.weights = batch.weights.empty() ? nullptr : batch.weights.data();
}

template <class T>
void LaneProgram<T>::check_hyper(const LaneHyper& hyper) const {
  LANISTA_CHECK(
      hyper.numbers.empty() || hyper.numbers.size() == train_.numbers.size(),
      std::to_string(hyper.numbers.size()) + " numbers of a lane instead of " + std::to_string(train_.numbers.size()));
}

template <class T>
std::int64_t LaneProgram<T>::step_count(std::int64_t lane) const {
  const LaneState& state = states_[static_cast<std::size_t>(lane)];
  return state ? state.step_count() : -1;
}

template <class T>
void LaneProgram<T>::run(const Chunk& chunk, std::span<LaneEnd> ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (chunk.active[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
  }
  for (std::int64_t step = 0; step < chunk.steps; ++step) train_step(chunk, step, ends);
}

template <class T>
void LaneProgram<T>::train_step(const Chunk& chunk, std::int64_t step, std::span<LaneEnd> ends) {
  const StepWork work = chunk.work(step);
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(work.hyper.size() == lanes && (work.batches.size() == 1 || work.batches.size() == lanes),
                "a step wants hyper-parameters for every lane, and one batch or one a lane");
  for (const LaneHyper& each : work.hyper) check_hyper(each);
  RunContext<T> shared;
  const bool is_shared = work.batches.size() == 1;
  if (is_shared) feed_batch(shared, desk(0), work.batches[0]);

  team_.share(options_.lanes, [&](int thread, std::int64_t lane) {
    const auto i = static_cast<std::size_t>(lane);
    LaneEnd& end = ends[i];
    if (chunk.active[i] == 0 || end.steps < step) return;
    try {
      RunContext<T> run = context(lane, thread);
      run.hyper = &work.hyper[i];
      if (is_shared) {
        run.batch = run.total = shared.batch;
        run.sample_index = shared.sample_index;
        run.weights = shared.weights;
        for (const Space space : {Space::kInput, Space::kTarget}) {
          run.base[static_cast<std::size_t>(space)] = shared.base[static_cast<std::size_t>(space)];
        }
      } else {
        feed_batch(run, desk(thread), work.batches[i]);
      }
      const bool watched = !chunk.watched.empty() && chunk.watched[i] != 0;
      end.loss = train_lane(run, lane, chunk.peers, watched ? &end.gradient_square : nullptr);
      end.loss_sum += end.loss * static_cast<double>(run.batch);
      if (!std::isfinite(end.loss) && end.bad_step < 0) end.bad_step = step;
      ++end.steps;
    } catch (...) {
      end.failure = std::current_exception();
    }
  });
}

// Nothing can fail once the commit begins, so a lane has its step or is as it was.
template <class T>
double LaneProgram<T>::train_lane(RunContext<T>& run, std::int64_t lane, ShardPeers* peers, double* square) {
  double loss = 0;
  LANISTA_CHECK(!stages_ || peers == nullptr, "a step in stages is shared by samples too");
  if (stages_) {
    loss = sum_parts(run, desk_gradients(static_cast<int>(run.thread), 0), false);
    loss = cut_.whole() ? static_cast<double>(kernels_->mean(run.batch, stages_->losses()))
                        : loss / static_cast<double>(run.batch);
  } else if (cut_.whole()) {
    for (const Run<T>& call : train_.calls) call(run);
    loss = static_cast<double>(kernels_->mean(run.batch, run.at(loss_)));
  } else {
    // Where a batch is too small for all of them, each does all of it.
    const bool is_shared = peers != nullptr && cut_.used(run.batch) >= peers->width();
    T* const sum = desk_gradients(static_cast<int>(run.thread), 0);
    loss = is_shared ? sum_with(*peers, run, sum) : sum_parts(run, sum, false);
    loss /= static_cast<double>(run.batch);
  }
  if (options_.before_commit) options_.before_commit(lane);
  if (square != nullptr) {
    const auto* gradients = reinterpret_cast<const T*>(run.base[static_cast<std::size_t>(Space::kGradient)]);
    *square = nn::gradient_square(states_[static_cast<std::size_t>(lane)], gradients, *run.hyper, *kernels_);
  }
  commit_lane(run, lane);
  return loss;
}

template <class T>
void LaneProgram<T>::commit_lane(const RunContext<T>& run, std::int64_t lane) {
  const auto at = [&](Space space) { return reinterpret_cast<const T*>(run.base[static_cast<std::size_t>(space)]); };
  nn::commit(state_of(lane), at(Space::kGradient), at(Space::kNewBuffer), commit_, *run.hyper, *kernels_);
}

template <class T>
double LaneProgram<T>::gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                                 LaneGradients& out, bool add) {
  check_hyper(hyper);
  LANISTA_CHECK(total >= batch.size,
                "a batch of " + std::to_string(batch.size) + " samples in a step of " + std::to_string(total));
  RunContext<T> run = context(lane, 0);
  run.hyper = &hyper;
  feed_batch(run, desk(0), batch);
  run.total = total;
  run.base[static_cast<std::size_t>(Space::kNewBuffer)] = reinterpret_cast<std::byte*>(out.new_buffers<T>());
  return sum_parts(run, out.gradients<T>(), add);
}

template <class T>
void LaneProgram<T>::commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) {
  nn::commit(state_of(lane), gradients.gradients<T>(), gradients.new_buffers<T>(), commit_, hyper, *kernels_);
}

template <class T>
double LaneProgram<T>::gradient_square(std::int64_t lane, const LaneGradients& gradients,
                                       const LaneHyper& hyper) const {
  return nn::gradient_square(states_[static_cast<std::size_t>(lane)], gradients.gradients<T>(), hyper, *kernels_);
}

template <class T>
void LaneProgram<T>::rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  RunContext<T> run = context(0, 0);
  run.hyper = &hyper;
  feed_batch(run, desk(0), batch);
  if (!stages_) run = part_of(run, {.begin = 0, .size = std::min(batch.size, cut_.largest(options_.max_batch))}, 0);
  const auto each = [&](const std::vector<Run<T>>& calls) {
    for (const Run<T>& call : calls) {
      call(run);
      done();
    }
  };
  if (stages_) stages_->rehearse(run, desk_gradients(0, 0), done);
  auto exchange = train_.exchanges.begin();
  for (std::size_t i = 0; i < train_.calls.size(); ++i) {
    if (exchange != train_.exchanges.end() && exchange->call == i) {
      double* const value = reinterpret_cast<double*>(desk(0) + value_offset_);
      exchange->exchange.give(run, value);
      (exchange++)->exchange.take(run, value);
    } else {
      train_.calls[i](run);
    }
    done();
  }
  commit_lane(run, 0);
  done();
  each(infer_.calls);
}

#define LANISTA_STEPS(T)                                                                                       \
  template RunContext<T> LaneProgram<T>::context(std::int64_t, int) const;                                     \
  template void LaneProgram<T>::feed_features(RunContext<T>&, std::byte*, const Batch&) const;                 \
  template void LaneProgram<T>::check_labels(const Batch&) const;                                              \
  template std::int64_t LaneProgram<T>::step_count(std::int64_t) const;                                        \
  template void LaneProgram<T>::run(const Chunk&, std::span<LaneEnd>);                                         \
  template double LaneProgram<T>::gradients(std::int64_t, const Batch&, std::int64_t, const LaneHyper&,        \
                                            LaneGradients&, bool);                                             \
  template void LaneProgram<T>::commit(std::int64_t, const LaneGradients&, const LaneHyper&);                  \
  template double LaneProgram<T>::gradient_square(std::int64_t, const LaneGradients&, const LaneHyper&) const; \
  template void LaneProgram<T>::rehearse(const Batch&, const LaneHyper&, const std::function<void()>&);
LANISTA_STEPS(float)
LANISTA_STEPS(double)
#undef LANISTA_STEPS

}  // namespace lanista::nn
