// Steps of lanes: upload of batches, one run of the section for all lanes, and the commit of the active lanes.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"
#include "lanista/exec/backends/aten/lane_kernels.h"
#include "lanista/exec/backends/device_failure.h"
#include "lanista/exec/program/gradient_norm.h"

namespace lanista::device {
namespace {

constexpr std::size_t kMaxRecordedShapes = 64;  // recordings that are kept

}  // namespace

std::unique_ptr<AtenExecutable::RecordedStep> AtenExecutable::make_recorded_step(const StepShape& shape,
                                                                                 std::size_t steps) const {
  auto step = std::make_unique<RecordedStep>(shape, layouts_of(shape), device_, steps);
  const StepInputBuffer& inputs = step->inputs;
  for (std::size_t at = 0; at < steps; ++at) {
    Frame& frame = step->frames[at];
    frame = {.lanes = shape.lanes,
             .batch = shape.size,
             .total = shape.size,
             .real = real_,
             .smoothing = {},
             .weights = shape.weighted ? inputs.at(StepInputBuffer::kWeights, at) : Tensor(),
             .lane_attrs = inputs.at(StepInputBuffer::kLaneAttrs, at),
             .active = inputs.at(StepInputBuffer::kActive, at),
             .mask_keys = inputs.at(StepInputBuffer::kKeys, at),
             .products = device_.products()};
    frame.smoothing = inputs.at(StepInputBuffer::kHyper, at).select(0, 0).select(1, UpdateHyperTable::kLabelSmoothing);
    if (compute_.has_random_masks()) frame.samples = read_shared(inputs, StepInputBuffer::kSamples, shape.lanes, at);
  }
  return step;
}

// Records with every lane masked, so that no state changes.
std::unique_ptr<AtenExecutable::RecordedStep> AtenExecutable::record(const StepShape& shape) {
  auto made = make_recorded_step(shape, device_.steps_per_launch());
  const auto lanes = static_cast<std::size_t>(shape.lanes);
  LaneBatches nothing{.lanes = {shape.begin, shape.lanes}, .size = shape.size, .of = {}, .shared = shape.shared};
  nothing.of.resize(shape.shared ? 1 : lanes);
  made->inputs.prepare();
  for (std::size_t at = 0; at < made->frames.size(); ++at) {
    fill(*made, at, nothing, std::vector<program::LaneHyper>(lanes), std::vector<std::uint8_t>(lanes), 0);
  }
  made->inputs.send();
  for (std::size_t at = 0; at < made->frames.size(); ++at) {
    made->fused_updates[at] = fused_updates_of({*made, at});
    made->frames[at].fused_updates = &made->fused_updates[at];
  }
  made->one = queue_->record([this, each = made.get()] { run_step({*each, 0}); });
  if (made->frames.size() > 1) {
    made->all = queue_->record([this, each = made.get()] {
      for (std::size_t at = 0; at < each->frames.size(); ++at) run_step({*each, at});
    });
  }
  return made;
}

// Recorded steps of this shape. If memory ends, recordings of other shapes are freed and it tries once more.
AtenExecutable::RecordedStep& AtenExecutable::recorded(const StepShape& shape) {
  if (const auto known = recorded_steps_.find(shape); known != recorded_steps_.end()) return *known->second;
  const auto release_recorded_steps = [&] {
    run_queued_steps();
    queue_->synchronise();
    recorded_steps_.clear();
    queue_->free_unused();
  };
  if (recorded_steps_.size() >= kMaxRecordedShapes) release_recorded_steps();
  std::unique_ptr<RecordedStep> made;
  try {
    made = record(shape);
  } catch (const std::exception&) {
    if (!queue_->is_device_alive()) abort_on_lost_device(device_.name());
    release_recorded_steps();
    try {
      made = record(shape);
    } catch (const std::exception& error) {
      if (!queue_->is_device_alive()) abort_on_lost_device(device_.name());
      if (!is_out_of_memory(error)) throw;
      throw DeviceOutOfMemory(
          "device " + std::string(device_.name()) + " has no memory for a step of " + std::to_string(shape.lanes) +
          (shape.lanes == 1 ? " lane" : " lanes") + " with " + std::to_string(shape.size) +
          " samples; use a smaller batch (data.batch) or model, or run on " + "the CPU (run.devices: [cpu])");
    }
  }
  return *(recorded_steps_[shape] = std::move(made));
}

UpdateHyperTable AtenExecutable::hyper_of(const Step& step, std::int64_t piece) const {
  return {step.input(StepInputBuffer::kHyper).select(0, piece), real_};
}

Values AtenExecutable::compute_step(const Step& step, const std::function<void()>& done) const {
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  Values values;
  bind_state(lanes, train_->state, values);
  values[train_->input] = read(step.of.inputs, step.shape(), StepInputBuffer::kFeatures, step.at);
  values[train_->target] = read(step.of.inputs, step.shape(), StepInputBuffer::kTargets, step.at);
  compute_.run(step.frame(), values, done);
  return values;
}

AtenExecutable::StepResults AtenExecutable::collect_results(const Lanes& lanes, const Values& values) const {
  const program::StateLayout& layout = state_format_->layout();
  StepResults of{.losses = values.at(train_->loss),
                 .gradients = at::zeros({lanes.count, layout.parameters}, real_),
                 .buffers = state_part(lanes, 1, layout.buffers).clone()};
  for (const program::StateTensorLayout& item : layout.items) {
    const auto& sources = item.tensor.trained ? train_->gradient : train_->renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end()) continue;
    tensor_view(item.tensor.trained ? of.gradients : of.buffers, item).copy_(values.at(found->second));
  }
  return of;
}

