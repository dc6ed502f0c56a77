// Steps of a pipeline: threads or processes run their lists of passes. stage_runner_layout.cpp plans the memory.
#include "lanista/exec/pipeline_parallel/stage_runner.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::program {
namespace {

std::size_t first_subpass(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kWeightGrad ? 2 : 1;
}
std::size_t last_subpass(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kInputGrad ? 1 : 2;
}

}  // namespace

template <class T>
void StageRunner<T>::start() {
  bounds_.resize(static_cast<std::size_t>(batch_split_.pieces) + 1);
  if (remote_ranks_) {
    last_losses_.resize(static_cast<std::size_t>(samples_));
    return;
  }
  memory_ = AlignedBytes(memory_map_.bytes);
  thread_pool_ = std::make_unique<ThreadPool>(static_cast<int>(ranks_.size()));
}

template <class T>
std::int64_t StageRunner<T>::pieces_end(std::uint32_t stage, std::int64_t micro) const {
  return std::min((micro + 1) * stages_[stage].pieces, num_used_pieces_);
}

template <class T>
typename StageRunner<T>::Samples StageRunner<T>::samples(std::uint32_t stage, std::int64_t micro) const {
  const auto at = [&](std::int64_t piece) { return bounds_[static_cast<std::size_t>(piece)]; };
  return {at(std::min(micro * stages_[stage].pieces, num_used_pieces_)), at(pieces_end(stage, micro))};
}

template <class T>
std::byte* StageRunner<T>::slot(std::uint32_t stage, std::int64_t micro) const {
  const StageState& work = stages_[stage];
  return block_ + work.offset + micro % work.slots * work.slot_bytes;
}

template <class T>
RunContext<T> StageRunner<T>::context(std::uint32_t stage, std::int64_t micro) const {
  const StageState& work = stages_[stage];
  const Samples own = samples(stage, micro);
  RunContext<T> run = step_.run;
  const auto base = [&run](MemorySpace space) -> std::byte*& { return run.base[static_cast<std::size_t>(space)]; };
  run.batch = own.end - own.begin;
  run.hyper = &work.hyper;
  run.scratch = reinterpret_cast<T*>(block_ + work.scratch_offset);
  base(MemorySpace::kArena) = slot(stage, micro);
  base(MemorySpace::kEdge) = slot(stage, micro) + work.edge_offset;
  base(MemorySpace::kBuffer) = block_ + buffer_offset_;
  base(MemorySpace::kGradient) =
      reinterpret_cast<std::byte*>(micro == 0 && !step_.add ? step_.gradients : step_.scratch_gradients);
  base(MemorySpace::kInput) += own.begin * input_stride_;
  if (base(MemorySpace::kTarget) != nullptr) base(MemorySpace::kTarget) += own.begin * target_stride_;
  if (run.sample_index != nullptr) run.sample_index += own.begin;
  if (run.weights != nullptr) run.weights += own.begin;
  return run;
}

template <class T>
const T* StageRunner<T>::losses() const {
  if (remote_ranks_) return last_losses_.data();
  const std::int64_t pieces = stages_[loss_stage_].pieces;
  return context(loss_stage_, (num_used_pieces_ - 1) / pieces).at(loss_);
}

// A rank's own view of the current step.
template <class T>
void StageRunner<T>::load_step(const StageStep<T>& step, std::span<const double> lane_attrs) {
  step_ = step;
  num_used_pieces_ = 0;
  batch_split_.for_each_part(step.run.batch, [&](const BatchPart& part) {
    bounds_[static_cast<std::size_t>(num_used_pieces_++)] = part.begin;
  });
  bounds_[static_cast<std::size_t>(num_used_pieces_)] = step.run.batch;
  failure_ = nullptr;
  for (StageState& work : stages_) {
    work.hyper = *step.run.hyper;
    work.hyper.lane_attrs = lane_attrs.empty() ? lane_attrs : lane_attrs.subspan(work.first_lane_attr, work.lane_attrs);
    work.hyper.lr_ranges = {};
    work.held = 0;
  }
}

template <class T>
void StageRunner<T>::begin(const StageStep<T>& step, std::byte* memory, StageTransport* transport) {
  block_ = memory;
  transport_ = transport;
  progress_ = StageProgress(block_, stages_.size(), transport_);
  progress_.reset();
  load_step(remote_ranks_ ? shared_step_.write(block_ + shared_step_offset_, step) : step, step.run.hyper->lane_attrs);
  const std::byte* const buffers = step.run.base[static_cast<std::size_t>(MemorySpace::kBuffer)];
  if (buffers_ > 0) std::memcpy(block_ + buffer_offset_, buffers, static_cast<std::size_t>(bytes_of<T>(buffers_)));
}

