// Threads or processes go through their lists of passes. How stages are laid out in memory is in stage_plan.cpp.
#include "lanista/exec/pipeline_parallel/stage_run.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::nn {
namespace {

std::size_t first_part(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kWeightGrad ? 2 : 1;
}
std::size_t last_part(StagePass::Kind kind) {
  return kind == StagePass::Kind::kForward ? 0 : kind == StagePass::Kind::kInputGrad ? 1 : 2;
}

}  // namespace

template <class T>
void StageRun<T>::start() {
  bounds_.resize(static_cast<std::size_t>(cut_.pieces) + 1);
  if (elsewhere_) {
    last_losses_.resize(static_cast<std::size_t>(samples_));
    return;
  }
  memory_ = AlignedBytes(map_.bytes);
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
  return block_ + work.offset + micro % work.slots * work.slot_bytes;
}

template <class T>
RunContext<T> StageRun<T>::context(std::uint32_t stage, std::int64_t micro) const {
  const Work& work = stages_[stage];
  const Samples own = samples(stage, micro);
  RunContext<T> run = step_.run;
  const auto base = [&run](Space space) -> std::byte*& { return run.base[static_cast<std::size_t>(space)]; };
  run.batch = own.end - own.begin;
  run.hyper = &work.hyper;
  run.scratch = reinterpret_cast<T*>(block_ + work.scratch_offset);
  base(Space::kArena) = slot(stage, micro);
  base(Space::kEdge) = slot(stage, micro) + work.edge_offset;
  base(Space::kBuffer) = block_ + buffer_offset_;
  base(Space::kGradient) = reinterpret_cast<std::byte*>(micro == 0 && !step_.add ? step_.out : step_.beside);
  base(Space::kInput) += own.begin * input_stride_;
  if (base(Space::kTarget) != nullptr) base(Space::kTarget) += own.begin * target_stride_;
  if (run.sample_index != nullptr) run.sample_index += own.begin;
  if (run.weights != nullptr) run.weights += own.begin;
  return run;
}

template <class T>
const T* StageRun<T>::losses() const {
  if (elsewhere_) return last_losses_.data();
  const std::int64_t pieces = stages_[last_].pieces;
  return context(last_, (used_ - 1) / pieces).at(loss_);
}

// A place's own view of the step under way.
template <class T>
void StageRun<T>::take(const StageStep<T>& step, std::span<const double> numbers) {
  step_ = step;
  used_ = 0;
  cut_.each(step.run.batch, [&](const Part& part) { bounds_[static_cast<std::size_t>(used_++)] = part.begin; });
  bounds_[static_cast<std::size_t>(used_)] = step.run.batch;
  failure_ = nullptr;
  for (Work& work : stages_) {
    work.hyper = *step.run.hyper;
    work.hyper.numbers = numbers.empty() ? numbers : numbers.subspan(work.first_number, work.numbers);
    work.hyper.rates = {};
    work.held = 0;
  }
}

template <class T>
void StageRun<T>::begin(const StageStep<T>& step, std::byte* memory, StageLine* line) {
  block_ = memory;
  line_ = line;
  board_ = StageBoard(block_, stages_.size(), line_);
  board_.reset();
  take(elsewhere_ ? share_.put(block_ + share_offset_, step) : step, step.run.hyper->numbers);
  const std::byte* const buffers = step.run.base[static_cast<std::size_t>(Space::kBuffer)];
  if (buffers_ > 0) std::memcpy(block_ + buffer_offset_, buffers, static_cast<std::size_t>(bytes_of<T>(buffers_)));
}