// [lanes], in double: program::squared_gradient_norm of each lane.
Tensor AtenExecutable::gradient_squares(const Step& step, const Tensor& gradients) const {
  const program::StateLayout& layout = state_format_->layout();
  const std::int64_t slot = program::second_moment_slot(layout);
  Tensor divided = gradients.to(at::kDouble);
  if (slot >= 0) {
    const UpdateHyperTable hyper = hyper_of(step, 0);
    const Tensor moments =
        state_part({step.shape().begin, step.shape().lanes}, 2 + static_cast<std::size_t>(slot), layout.parameters)
            .to(at::kDouble);
    const Tensor by = at::sqrt(moments) * hyper.doubles(UpdateHyperTable::kSecondMomentCorrection) +
                      hyper.doubles(UpdateHyperTable::kEps);
    divided = at::where(hyper.is(UpdateHyperTable::kDividesBySecondMoment), divided / by, divided);
  }
  return row_sum(divided * divided).squeeze(1);
}

double AtenExecutable::squared_gradient_norm(std::int64_t lane, const program::LaneGradients& gradients,
                                             const program::LaneHyper& hyper) const {
  const AtenScope scope(*queue_);
  const LaneBatches fed{.lanes = {lane, 1}, .size = 1, .of = {nullptr}, .shared = true};
  const auto step = make_recorded_step(shape_of(fed, {&hyper, 1}));
  const std::uint8_t active = 1;
  step->inputs.prepare();
  fill(*step, 0, fed, {&hyper, 1}, {&active, 1}, 0);
  step->inputs.send();
  const auto values = state_format_->is_double() ? static_cast<void*>(gradients.gradients<double>())
                                                 : static_cast<void*>(gradients.gradients<float>());
  const Tensor host = at::from_blob(values, {1, state_format_->layout().parameters}, real_.device(at::kCPU));
  return gradient_squares({*step}, host.to(real_.device())).cpu().data_ptr<double>()[0];
}

