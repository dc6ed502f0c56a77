// Steps of lanes: batches are fed, the section runs once for all of them, and the lanes that are meant commit.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_pending.h"
#include "lanista/exec/backends/aten/lane_kernels.h"
#include "lanista/exec/backends/lost_device.h"
#include "lanista/exec/program/gradient_square.h"

namespace lanista::device {
namespace {

constexpr std::size_t kMostShapes = 64;  // of steps that are kept

}  // namespace

std::unique_ptr<AtenMachine::Recorded> AtenMachine::make_recorded(const StepShape& shape, std::size_t steps) const {
  auto step = std::make_unique<Recorded>(shape, layouts_of(shape), device_, steps);
  const StepInputs& inputs = step->inputs;
  for (std::size_t at = 0; at < steps; ++at) {
    Frame& frame = step->frames[at];
    frame = {.lanes = shape.lanes,
             .batch = shape.size,
             .total = shape.size,
             .real = real_,
             .smoothing = {},
             .weights = shape.weighted ? inputs.at(StepInputs::kWeights, at) : Tensor(),
             .numbers = inputs.at(StepInputs::kNumbers, at),
             .active = inputs.at(StepInputs::kActive, at),
             .key_words = inputs.at(StepInputs::kKeys, at),
             .products = device_.products()};
    frame.smoothing = inputs.at(StepInputs::kHyper, at).select(0, 0).select(1, UpdateHyper::kSmoothing);
    if (compute_.draws_masks()) frame.samples = fed_to(inputs, StepInputs::kSamples, shape.lanes, at);
  }
  return step;
}

// Recorded with every lane masked, so that nothing changes.
std::unique_ptr<AtenMachine::Recorded> AtenMachine::record(const StepShape& shape) {
  auto made = make_recorded(shape, device_.steps_together());
  const auto lanes = static_cast<std::size_t>(shape.lanes);
  Fed nothing{.lanes = {shape.begin, shape.lanes}, .size = shape.size, .of = {}, .shared = shape.shared};
  nothing.of.resize(shape.shared ? 1 : lanes);
  made->inputs.prepare();
  for (std::size_t at = 0; at < made->frames.size(); ++at) {
    fill(*made, at, nothing, std::vector<nn::LaneHyper>(lanes), std::vector<std::uint8_t>(lanes), 0);
  }
  made->inputs.send();
  for (std::size_t at = 0; at < made->frames.size(); ++at) {
    made->descents[at] = descents_of({*made, at});
    made->frames[at].descents = &made->descents[at];
  }
  made->one = queue_->record([this, each = made.get()] { do_step({*each, 0}); });
  if (made->frames.size() > 1) {
    made->all = queue_->record([this, each = made.get()] {
      for (std::size_t at = 0; at < each->frames.size(); ++at) do_step({*each, at});
    });
  }
  return made;
}

// Steps of this shape. Where memory ends, steps of other shapes give theirs back, and it is tried once more.
AtenMachine::Recorded& AtenMachine::recorded(const StepShape& shape) {
  if (const auto known = recorded_.find(shape); known != recorded_.end()) return *known->second;
  const auto forget = [&] {
    do_waiting();
    queue_->synchronise();
    recorded_.clear();
    queue_->free_unused();
  };
  if (recorded_.size() >= kMostShapes) forget();
  std::unique_ptr<Recorded> made;
  try {
    made = record(shape);
  } catch (const std::exception&) {
    if (!queue_->is_alive()) lose_device(device_.name());
    forget();
    try {
      made = record(shape);
    } catch (const std::exception& error) {
      if (!queue_->is_alive()) lose_device(device_.name());
      if (!is_of_memory(error)) throw;
      throw NoMemory("device " + std::string(device_.name()) + " has no memory for a step of " +
                     std::to_string(shape.lanes) + (shape.lanes == 1 ? " lane" : " lanes") + " with " +
                     std::to_string(shape.size) + " samples; take a smaller batch (data.batch) or model, or run on " +
                     "the CPU (run.devices: [cpu])");
    }
  }
  return *(recorded_[shape] = std::move(made));
}

UpdateHyper AtenMachine::hyper_of(const Step& step, std::int64_t piece) const {
  return {step.input(StepInputs::kHyper).select(0, piece), real_};
}

Values AtenMachine::computed(const Step& step, const std::function<void()>& done) const {
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  Values values;
  bind_state(lanes, train_->state, values);
  values[train_->input] = read(step.of.inputs, step.shape(), StepInputs::kFeatures, step.at);
  values[train_->target] = read(step.of.inputs, step.shape(), StepInputs::kTargets, step.at);
  compute_.run(step.frame(), values, done);
  return values;
}

AtenMachine::Computed AtenMachine::collected(const Lanes& lanes, const Values& values) const {
  const nn::StateLayout& layout = kind_->layout();
  Computed of{.losses = values.at(train_->loss),
              .gradients = at::zeros({lanes.count, layout.parameters}, real_),
              .buffers = part_of(lanes, 1, layout.buffers).clone()};
  for (const nn::StateItem& item : layout.items) {
    const auto& sources = item.tensor.trained ? train_->gradient : train_->renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end()) continue;
    piece_of(item.tensor.trained ? of.gradients : of.buffers, item).copy_(values.at(found->second));
  }
  return of;
}