template <class T>
double StageRun<T>::sum(const RunContext<T>& run, T* out, T* beside, bool add) {
  const StageStep<T> step{run, out, beside, add};
  if (!elsewhere_) {
    begin(step, memory_.data(), nullptr);
    time_step();
    sum_here();
    clock_.end(block_ + clock_offset_);
    return loss_sum();
  }
  std::byte* const memory = elsewhere_->enter(map_);
  try {
    begin(step, memory, elsewhere_->line());
    time_step();
    sum_with_others();
    clock_.end(block_ + clock_offset_);
    share_.collect(block_ + share_offset_, step);
    const std::int64_t micro = (used_ - 1) / stages_[last_].pieces;
    const RunContext<T> last = context(last_, micro);
    std::copy_n(last.at(loss_), last.batch, last_losses_.data());
    const double loss = loss_sum();
    elsewhere_->leave();
    return loss;
  } catch (...) {
    elsewhere_->leave();
    throw;
  }
}

template <class T>
void StageRun<T>::time_step() {
  // Machines have clocks of their own: what they say of one step cannot be drawn together.
  const bool one_clock = line_ == nullptr;
  clock_.begin(block_ + clock_offset_, one_clock && used_ == cut_.pieces && step_.run.batch == samples_);
}

template <class T>
void StageRun<T>::sum_here() {
  team_->share(static_cast<std::int64_t>(places_.size()),
               [this](int, std::int64_t place) { go(static_cast<std::size_t>(place), {}); });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

template <class T>
void StageRun<T>::sum_with_others() {
  bool is_lost = false;  // who is gone ends nothing
  const std::function<void()> watch = [this, &is_lost] {
    is_lost = true;
    elsewhere_->look();
    is_lost = false;
  };
  if (line_ != nullptr) tell_step();
  board_.begin_step();
  go(0, watch);
  try {
    if (!is_lost) board_.await_ends(static_cast<std::uint32_t>(places_.size()), watch);
  } catch (...) {
    board_.stop("a place is gone");
    throw;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (board_.is_stopped()) throw std::runtime_error(board_.reason());
}

template <class T>
void StageRun<T>::serve(std::byte* memory, std::size_t place, const std::function<bool()>& leaves, StageLine* line) {
  bounds_.resize(static_cast<std::size_t>(cut_.pieces) + 1);
  block_ = memory;
  line_ = line;
  board_ = StageBoard(block_, stages_.size(), line_);
  const std::function<void()> watch = [&leaves] {
    if (leaves()) throw StageBoard::Stopped{};
  };
  std::uint32_t seen = 0;
  while (board_.await_step(seen, leaves)) {
    const StageStep<T> step = share_.get(block_ + share_offset_);
    if (step.run.batch < 1 || step.run.batch > samples_) {
      board_.stop("a batch of " + std::to_string(step.run.batch) + " samples; allowed: 1 to " +
                  std::to_string(samples_));
      board_.end_place();
      continue;
    }
    take(step, share_.numbers(block_ + share_offset_));
    go(place, watch);
  }
}

// A batch that is too small for all micro-batches has fewer: their passes are left out of the lists.
template <class T>
bool StageRun<T>::exists(const StagePass& pass) const {
  return static_cast<std::int64_t>(pass.micro) * stages_[pass.stage].pieces < used_;
}

template <class T>
void StageRun<T>::go(std::size_t place, const std::function<void()>& watch) {
  const auto fail = [this](const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    board_.stop(why);
  };
  try {
    const StageClock::Row times =
        line_ == nullptr ? clock_.row(block_ + clock_offset_, place) : StageClock::Row(nullptr);
    for (std::size_t i = 0; i < places_[place].size(); ++i) {
      const StagePass& pass = places_[place][i];
      if (!exists(pass)) continue;
      await(pass, watch);
      times.begins(i);
      if (observer_ != nullptr) observer_->begins(place, pass);
      perform(pass);
      if (observer_ != nullptr) observer_->ends(place, pass);
      times.ends(i);
      tell(pass);
    }
    if (line_ != nullptr && place > 0) tell_results(place);
  } catch (const StageBoard::Stopped&) {
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("a pass threw what is no exception");
  }
  board_.end_place();
}

// Values of all samples of a micro-batch, from every stage that this one reads; backwards likewise.
template <class T>
void StageRun<T>::await(const StagePass& pass, const std::function<void()>& watch) {
  const Work& work = stages_[pass.stage];
  const bool forth = pass.kind == StagePass::Kind::kForward;
  const std::int64_t wanted = end_piece(pass.stage, pass.micro);
  board_.await(
      [&] {
        return pass.kind == StagePass::Kind::kWeightGrad ||
               std::ranges::all_of(forth ? work.before : work.after,
                                   [&](std::uint32_t other) { return board_.has(forth, other, wanted); });
      },
      watch);
}

template <class T>
void StageRun<T>::tell(const StagePass& pass) {
  if (pass.kind == StagePass::Kind::kWeightGrad) return;
  board_.tell(pass.kind == StagePass::Kind::kForward, pass.stage, end_piece(pass.stage, pass.micro));
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
  if (pass.kind == StagePass::Kind::kForward && line_ != nullptr) tell_values(pass.stage, micro);
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
    loss_sum() = micro == 0 ? sum : loss_sum() + sum;
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
  std::byte* const into = at(to, receiver, transfer.to, ours.begin);
  const std::byte* const out_of = at(from, sender, transfer.from, theirs.begin);
  const std::int64_t bytes = (end - begin) * transfer.sample_bytes;
  const std::uint32_t place = stages_[to].place;
  if (line_ != nullptr && gradient && place != stages_[from].place) {
    line_->put(place, into - block_, {out_of, static_cast<std::size_t>(bytes)});
  } else {
    std::memcpy(into, out_of, static_cast<std::size_t>(bytes));
  }
  if (observer_ != nullptr) observer_->sent(from, to, gradient, bytes);
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
void StageRun<T>::tell_bytes(std::uint32_t place, const void* from, std::int64_t bytes) {
  const auto* const at = static_cast<const std::byte*>(from);
  line_->put(place, at - block_, {at, static_cast<std::size_t>(bytes)});
}

// What each place's passes read that no pass makes.
template <class T>
void StageRun<T>::tell_step() {
  for (std::uint32_t place = 1; place < map_.places; ++place) {
    for (const auto& each : share_.told(step_, reads_[place])) {
      tell_bytes(place, block_ + share_offset_ + each.begin, each.count);
    }
    if (buffers_ > 0) tell_bytes(place, block_ + buffer_offset_, bytes_of<T>(buffers_));
  }
}

template <class T>
void StageRun<T>::tell_values(std::uint32_t stage, std::int64_t micro) {
  const Samples own = samples(stage, micro);
  for (const Sent& each : stages_[stage].sent) {
    for (const std::uint32_t place : each.places) {
      tell_bytes(place, slot(stage, micro) + each.from.offset, (own.end - own.begin) * each.sample_bytes);
    }
  }
}

// What the first place has to know of a place's part of a step.
template <class T>
void StageRun<T>::tell_results(std::size_t place) {
  std::byte* const share = block_ + share_offset_;
  for (std::uint32_t i = 0; i < stages_.size(); ++i) {
    const Work& work = stages_[i];
    if (work.place != place) continue;
    for (const auto& ranges : work.gradients) {
      for (const Range& range : ranges)
        tell_bytes(0, share + share_.gradient(range).begin, share_.gradient(range).count);
    }
    for (const Range& range : work.renewed)
      tell_bytes(0, share + share_.renewed(range).begin, share_.renewed(range).count);
    if (i != last_) continue;
    const RunContext<T> last = context(last_, (used_ - 1) / work.pieces);
    tell_bytes(0, last.at(loss_), bytes_of<T>(last.batch));
    tell_bytes(0, &loss_sum(), bytes_of<double>(1));
  }
}

template <class T>
void StageRun<T>::rehearse(const RunContext<T>& run, T* out, const std::function<void()>& done) {
  // Alone, in memory that is never used again where places are processes.
  if (memory_.data() == nullptr) memory_ = AlignedBytes(map_.bytes);
  begin({run, out, out, false}, memory_.data(), nullptr);
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