// Pairs of a destination in the chunk totals and its new value.
std::vector<std::pair<Tensor, Tensor>> AtenExecutable::loss_updates(const Step& step, const StepResults& of) {
  const StepShape& shape = step.shape();
  const Tensor mask = step.frame().active != 0;
  const auto total = [&](ChunkTotal row) { return chunk_totals_.select(0, row).narrow(0, shape.begin, shape.lanes); };
  const Tensor sum = total(kLossSum), last = total(kLoss), bad = total(kFirstNonfiniteStep);
  const double size = static_cast<double>(shape.size);
  const Tensor loss = row_sum(of.losses.to(at::kDouble)).squeeze(1) / size;
  const Tensor worse = mask.logical_and(at::isfinite(loss).logical_not()).logical_and(bad < 0);
  std::vector<std::pair<Tensor, Tensor>> writes{
      {sum, at::where(mask, sum + loss * size, sum)},
      {last, at::where(mask, loss, last)},
      {bad, at::where(worse, step.input(StepInputBuffer::kStep).to(at::kDouble), bad)}};
  if (shape.needs_gradient_norm) {
    const Tensor square = total(kSquaredGradientNorm);
    writes.emplace_back(square, at::where(mask, gradient_squares(step, of.gradients), square));
  }
  return writes;
}

// Computes all values before it writes any. Written values are selected, so that lanes stay independent.
void AtenExecutable::commit_lanes(const Step& step, const StepResults& of,
                                  std::vector<std::pair<Tensor, Tensor>> writes) {
  const program::StateLayout& layout = state_format_->layout();
  const Lanes lanes{step.shape().begin, step.shape().lanes};
  const Tensor mask = (step.frame().active != 0).unsqueeze(1);
  const auto write = [&](const Tensor& to, const Tensor& value) {
    writes.emplace_back(to, at::where(mask, value, to));
  };
  const Tensor gradients =
      step.shape().clipped ? of.gradients * clip_scale(hyper_of(step, 0), of.gradients) : of.gradients;
  for (std::size_t i = 0; i < step.shape().lr_ranges.size(); i += 2) {
    const std::int64_t begin = step.shape().lr_ranges[i], count = step.shape().lr_ranges[i + 1];
    const auto piece = [&](const Tensor& flat) { return flat.narrow(1, begin, count); };
    const Tensor parameters = piece(state_part(lanes, 0, layout.parameters));
    std::vector<Tensor> slots;
    for (std::size_t k = 0; k < layout.slots.size(); ++k)
      slots.push_back(piece(state_part(lanes, 2 + k, layout.parameters)));
    const Updated updated =
        update_(hyper_of(step, static_cast<std::int64_t>(i / 2)), piece(gradients), parameters, slots);
    write(parameters, updated.parameters);
    for (std::size_t k = 0; k < slots.size(); ++k) write(slots[k], updated.slots[k]);
  }
  for (const program::Range& run : layout.renewed) {
    write(state_part(lanes, 1, layout.buffers).narrow(1, run.begin, run.count),
          of.buffers.narrow(1, run.begin, run.count));
  }
  for (auto& [to, value] : writes) to.copy_(value);
}

void AtenExecutable::run_step(const Step& step) {
  if (device_.kernels() != nullptr) {
    const Tensor rows_before = device_.device().is_cpu() ? state_rows_.clone() : Tensor();
    try {
      return commit_fused(step, compute_step(step));
    } catch (...) {
      // On the host, a failed step restores the states. On a GPU, a recorded step completes, or the GPU is lost.
      if (rows_before.defined()) state_rows_.copy_(rows_before);
      throw;
    }
  }
  const StepResults of = collect_results({step.shape().begin, step.shape().lanes}, compute_step(step));
  commit_lanes(step, of, loss_updates(step, of));
}

void AtenExecutable::count_steps(const Lanes& lanes, std::span<const std::uint8_t> active) {
  for (std::int64_t i = 0; i < lanes.count; ++i) {
    if (active[static_cast<std::size_t>(i)] != 0) state_of(lanes.begin + i).count_step();
  }
}