// [lanes], in double: nn::gradient_square of each.
Tensor AtenMachine::gradient_squares(const Step& step, const Tensor& gradients) const {
  const nn::StateLayout& layout = kind_->layout();
  const std::int64_t slot = nn::second_moment_of(layout);
  Tensor divided = gradients.to(at::kDouble);
  if (slot >= 0) {
    const UpdateHyper hyper = hyper_of(step, 0);
    const Tensor moments =
        part_of({step.shape().begin, step.shape().lanes}, 2 + static_cast<std::size_t>(slot), layout.parameters)
            .to(at::kDouble);
    const Tensor by = at::sqrt(moments) * hyper.doubles(UpdateHyper::kCorrection) + hyper.doubles(UpdateHyper::kEps);
    divided = at::where(hyper.is(UpdateHyper::kDivides), divided / by, divided);
  }
  return row_sum(divided * divided).squeeze(1);
}

double AtenMachine::gradient_square(std::int64_t lane, const nn::LaneGradients& gradients,
                                    const nn::LaneHyper& hyper) const {
  const AtenScope scope(*queue_);
  const Fed fed{.lanes = {lane, 1}, .size = 1, .of = {nullptr}, .shared = true};
  const auto step = make_recorded(shape_of(fed, {&hyper, 1}));
  const std::uint8_t active = 1;
  step->inputs.prepare();
  fill(*step, 0, fed, {&hyper, 1}, {&active, 1}, 0);
  step->inputs.send();
  const auto values = kind_->is_double() ? static_cast<void*>(gradients.gradients<double>())
                                         : static_cast<void*>(gradients.gradients<float>());
  const Tensor host = at::from_blob(values, {1, kind_->layout().parameters}, real_.device(at::kCPU));
  return gradient_squares({*step}, host.to(real_.device())).cpu().data_ptr<double>()[0];
}

// What a step says of its lanes' chunk: places and their new values.
std::vector<std::pair<Tensor, Tensor>> AtenMachine::noted(const Step& step, const Computed& of) {
  const StepShape& shape = step.shape();
  const Tensor mask = step.frame().active != 0;
  const auto total = [&](Total row) { return totals_.select(0, row).narrow(0, shape.begin, shape.lanes); };
  const Tensor sum = total(kLossSum), last = total(kLoss), bad = total(kBadStep);
  const double size = static_cast<double>(shape.size);
  const Tensor loss = row_sum(of.losses.to(at::kDouble)).squeeze(1) / size;
  const Tensor worse = mask.logical_and(at::isfinite(loss).logical_not()).logical_and(bad < 0);
  std::vector<std::pair<Tensor, Tensor>> writes{
      {sum, at::where(mask, sum + loss * size, sum)},
      {last, at::where(mask, loss, last)},
      {bad, at::where(worse, step.input(StepInputs::kStep).to(at::kDouble), bad)}};
  if (shape.watched) {
    const Tensor square = total(kSquare);
    writes.emplace_back(square, at::where(mask, gradient_squares(step, of.gradients), square));
  }
  return writes;
}

// Everything is computed before anything is written; what is written is selected, so that no lane meets another's.
void AtenMachine::commit_lanes(const Step& step, const Computed& of, std::vector<std::pair<Tensor, Tensor>> writes) {
  const nn::StateLayout& layout = kind_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor mask = (step.frame().active != 0).unsqueeze(1);
  const auto write = [&](const Tensor& to, const Tensor& value) {
    writes.emplace_back(to, at::where(mask, value, to));
  };
  const Tensor gradients =
      step.shape().clipped ? of.gradients * clip_scale(hyper_of(step, 0), of.gradients) : of.gradients;
  for (std::size_t i = 0; i < step.shape().pieces.size(); i += 2) {
    const std::int64_t begin = step.shape().pieces[i], count = step.shape().pieces[i + 1];
    const auto piece = [&](const Tensor& flat) { return flat.narrow(1, begin, count); };
    const Tensor parameters = piece(part_of(lanes, 0, layout.parameters));
    std::vector<Tensor> slots;
    for (std::size_t k = 0; k < layout.slots.size(); ++k)
      slots.push_back(piece(part_of(lanes, 2 + k, layout.parameters)));
    const Updated updated =
        update_(hyper_of(step, static_cast<std::int64_t>(i / 2)), piece(gradients), parameters, slots);
    write(parameters, updated.parameters);
    for (std::size_t k = 0; k < slots.size(); ++k) write(slots[k], updated.slots[k]);
  }
  for (const nn::Range& run : layout.renewed) {
    write(part_of(lanes, 1, layout.buffers).narrow(1, run.begin, run.count),
          of.buffers.narrow(1, run.begin, run.count));
  }
  for (auto& [to, value] : writes) to.copy_(value);
}