template <class T>
double StageRunner<T>::sum_gradients(const RunContext<T>& run, T* out, T* scratch_gradients, bool add) {
  const StageStep<T> step{run, out, scratch_gradients, add};
  if (!remote_ranks_) {
    begin(step, memory_.data(), nullptr);
    start_step_timer();
    run_local_ranks();
    timer_.end(block_ + timer_offset_);
    return loss_sum();
  }
  std::byte* const memory = remote_ranks_->begin_step(memory_map_);
  try {
    begin(step, memory, remote_ranks_->transport());
    start_step_timer();
    run_with_remote_ranks();
    timer_.end(block_ + timer_offset_);
    shared_step_.collect_results(block_ + shared_step_offset_, step);
    const std::int64_t micro = (num_used_pieces_ - 1) / stages_[loss_stage_].pieces;
    const RunContext<T> last = context(loss_stage_, micro);
    std::copy_n(last.at(loss_), last.batch, last_losses_.data());
    const double loss = loss_sum();
    remote_ranks_->end_step();
    return loss;
  } catch (...) {
    remote_ranks_->end_step();
    throw;
  }
}

template <class T>
void StageRunner<T>::start_step_timer() {
  // Machines have clocks of their own, which cannot be compared.
  const bool one_clock = transport_ == nullptr;
  timer_.begin(block_ + timer_offset_,
               one_clock && num_used_pieces_ == batch_split_.pieces && step_.run.batch == samples_);
}