void AtenExecutable::run(const program::Chunk& chunk, std::span<program::LaneResult> ends) {
  const AtenScope scope(*queue_);
  LANISTA_CHECK(chunk.communicator == nullptr, "steps on a device are not shared");
  *pending_chunk_ = {.ends = ends,
                     .active = {chunk.active.begin(), chunk.active.end()},
                     .needs_gradient_norm =
                         std::ranges::any_of(chunk.needs_gradient_norm, [](std::uint8_t asked) { return asked != 0; })};
  chunk_totals_.zero_();
  chunk_totals_.select(0, kFirstNonfiniteStep).fill_(-1);
  // Sums continue from the previous chunk, so that they do not depend on the split into chunks.
  std::vector<double> sums(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (chunk.active[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
    sums[i] = ends[i].loss_sum;
  }
  chunk_totals_.select(0, kLossSum).copy_(at::tensor(sums, at::kDouble));
  // Steps that do not fill a launch go first, one by one. So the device works while the host fills later steps.
  num_single_steps_ = chunk.steps % static_cast<std::int64_t>(device_.steps_per_launch());
  for (std::int64_t step = 0; step < chunk.steps; ++step) train_step(chunk.step_input(step), step);
  run_queued_steps();
}

// Lanes with batches of different sizes run one size at a time, with the others masked.
void AtenExecutable::train_step(const program::StepInput& step_input, std::int64_t step) {
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(
      step_input.hyper.size() == lanes && (step_input.batches.size() == 1 || step_input.batches.size() == lanes),
      "a step needs hyper-parameters for every lane, and one batch or one batch per lane");
  for (const program::LaneHyper& each : step_input.hyper) check_hyper(each);
  const bool shared = step_input.batches.size() == 1;
  if (shared) check_batch(step_input.batches[0], true);
  std::map<std::int64_t, std::vector<std::uint8_t>> groups;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (pending_chunk_->active[i] == 0) continue;
    try {
      LANISTA_CHECK(static_cast<bool>(states_[i]), "lane " + std::to_string(i) + " is empty");
      if (!shared) check_batch(step_input.batches[i], true);
      auto& group = groups.try_emplace(step_input.batches[shared ? 0 : i].size, lanes).first->second;
      group[i] = 1;
    } catch (...) {
      pending_chunk_->ends[i].failure = std::current_exception();
      pending_chunk_->active[i] = 0;
    }
  }
  for (auto& [size, group] : groups) {
    auto first = std::ranges::find(group, 1) - group.begin();
    auto last = std::ranges::find(group.rbegin(), group.rend(), 1).base() - group.begin();
    if (device_.runs_masked_lanes()) first = 0, last = std::ssize(group);
    train_lanes({first, last - first}, group, step_input, step);
  }
}

// Trains the lanes of the group in launches of as many as memory allows. If memory ends, later launches are half as
// large.
void AtenExecutable::train_lanes(const Lanes& lanes, std::span<const std::uint8_t> group,
                                 const program::StepInput& step_input, std::int64_t step) {
  const bool shared = step_input.batches.size() == 1;
  for (std::int64_t begin = lanes.begin; begin < lanes.begin + lanes.count;) {
    const std::int64_t count = std::min(lanes_per_launch_, lanes.begin + lanes.count - begin);
    const auto own = group.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    const auto first = std::ranges::find(own, 1);
    if (first == own.end()) {
      begin += count;
      continue;
    }
    const auto member = static_cast<std::size_t>(begin + (first - own.begin()));
    LaneBatches fed{
        .lanes = {begin, count}, .size = step_input.batches[shared ? 0 : member].size, .of = {}, .shared = shared};
    for (std::size_t i = 0; i < (shared ? 1 : own.size()); ++i) {
      const program::Batch* const batch = &step_input.batches[shared ? 0 : static_cast<std::size_t>(begin) + i];
      fed.of.push_back(shared || own[i] != 0 ? batch : nullptr);
    }
    if (train_group(fed, step_input, {own.begin(), own.end()}, step)) {
      begin += count;
    } else {
      halve_lanes_per_launch(count);
    }
  }
}

// Returns false if memory does not suffice for so many lanes at once. Then nothing has changed.
bool AtenExecutable::train_group(const LaneBatches& fed, const program::StepInput& step_input,
                                 std::vector<std::uint8_t> active, std::int64_t number) {
  const auto begin = static_cast<std::size_t>(fed.lanes.begin), count = static_cast<std::size_t>(fed.lanes.count);
  const auto fail = [&](std::size_t i) {
    pending_chunk_->ends[begin + i].failure = std::current_exception();
    pending_chunk_->active[begin + i] = active[i] = 0;
  };
  const auto hyper = step_input.hyper.subspan(begin, count);
  try {
    RecordedStep& step = recorded(shape_of(fed, hyper));
    for (std::size_t i = 0; i < count && options_.before_commit; ++i) {
      if (active[i] == 0) continue;
      try {
        options_.before_commit(static_cast<std::int64_t>(begin + i));
      } catch (...) {
        fail(i);
      }
    }
    if (queued_ != &step) run_queued_steps();
    if (step.filled == 0) step.inputs.prepare();
    queued_ = &step;
    fill(step, step.filled, fed, hyper, active, number);
    step.active_lanes[step.filled++] = active;
    for (std::size_t i = 0; i < count; ++i) num_queued_steps_[begin + i] += active[i];
    if (step.filled == step.frames.size() || num_single_steps_ > 0) run_queued_steps();
    num_single_steps_ = std::max<std::int64_t>(0, num_single_steps_ - 1);
    return true;
  } catch (const DeviceOutOfMemory&) {
    if (count > 1) return false;
    if (active[0] != 0) fail(0);
  } catch (...) {
    for (std::size_t i = 0; i < count; ++i) {
      if (active[i] != 0) fail(i);
    }
  }
  return true;
}

// Runs the filled steps. If the device fails, no lane of the launch advances.
void AtenExecutable::run_queued_steps() {
  if (queued_ == nullptr) return;
  RecordedStep& step = *std::exchange(queued_, nullptr);
  const std::size_t count = std::exchange(step.filled, 0);
  std::size_t done = 0;
  std::exception_ptr failure;
  uploaded_bytes_ += static_cast<std::int64_t>(count) * step.inputs.step_bytes();
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
    if (std::exchange(num_queued_steps_[lane], 0) == 0) continue;
    for (std::size_t at = 0; at < done; ++at) {
      if (step.active_lanes[at][lane - begin] == 0) continue;
      states_[lane].count_step();
      ++pending_chunk_->ends[lane].steps;
    }
    if (!failure) continue;
    pending_chunk_->ends[lane].failure = failure;
    pending_chunk_->active[lane] = 0;
  }
}

// The only place that downloads the results of a chunk.
void AtenExecutable::wait() {
  const AtenScope scope(*queue_);
  if (pending_chunk_->ends.empty()) return;
  Tensor all;
  try {
    all = chunk_totals_.cpu();
  } catch (const c10::Error&) {
    if (!queue_->is_device_alive()) abort_on_lost_device(device_.name());
    throw;
  }
  const auto total = [&](ChunkTotal row, std::size_t lane) {
    return all.data_ptr<double>()[static_cast<std::size_t>(row) * static_cast<std::size_t>(options_.lanes) + lane];
  };
  for (std::size_t i = 0; i < pending_chunk_->ends.size(); ++i) {
    program::LaneResult& end = pending_chunk_->ends[i];
    if (end.steps == 0) continue;
    end.loss_sum = total(kLossSum, i);
    end.loss = total(kLoss, i);
    end.first_nonfinite_step = static_cast<std::int64_t>(total(kFirstNonfiniteStep, i));
    if (pending_chunk_->needs_gradient_norm) end.squared_gradient_norm = total(kSquaredGradientNorm, i);
  }
  *pending_chunk_ = {};
}

}  // namespace lanista::device