void AtenMachine::do_step(const Step& step) {
  if (device_.kernels() != nullptr) {
    const Tensor before = device_.device().is_cpu() ? rows_.clone() : Tensor();
    try {
      return finish_by_kernels(step, computed(step));
    } catch (...) {
      // A step that cannot end on the host has changed nothing; what a GPU has recorded ends, or the GPU is lost.
      if (before.defined()) rows_.copy_(before);
      throw;
    }
  }
  const Computed of = collected({step.shape().begin, step.shape().lanes}, computed(step));
  commit_lanes(step, of, noted(step, of));
}

void AtenMachine::count_steps(const Lanes& lanes, std::span<const std::uint8_t> active) {
  for (std::int64_t i = 0; i < lanes.count; ++i) {
    if (active[static_cast<std::size_t>(i)] != 0) state_of(lanes.begin + i).count_step();
  }
}

void AtenMachine::run(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) {
  const AtenScope scope(*queue_);
  LANISTA_CHECK(chunk.peers == nullptr, "steps on a device are not shared");
  *pending_ = {.ends = ends,
               .active = {chunk.active.begin(), chunk.active.end()},
               .watched = std::ranges::any_of(chunk.watched, [](std::uint8_t asked) { return asked != 0; })};
  totals_.zero_();
  totals_.select(0, kBadStep).fill_(-1);
  // Sums go on from where they stand, so that they do not hang on how steps are cut into chunks.
  std::vector<double> sums(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (chunk.active[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
    sums[i] = ends[i].loss_sum;
  }
  totals_.select(0, kLossSum).copy_(at::tensor(sums, at::kDouble));
  // Those that fill no launch go first, one by one, so that the device has work while the host fills what follows.
  alone_ = chunk.steps % static_cast<std::int64_t>(device_.steps_together());
  for (std::int64_t step = 0; step < chunk.steps; ++step) train_step(chunk.work(step), step);
  do_waiting();
}

// Lanes whose batches have different sizes take turns, the others masked.
void AtenMachine::train_step(const nn::StepWork& work, std::int64_t step) {
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(work.hyper.size() == lanes && (work.batches.size() == 1 || work.batches.size() == lanes),
                "a step wants hyper-parameters for every lane, and one batch or one a lane");
  for (const nn::LaneHyper& each : work.hyper) check_hyper(each);
  const bool shared = work.batches.size() == 1;
  if (shared) check_batch(work.batches[0], true);
  std::map<std::int64_t, std::vector<std::uint8_t>> groups;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (pending_->active[i] == 0) continue;
    try {
      LANISTA_CHECK(static_cast<bool>(states_[i]), "lane " + std::to_string(i) + " is empty");
      if (!shared) check_batch(work.batches[i], true);
      auto& group = groups.try_emplace(work.batches[shared ? 0 : i].size, lanes).first->second;
      group[i] = 1;
    } catch (...) {
      pending_->ends[i].failure = std::current_exception();
      pending_->active[i] = 0;
    }
  }
  for (auto& [size, group] : groups) {
    auto first = std::ranges::find(group, 1) - group.begin();
    auto last = std::ranges::find(group.rbegin(), group.rend(), 1).base() - group.begin();
    if (device_.computes_all_lanes()) first = 0, last = std::ssize(group);
    train_lanes({first, last - first}, group, work, step);
  }
}

// Those of the lanes that are in the group, as many at once as memory allows: where it ends, half as many from then on.
void AtenMachine::train_lanes(const Lanes& lanes, std::span<const std::uint8_t> group, const nn::StepWork& work,
                              std::int64_t step) {
  const bool shared = work.batches.size() == 1;
  for (std::int64_t begin = lanes.begin; begin < lanes.begin + lanes.count;) {
    const std::int64_t count = std::min(at_once_, lanes.begin + lanes.count - begin);
    const auto own = group.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    const auto first = std::ranges::find(own, 1);
    if (first == own.end()) {
      begin += count;
      continue;
    }
    const auto member = static_cast<std::size_t>(begin + (first - own.begin()));
    Fed fed{.lanes = {begin, count}, .size = work.batches[shared ? 0 : member].size, .of = {}, .shared = shared};
    for (std::size_t i = 0; i < (shared ? 1 : own.size()); ++i) {
      const nn::Batch* const batch = &work.batches[shared ? 0 : static_cast<std::size_t>(begin) + i];
      fed.of.push_back(shared || own[i] != 0 ? batch : nullptr);
    }
    if (train_group(fed, work, {own.begin(), own.end()}, step)) {
      begin += count;
    } else {
      take_fewer(count);
    }
  }
}

// False: there is no memory for so many lanes at once, and nothing has happened.
bool AtenMachine::train_group(const Fed& fed, const nn::StepWork& work, std::vector<std::uint8_t> active,
                              std::int64_t number) {
  const auto begin = static_cast<std::size_t>(fed.lanes.begin), count = static_cast<std::size_t>(fed.lanes.count);
  const auto fail = [&](std::size_t i) {
    pending_->ends[begin + i].failure = std::current_exception();
    pending_->active[begin + i] = active[i] = 0;
  };
  const auto hyper = work.hyper.subspan(begin, count);
  try {
    Recorded& step = recorded(shape_of(fed, hyper));
    for (std::size_t i = 0; i < count && options_.before_commit; ++i) {
      if (active[i] == 0) continue;
      try {
        options_.before_commit(static_cast<std::int64_t>(begin + i));
      } catch (...) {
        fail(i);
      }
    }
    if (waiting_ != &step) do_waiting();
    if (step.filled == 0) step.inputs.prepare();
    waiting_ = &step;
    fill(step, step.filled, fed, hyper, active, number);
    step.actives[step.filled++] = active;
    for (std::size_t i = 0; i < count; ++i) ahead_[begin + i] += active[i];
    if (step.filled == step.frames.size() || alone_ > 0) do_waiting();
    alone_ = std::max<std::int64_t>(0, alone_ - 1);
    return true;
  } catch (const NoMemory&) {
    if (count > 1) return false;
    if (active[0] != 0) fail(0);
  } catch (...) {
    for (std::size_t i = 0; i < count; ++i) {
      if (active[i] != 0) fail(i);
    }
  }
  return true;
}

// Steps that are filled. A device fails whole: then all of their lanes are as they were after the last that was done.
void AtenMachine::do_waiting() {
  if (waiting_ == nullptr) return;
  Recorded& step = *std::exchange(waiting_, nullptr);
  const std::size_t count = std::exchange(step.filled, 0);
  std::size_t done = 0;
  std::exception_ptr failure;
  bytes_up_ += static_cast<std::int64_t>(count) * step.inputs.step_bytes();
  try {
    if (count == step.frames.size() && step.all) {
      step.inputs.send();
      step.all();
      done = count;
    } else {
      for (std::size_t at = 0; at < count; ++at) {
        step.inputs.send_as_first(at);
        step.one();
        ++done;
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const auto begin = static_cast<std::size_t>(step.shape.begin), lanes = static_cast<std::size_t>(step.shape.lanes);
  for (std::size_t lane = begin; lane < begin + lanes; ++lane) {
    if (std::exchange(ahead_[lane], 0) == 0) continue;
    for (std::size_t at = 0; at < done; ++at) {
      if (step.actives[at][lane - begin] == 0) continue;
      states_[lane].count_step();
      ++pending_->ends[lane].steps;
    }
    if (!failure) continue;
    pending_->ends[lane].failure = failure;
    pending_->active[lane] = 0;
  }
}

// The only place where a chunk's numbers come to the host.
void AtenMachine::wait() {
  const AtenScope scope(*queue_);
  if (pending_->ends.empty()) return;
  Tensor all;
  try {
    all = totals_.cpu();
  } catch (const c10::Error&) {
    if (!queue_->is_alive()) lose_device(device_.name());
    throw;
  }
  const auto total = [&](Total row, std::size_t lane) {
    return all.data_ptr<double>()[static_cast<std::size_t>(row) * static_cast<std::size_t>(options_.lanes) + lane];
  };
  for (std::size_t i = 0; i < pending_->ends.size(); ++i) {
    nn::LaneEnd& end = pending_->ends[i];
    if (end.steps == 0) continue;
    end.loss_sum = total(kLossSum, i);
    end.loss = total(kLoss, i);
    end.bad_step = static_cast<std::int64_t>(total(kBadStep, i));
    if (pending_->watched) end.gradient_square = total(kSquare, i);
  }
  *pending_ = {};
}

}  // namespace lanista::device