template <class T>
void StageRunner<T>::run_local_ranks() {
  thread_pool_->parallel_for(static_cast<std::int64_t>(ranks_.size()),
                             [this](int, std::int64_t rank) { run_rank(static_cast<std::size_t>(rank), {}); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

template <class T>
void StageRunner<T>::run_with_remote_ranks() {
  bool is_rank_lost = false;  // a lost rank does not end the step by itself
  const std::function<void()> watch = [this, &is_rank_lost] {
    is_rank_lost = true;
    remote_ranks_->check_alive();
    is_rank_lost = false;
  };
  if (transport_ != nullptr) send_step();
  progress_.begin_step();
  run_rank(0, watch);
  try {
    if (!is_rank_lost) progress_.wait_for_ranks(static_cast<std::uint32_t>(ranks_.size()), watch);
  } catch (...) {
    progress_.stop("a rank is gone");
    throw;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (progress_.is_stopped()) throw std::runtime_error(progress_.reason());
}

template <class T>
void StageRunner<T>::serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop,
                           StageTransport* transport) {
  bounds_.resize(static_cast<std::size_t>(batch_split_.pieces) + 1);
  block_ = memory;
  transport_ = transport;
  progress_ = StageProgress(block_, stages_.size(), transport_);
  const std::function<void()> watch = [&should_stop] {
    if (should_stop()) throw StageProgress::Stopped{};
  };
  std::uint32_t seen = 0;
  while (progress_.wait_for_step(seen, should_stop)) {
    const StageStep<T> step = shared_step_.read(block_ + shared_step_offset_);
    if (step.run.batch < 1 || step.run.batch > samples_) {
      progress_.stop("a batch of " + std::to_string(step.run.batch) + " samples; allowed: 1 to " +
                     std::to_string(samples_));
      progress_.end_rank();
      continue;
    }
    load_step(step, shared_step_.lane_attrs(block_ + shared_step_offset_));
    run_rank(rank, watch);
  }
}

// A batch that is too small for all micro-batches has fewer; their passes are skipped.
template <class T>
bool StageRunner<T>::exists(const StagePass& pass) const {
  return static_cast<std::int64_t>(pass.micro) * stages_[pass.stage].pieces < num_used_pieces_;
}

template <class T>
void StageRunner<T>::run_rank(std::size_t rank, const std::function<void()>& watch) {
  const auto fail = [this](const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    progress_.stop(why);
  };
  try {
    const StepTimer::Row times =
        transport_ == nullptr ? timer_.row(block_ + timer_offset_, rank) : StepTimer::Row(nullptr);
    for (std::size_t i = 0; i < ranks_[rank].size(); ++i) {
      const StagePass& pass = ranks_[rank][i];
      if (!exists(pass)) continue;
      wait_for_inputs(pass, watch);
      times.record_begin(i);
      if (observer_ != nullptr) observer_->on_pass_begin(rank, pass);
      run_pass(pass);
      if (observer_ != nullptr) observer_->on_pass_end(rank, pass);
      times.record_end(i);
      publish(pass);
    }
    if (transport_ != nullptr && rank > 0) send_results(rank);
  } catch (const StageProgress::Stopped&) {
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("a pass threw an object that is not a std::exception");
  }
  progress_.end_rank();
}

// Waits for the values of all samples of a micro-batch from every stage that this one reads, or for their gradients.
template <class T>
void StageRunner<T>::wait_for_inputs(const StagePass& pass, const std::function<void()>& watch) {
  const StageState& work = stages_[pass.stage];
  const bool is_forward = pass.kind == StagePass::Kind::kForward;
  const std::int64_t wanted = pieces_end(pass.stage, pass.micro);
  progress_.wait_for(
      [&] {
        return pass.kind == StagePass::Kind::kWeightGrad ||
               std::ranges::all_of(is_forward ? work.predecessors : work.successors, [&](std::uint32_t other) {
                 return progress_.has_reached(is_forward, other, wanted);
               });
      },
      watch);
}

template <class T>
void StageRunner<T>::publish(const StagePass& pass) {
  if (pass.kind == StagePass::Kind::kWeightGrad) return;
  progress_.publish(pass.kind == StagePass::Kind::kForward, pass.stage, pieces_end(pass.stage, pass.micro));
}

template <class T>
void StageRunner<T>::run_pass(const StagePass& pass) {
  const auto micro = static_cast<std::int64_t>(pass.micro);
  StageState& work = stages_[pass.stage];
  const Samples own = samples(pass.stage, micro);
  if (pass.kind == StagePass::Kind::kForward) {
    work.held += own.end - own.begin;
    if (observer_ != nullptr) observer_->on_held_samples(pass.stage, work.held);
    copy_inputs(pass.stage, micro);
  }
  for (std::size_t part = first_subpass(pass.kind); part <= last_subpass(pass.kind); ++part) {
    compute(pass.stage, micro, part, {});
    if (part == 1) return_gradients(pass.stage, micro);
  }
  if (pass.kind == StagePass::Kind::kForward && transport_ != nullptr) send_values(pass.stage, micro);
  if (last_subpass(pass.kind) == 2) {
    work.held -= own.end - own.begin;
    if (observer_ != nullptr) observer_->on_held_samples(pass.stage, work.held);
  }
}

template <class T>
void StageRunner<T>::compute(std::uint32_t stage, std::int64_t micro, std::size_t pass,
                             const std::function<void()>& done) {
  const StageState& work = stages_[stage];
  const RunContext<T> run = context(stage, micro);
  for (const Run<T>& call : work.passes[pass]) {
    call(run);
    if (done) done();
  }
  if (pass == 0) {
    const T* const renewed = run.at({MemorySpace::kNewBuffer, 0});
    for (const Range& range : work.renewed) {
      std::copy_n(renewed + range.begin, range.count, run.at({MemorySpace::kBuffer, 0}) + range.begin);
    }
    if (stage != loss_stage_) return;
    double sum_gradients = 0;
    for (std::int64_t i = 0; i < run.batch; ++i) sum_gradients += static_cast<double>(run.at(loss_)[i]);
    loss_sum() = micro == 0 ? sum_gradients : loss_sum() + sum_gradients;
    return;
  }
  const T* const given = run.at({MemorySpace::kGradient, 0});
  if (given == step_.gradients) return;
  for (const Range& range : work.gradients[pass]) {
    T* const sum_gradients = step_.gradients + range.begin;
    kernels_->add(range.count, sum_gradients, given + range.begin, sum_gradients);
  }
}

// Copies the samples that micro-batches of two stages have in common.
template <class T>
void StageRunner<T>::copy_edge(const EdgeCopy& transfer, bool gradient, std::uint32_t from, std::int64_t sender,
                               std::uint32_t to, std::int64_t receiver) {
  const Samples theirs = samples(from, sender), ours = samples(to, receiver);
  const std::int64_t begin = std::max(theirs.begin, ours.begin), end = std::min(theirs.end, ours.end);
  if (begin >= end) return;
  const auto at = [&](std::uint32_t stage, std::int64_t micro, Address address, std::int64_t first) {
    const std::int64_t edge = address.space == MemorySpace::kEdge ? stages_[stage].edge_offset : 0;
    return slot(stage, micro) + edge + address.offset + (begin - first) * transfer.sample_bytes;
  };
  std::byte* const into = at(to, receiver, transfer.to, ours.begin);
  const std::byte* const out_of = at(from, sender, transfer.from, theirs.begin);
  const std::int64_t bytes = (end - begin) * transfer.sample_bytes;
  const std::uint32_t rank = stages_[to].rank;
  if (transport_ != nullptr && gradient && rank != stages_[from].rank) {
    transport_->write(rank, into - block_, {out_of, static_cast<std::size_t>(bytes)});
  } else {
    std::memcpy(into, out_of, static_cast<std::size_t>(bytes));
  }
  if (observer_ != nullptr) observer_->on_edge_copy(from, to, gradient, bytes);
}

template <class T>
void StageRunner<T>::copy_inputs(std::uint32_t stage, std::int64_t micro) {
  const std::int64_t begin = micro * stages_[stage].pieces, end = pieces_end(stage, micro);
  for (const EdgeCopy& each : stages_[stage].incoming) {
    const std::int64_t pieces = stages_[each.other].pieces;
    for (std::int64_t m = begin / pieces; m * pieces < end; ++m) copy_edge(each, false, each.other, m, stage, micro);
  }
}

template <class T>
void StageRunner<T>::return_gradients(std::uint32_t stage, std::int64_t micro) {
  const std::int64_t begin = micro * stages_[stage].pieces, end = pieces_end(stage, micro);
  for (const EdgeCopy& each : stages_[stage].outgoing) {
    const std::int64_t pieces = stages_[each.other].pieces;
    for (std::int64_t m = begin / pieces; m * pieces < end; ++m) copy_edge(each, true, stage, micro, each.other, m);
  }
}

template <class T>
void StageRunner<T>::send_bytes(std::uint32_t rank, const void* from, std::int64_t bytes) {
  const auto* const at = static_cast<const std::byte*>(from);
  transport_->write(rank, at - block_, {at, static_cast<std::size_t>(bytes)});
}

// Sends the inputs of a step to ranks with separate memory.
template <class T>
void StageRunner<T>::send_step() {
  for (std::uint32_t rank = 1; rank < memory_map_.ranks; ++rank) {
    for (const auto& each : shared_step_.bytes_to_send(step_, rank_reads_[rank])) {
      send_bytes(rank, block_ + shared_step_offset_ + each.begin, each.count);
    }
    if (buffers_ > 0) send_bytes(rank, block_ + buffer_offset_, bytes_of<T>(buffers_));
  }
}

template <class T>
void StageRunner<T>::send_values(std::uint32_t stage, std::int64_t micro) {
  const Samples own = samples(stage, micro);
  for (const RemoteValue& each : stages_[stage].remote_values) {
    for (const std::uint32_t rank : each.ranks) {
      send_bytes(rank, slot(stage, micro) + each.from.offset, (own.end - own.begin) * each.sample_bytes);
    }
  }
}

// Sends the results of a rank to rank 0.
template <class T>
void StageRunner<T>::send_results(std::size_t rank) {
  std::byte* const share = block_ + shared_step_offset_;
  for (std::uint32_t i = 0; i < stages_.size(); ++i) {
    const StageState& work = stages_[i];
    if (work.rank != rank) continue;
    for (const auto& ranges : work.gradients) {
      for (const Range& range : ranges)
        send_bytes(0, share + shared_step_.gradient(range).begin, shared_step_.gradient(range).count);
    }
    for (const Range& range : work.renewed)
      send_bytes(0, share + shared_step_.renewed(range).begin, shared_step_.renewed(range).count);
    if (i != loss_stage_) continue;
    const RunContext<T> last = context(loss_stage_, (num_used_pieces_ - 1) / work.pieces);
    send_bytes(0, last.at(loss_), bytes_of<T>(last.batch));
    send_bytes(0, &loss_sum(), bytes_of<double>(1));
  }
}

template <class T>
void StageRunner<T>::profile_step(const RunContext<T>& run, T* out, const std::function<void()>& done) {
  // One process runs all stages here, in memory that processes never use again.
  if (memory_.data() == nullptr) memory_ = AlignedBytes(memory_map_.bytes);
  begin({run, out, out, false}, memory_.data(), nullptr);
  const auto count = static_cast<std::uint32_t>(stages_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    copy_inputs(i, 0);
    compute(i, 0, 0, done);
  }
  for (std::uint32_t i = count; i-- > 0;) {
    compute(i, 0, 1, done);
    return_gradients(i, 0);
    compute(i, 0, 2, done);
  }
}

template class StageRunner<float>;
template class StageRunner<double>;

}  // namespace lanista::program
