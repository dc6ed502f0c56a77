// Threads go through their lists of passes. How stages are laid out in memory is in stage_plan.cpp.
#include "lanista/nn/stage_run.h"

#include <algorithm>
#include <cstring>

#include "lanista/base/check.h"

namespace lanista::nn {
namespace {

struct Stopped {};  // another place has failed

std::size_t first_part(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kWeightGrad ? 2 : 1;
}
std::size_t last_part(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kInputGrad ? 1 : 2;
}

}  // namespace

template <class T>
void StageRun<T>::start() {
  memory_ = AlignedBytes(bytes_);
  bounds_.resize(static_cast<std::size_t>(cut_.pieces) + 1);
  forward_.resize(stages_.size());
  backward_.resize(stages_.size());
  team_ = std::make_unique<Team>(static_cast<int>(places_.size()));
}

template <class T>
std::int64_t StageRun<T>::end_piece(std::uint32_t stage, std::int64_t micro) const {
  return std::min((micro + 1) * stages_[stage].pieces, used_);
}

template <class T>
typename StageRun<T>::Samples StageRun<T>::samples(std::uint32_t stage, std::int64_t micro) const {
  const auto at = [&](std::int64_t piece) { return bounds_[static_cast<std::size_t>(piece)]; };
  return {at(std::min(micro * stages_[stage].pieces, used_)), at(end_piece(stage, micro))};
}

template <class T>
std::byte* StageRun<T>::slot(std::uint32_t stage, std::int64_t micro) const {
  const Work& work = stages_[stage];
  return memory_.data() + work.offset + micro % work.slots * work.slot_bytes;
}

template <class T>
RunContext<T> StageRun<T>::context(std::uint32_t stage, std::int64_t micro) const {
  const Work& work = stages_[stage];
  const Samples own = samples(stage, micro);
  RunContext<T> run = step_.run;
  const auto base = [&run](Space space) -> std::byte*& { return run.base[static_cast<std::size_t>(space)]; };
  run.batch = own.end - own.begin;
  run.hyper = &work.hyper;
  run.scratch = reinterpret_cast<T*>(memory_.data() + work.scratch_offset);
  base(Space::kArena) = slot(stage, micro);
  base(Space::kEdge) = slot(stage, micro) + work.edge_offset;
  base(Space::kBuffer) = memory_.data() + buffer_offset_;
  base(Space::kGradient) = reinterpret_cast<std::byte*>(micro == 0 && !step_.add ? step_.out : step_.beside);
  base(Space::kInput) += own.begin * input_stride_;
  if (base(Space::kTarget) != nullptr) base(Space::kTarget) += own.begin * target_stride_;
  if (run.sample_index != nullptr) run.sample_index += own.begin;
  if (run.weights != nullptr) run.weights += own.begin;
  return run;
}

template <class T>
const T* StageRun<T>::losses() const {
  const std::int64_t pieces = stages_[last_].pieces;
  return context(last_, (used_ - 1) / pieces).at(loss_);
}

template <class T>
void StageRun<T>::begin(const RunContext<T>& run, T* out, T* beside, bool add) {
  step_ = {run, out, beside, add};
  used_ = 0;
  cut_.each(run.batch, [&](const Part& part) { bounds_[static_cast<std::size_t>(used_++)] = part.begin; });
  bounds_[static_cast<std::size_t>(used_)] = run.batch;
  const std::byte* const buffers = run.base[static_cast<std::size_t>(Space::kBuffer)];
  if (buffers_ > 0) {
    std::memcpy(memory_.data() + buffer_offset_, buffers, static_cast<std::size_t>(bytes_of<T>(buffers_)));
  }
  std::ranges::fill(forward_, 0);
  std::ranges::fill(backward_, 0);
  failure_ = nullptr;
  for (Work& work : stages_) {
    work.hyper = *run.hyper;
    work.held = 0;
    if (!work.hyper.numbers.empty()) work.hyper.numbers = work.hyper.numbers.subspan(work.first_number, work.numbers);
  }
}

template <class T>
double StageRun<T>::sum(const RunContext<T>& run, T* out, T* beside, bool add) {
  begin(run, out, beside, add);
  team_->share(static_cast<std::int64_t>(places_.size()),
               [this](int, std::int64_t place) { go(static_cast<std::size_t>(place)); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return loss_sum_;
}

// A batch that is too small for all micro-batches has fewer: their passes are left out of the lists.
template <class T>
bool StageRun<T>::exists(const StagePass& pass) const {
  return static_cast<std::int64_t>(pass.micro) * stages_[pass.stage].pieces < used_;
}

template <class T>
void StageRun<T>::go(std::size_t place) {
  try {
    for (const StagePass& pass : places_[place]) {
      if (!exists(pass)) continue;
      await(pass);
      if (observer_ != nullptr) observer_->begins(place, pass);
      perform(pass);
      if (observer_ != nullptr) observer_->ends(place, pass);
      tell(pass);
    }
  } catch (const Stopped&) {
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    changed_.notify_all();
  }
}

// Values of all samples of a micro-batch, from every stage that this one reads; backwards likewise.
template <class T>
void StageRun<T>::await(const StagePass& pass) {
  const Work& work = stages_[pass.stage];
  const bool forth = pass.kind == StagePass::Kind::kForward;
  const std::int64_t wanted = end_piece(pass.stage, pass.micro);
  std::unique_lock lock(mutex_);
  const auto ready = [&] {
    if (failure_ || pass.kind == StagePass::Kind::kWeightGrad) return true;
    return std::ranges::all_of(forth ? work.before : work.after,
                               [&](std::uint32_t other) { return (forth ? forward_ : backward_)[other] >= wanted; });
  };
  changed_.wait(lock, ready);
  if (failure_) throw Stopped{};
}

template <class T>
void StageRun<T>::tell(const StagePass& pass) {
  if (pass.kind == StagePass::Kind::kWeightGrad) return;
  {
    const std::lock_guard lock(mutex_);
    (pass.kind == StagePass::Kind::kForward ? forward_ : backward_)[pass.stage] = end_piece(pass.stage, pass.micro);
  }
  changed_.notify_all();
}

template <class T>
void StageRun<T>::perform(const StagePass& pass) {
  const auto micro = static_cast<std::int64_t>(pass.micro);
  Work& work = stages_[pass.stage];
  const Samples own = samples(pass.stage, micro);
  if (pass.kind == StagePass::Kind::kForward) {
    work.held += own.end - own.begin;
    if (observer_ != nullptr) observer_->holds(pass.stage, work.held);
    receive(pass.stage, micro);
  }
  for (std::size_t part = first_part(pass.kind); part <= last_part(pass.kind); ++part) {
    compute(pass.stage, micro, part, {});
    if (part == 1) hand_back(pass.stage, micro);
  }
  if (last_part(pass.kind) == 2) {
    work.held -= own.end - own.begin;
    if (observer_ != nullptr) observer_->holds(pass.stage, work.held);
  }
}

template <class T>
void StageRun<T>::compute(std::uint32_t stage, std::int64_t micro, std::size_t pass,
                          const std::function<void()>& done) {
  const Work& work = stages_[stage];
  const RunContext<T> run = context(stage, micro);
  for (const Run<T>& call : work.passes[pass]) {
    call(run);
    if (done) done();
  }
  if (pass == 0) {
    const T* const renewed = run.at({Space::kNewBuffer, 0});
    for (const Range& range : work.renewed) {
      std::copy_n(renewed + range.begin, range.count, run.at({Space::kBuffer, 0}) + range.begin);
    }
    if (stage != last_) return;
    double sum = 0;
    for (std::int64_t i = 0; i < run.batch; ++i) sum += static_cast<double>(run.at(loss_)[i]);
    loss_sum_ = micro == 0 ? sum : loss_sum_ + sum;
    return;
  }
  const T* const given = run.at({Space::kGradient, 0});
  if (given == step_.out) return;
  for (const Range& range : work.gradients[pass]) {
    T* const sum = step_.out + range.begin;
    kernels_->add(range.count, sum, given + range.begin, sum);
  }
}

// The samples that two micro-batches of different stages have in common.
template <class T>
void StageRun<T>::copy(const Transfer& transfer, bool gradient, std::uint32_t from, std::int64_t sender,
                       std::uint32_t to, std::int64_t receiver) {
  const Samples theirs = samples(from, sender), ours = samples(to, receiver);
  const std::int64_t begin = std::max(theirs.begin, ours.begin), end = std::min(theirs.end, ours.end);
  if (begin >= end) return;
  const auto at = [&](std::uint32_t stage, std::int64_t micro, Place place, std::int64_t first) {
    const std::int64_t edge = place.space == Space::kEdge ? stages_[stage].edge_offset : 0;
    return slot(stage, micro) + edge + place.offset + (begin - first) * transfer.sample_bytes;
  };
  std::memcpy(at(to, receiver, transfer.to, ours.begin), at(from, sender, transfer.from, theirs.begin),
              static_cast<std::size_t>((end - begin) * transfer.sample_bytes));
  if (observer_ != nullptr) observer_->sent(from, to, gradient, (end - begin) * transfer.sample_bytes);
}

template <class T>
void StageRun<T>::receive(std::uint32_t stage, std::int64_t micro) {
  const std::int64_t begin = micro * stages_[stage].pieces, end = end_piece(stage, micro);
  for (const Transfer& each : stages_[stage].arrivals) {
    const std::int64_t pieces = stages_[each.other].pieces;
    for (std::int64_t m = begin / pieces; m * pieces < end; ++m) copy(each, false, each.other, m, stage, micro);
  }
}

template <class T>
void StageRun<T>::hand_back(std::uint32_t stage, std::int64_t micro) {
  const std::int64_t begin = micro * stages_[stage].pieces, end = end_piece(stage, micro);
  for (const Transfer& each : stages_[stage].departures) {
    const std::int64_t pieces = stages_[each.other].pieces;
    for (std::int64_t m = begin / pieces; m * pieces < end; ++m) copy(each, true, stage, micro, each.other, m);
  }
}

template <class T>
void StageRun<T>::rehearse(const RunContext<T>& run, T* out, const std::function<void()>& done) {
  begin(run, out, out, false);
  const auto count = static_cast<std::uint32_t>(stages_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    receive(i, 0);
    compute(i, 0, 0, done);
  }
  for (std::uint32_t i = count; i-- > 0;) {
    compute(i, 0, 1, done);
    hand_back(i, 0);
    compute(i, 0, 2, done);
  }
}

template class StageRun<float>;
template class StageRun<double>;

}  // namespace lanista::nn
