// Construction of block executables, their lane states, and the work that the CPU does for them. Steps are in
// block_steps.cpp.
#include "lanista/exec/backends/cuda_blocks/block_executable.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/device_failure.h"
#include "lanista/exec/program/operator_tables.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::device {
namespace {

Error unimplemented(std::string message) {
  return {.code = Code::kUnimplemented, .message = std::move(message), .where = {}};
}

Result<void> check_options(const program::ProgramOptions& options) {
  if (options.precision != Precision::kFloat32) {
    return unimplemented(
        "the block backend computes in float32, not in " + std::string(name_of(options.precision)) +
        "; use train.precision: float32, or run on the CPU (run.devices: [cpu]) or a device of LibTorch "
        "(run.devices: [cuda:0])");
  }
  if (options.shards == 1 && options.accumulate == 1 && options.stages == nullptr) return {};
  return unimplemented("a batch in parts or a model in stages (train.shards=" + std::to_string(options.shards) +
                       ", train.accumulate=" + std::to_string(options.accumulate) +
                       ") needs the CPU; run on the CPU (run.devices: [cpu])");
}

Error no_memory(std::int64_t lanes, std::int64_t bytes) {
  return {.code = Code::kResourceExhausted,
          .message = "the device has no memory for " + std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes") +
                     " of " + std::to_string(bytes) +
                     " bytes; use fewer (run.lanes), or run on the CPU (run.devices: [cpu])",
          .where = {}};
}

}  // namespace

Result<std::unique_ptr<program::Executable>> BlockExecutable::compile(BlockDevice& device,
                                                                      const autodiff::TrainingStep* train,
                                                                      const autodiff::InferenceStep& infer,
                                                                      const program::ProgramOptions& options) {
  LANISTA_TRY(check_options(options));
  // It has the numeric class of the block backend. The caller has checked that this CPU supports it.
  const kernels::Isa isa = kernels::best_isa() == kernels::Isa::kAvx512 ? kernels::Isa::kAvx512 : kernels::Isa::kAvx2;
  program::ProgramOptions like = options;
  like.backend = nullptr;
  if (train == nullptr) return program::cpu_backend(isa).compile(train, infer, like);
  like.lanes = std::min<std::int64_t>(options.lanes, 1);
  LANISTA_ASSIGN(auto cpu_executable, program::cpu_backend(isa).compile(train, infer, like));
  program::ExecutableProperties properties = cpu_executable->properties();
  properties.lanes = options.lanes;
  properties.shard_bytes = 0;
  for (program::PlanLine& line : properties.plan) line.family = "block float32";

  const program::OperatorTables all(options);
  const graph::OpTable& ops = all.step_ops();
  LANISTA_ASSIGN(BlockProgram program, block_program(*train, *properties.state_format, ops, options.max_batch));
  for (const program::PlanLine& line : properties.plan) program.flops += line.section == "infer" ? 0 : line.flops;
  try {
    std::unique_ptr<BlockExecutable> executable(new BlockExecutable(std::move(properties), device, std::move(program),
                                                                    std::move(cpu_executable), *train, options));
    LANISTA_TRY(executable->reserve_lanes(1));
    return std::unique_ptr<program::Executable>(std::move(executable));
  } catch (const std::bad_alloc&) {
    return no_memory(1, program.slab_bytes());
  } catch (const std::runtime_error& error) {
    return Error{.code = Code::kUnavailable, .message = error.what(), .where = {}};
  }
}

BlockExecutable::BlockExecutable(program::ExecutableProperties properties, BlockDevice& device, BlockProgram program,
                                 std::unique_ptr<program::Executable> cpu_executable,
                                 const autodiff::TrainingStep& train, const program::ProgramOptions& options)
    : SingleObjectExecutable(std::move(properties)),
      options_(options),
      device_(&device),
      program_(std::move(program)),
      cpu_executable_(std::move(cpu_executable)),
      state_format_(this->properties().state_format),
      corrects_rate_(autodiff::find_optimizer(train.options.optimizer)->corrects_rate),
      lane_slots_(static_cast<std::size_t>(options.lanes)) {
  const graph::ValueType &input = train.types.at(train.input), &target = train.types.at(train.target);
  const graph::Shape& prediction = train.types.at(train.prediction).shape;
  input_ = program::Reorder::to_layout(input.shape, program::value_layout(input.shape));
  tokens_ = input.dtype == graph::DType::kIndex;
  sample_values_ = input.shape.elements_per_sample();
  target_values_ = target.shape.elements_per_sample();
  if (target.dtype == graph::DType::kIndex) {
    classes_ = prediction.dims.back();
    positions_ = target_values_;
  } else {
    target_ = program::Reorder::to_layout(target.shape, program::value_layout(target.shape));
  }
  // Staging bytes of one step: a batch per lane, its hyper-parameters, and the alignment of both.
  const std::int64_t sample = 4 * (sample_values_ + target_values_ + 1) + 8;
  const std::int64_t lr_ranges = 16 * (std::ssize(state_format_->layout().trained) + 64);
  staging_bytes_per_lane_ =
      options.max_batch * sample + lr_ranges + 8 * std::ssize(this->properties().lane_attrs) + 2048;
  spare_slabs_.reserve(lane_slots_.size() + 1);
  const auto call_bytes = static_cast<std::int64_t>(program_.calls.size() * sizeof(block::Call));
  calls_ = BlockMemory(device, MemoryKind::kDevice, call_bytes);
  device.copy(calls_.at(), program_.calls.data(), call_bytes);
}

BlockExecutable::~BlockExecutable() {
  device_->launch_batcher().leave(this);
  if (rounds_.empty()) return;
  try {
    device_->wait();  // until then, the staging memory is in use
  } catch (const std::exception&) {
  }
}

std::int64_t BlockExecutable::num_occupied_lanes() const {
  return std::ranges::count_if(lane_slots_, [](const LaneSlot& each) { return static_cast<bool>(each.state); });
}

Result<BlockExecutable::Slab> BlockExecutable::acquire_slab() {
  Slab slab;
  const std::int64_t bytes = program_.slab_bytes();
  if (options_.budget != nullptr) {
    LANISTA_ASSIGN(slab.reservation, options_.budget->reserve(bytes));
  }
  try {
    slab.memory = BlockMemory(*device_, MemoryKind::kDevice, bytes);
  } catch (const std::bad_alloc&) {
    return no_memory(num_occupied_lanes() + std::ssize(spare_slabs_) + 1, bytes);
  }
  return slab;
}

Result<void> BlockExecutable::reserve_lanes(std::int64_t lanes) {
  num_reserved_lanes_ = std::clamp<std::int64_t>(lanes, 1, options_.lanes);
  while (num_occupied_lanes() + std::ssize(spare_slabs_) < num_reserved_lanes_) {
    LANISTA_ASSIGN(Slab slab, acquire_slab());
    spare_slabs_.push_back(std::move(slab));
  }
  release_spare_slabs();
  return {};
}

void BlockExecutable::release_spare_slabs() {
  while (!spare_slabs_.empty() && num_occupied_lanes() + std::ssize(spare_slabs_) > num_reserved_lanes_)
    spare_slabs_.pop_back();
}

std::int64_t BlockExecutable::bytes() const {
  const std::int64_t states = num_occupied_lanes();
  return (states + std::ssize(spare_slabs_)) * program_.slab_bytes() + staging_.bytes() + device_staging_.bytes() +
         cpu_executable_->memory().bytes() + states * state_format_->bytes();
}

std::string BlockExecutable::describe() const {
  std::string text = "float32 blocks, " + std::to_string(options_.lanes) + " lanes, up to " +
                     std::to_string(options_.max_batch) + " samples, " + std::to_string(bytes()) + " bytes (a lane " +
                     std::to_string(program_.slab_bytes()) + "), " + std::to_string(program_.calls.size()) + " calls\n";
  for (const program::PlanLine& line : properties().plan) text += line.text() + "\n";
  return text;
}

Result<program::LaneState> BlockExecutable::make_state(std::uint64_t trial_seed) const {
  return program::LaneState::make(state_format_, trial_seed, options_.budget);
}

void BlockExecutable::download_state(std::int64_t lane) const {
  device_->launch_batcher().leave(this);
  LaneSlot& at = lane_slot(lane);
  if (!at.is_device_newer) return;
  device_->copy(at.state.parameters<float>(), slab(lane), state_format_->bytes());
  device_->wait_for_copies();
  at.is_device_newer = false;
}

void BlockExecutable::upload_state(std::int64_t lane) const {
  device_->copy(slab(lane), lane_slot(lane).state.parameters<float>(), state_format_->bytes());
}

void BlockExecutable::attach(std::int64_t lane, program::LaneState&& state) {
  if (spare_slabs_.empty()) {
    auto slab = acquire_slab();
    if (!slab) throw std::bad_alloc();
    spare_slabs_.push_back(*std::move(slab));
  }
  LaneSlot& at = lane_slot(lane);
  at = {std::move(state), false, std::move(spare_slabs_.back())};
  spare_slabs_.pop_back();
  try {
    at.state.ensure_unique();  // later writes must not change another state
    upload_state(lane);
  } catch (...) {
    state = std::move(at.state);
    spare_slabs_.push_back(std::move(at.slab));
    at = {};
    throw;
  }
}

program::LaneState BlockExecutable::detach(std::int64_t lane) {
  device_->launch_batcher().leave(this);
  LaneSlot& at = lane_slot(lane);
  if (!at.state) return {};
  try {
    download_state(lane);
  } catch (const std::runtime_error&) {
    abort_on_lost_device("block");  // the host copy is older than the steps
  }
  LaneSlot left = std::exchange(at, {});
  spare_slabs_.push_back(std::move(left.slab));
  release_spare_slabs();
  return std::move(left.state);
}

Result<void> BlockExecutable::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  LANISTA_ASSIGN(program::LaneState copy, lane_slot(from).state.copy(trial_seed));
  Slab slab;
  if (spare_slabs_.empty()) {
    LANISTA_ASSIGN(slab, acquire_slab());
  } else {
    slab = std::move(spare_slabs_.back());
    spare_slabs_.pop_back();
  }
  device_->copy(slab.memory.at(), this->slab(from), state_format_->bytes());
  lane_slot(to) = {std::move(copy), lane_slot(from).is_device_newer, std::move(slab)};
  return {};
}

std::int64_t BlockExecutable::step_count(std::int64_t lane) const {
  const program::LaneState& state = lane_slot(lane).state;
  return state ? state.step_count() : -1;
}

std::vector<Tensor> BlockExecutable::extract_state(std::int64_t lane) const {
  download_state(lane);
  return lane_slot(lane).state.extract();
}

// Runs `f` with the state of a lane in the CPU executable of one lane.
template <class F>
void BlockExecutable::with_cpu_executable(std::int64_t lane, bool changes, const F& f) const {
  download_state(lane);
  LaneSlot& at = lane_slot(lane);
  cpu_executable_->lanes().attach(0, std::move(at.state));
  try {
    f();
  } catch (...) {
    at.state = cpu_executable_->lanes().detach(0);
    throw;
  }
  at.state = cpu_executable_->lanes().detach(0);
  if (changes) upload_state(lane);
}

void BlockExecutable::time_calls() {
  const std::vector<block::u64> none(program_.calls.size());
  const auto bytes = static_cast<std::int64_t>(none.size() * sizeof(block::u64));
  call_cycles_ = BlockMemory(*device_, MemoryKind::kDevice, bytes);
  device_->copy(call_cycles_.at(), none.data(), bytes);
}

std::vector<BlockExecutable::TimedCall> BlockExecutable::timed_calls() const {
  std::vector<block::u64> cycles(program_.calls.size());
  device_->copy(cycles.data(), call_cycles_.at(), static_cast<std::int64_t>(cycles.size() * sizeof(block::u64)));
  device_->wait();
  std::vector<TimedCall> timed;
  for (std::size_t i = 0; i < cycles.size(); ++i) timed.push_back({program_.calls[i], cycles[i]});
  return timed;
}

Result<program::LaneGradients> BlockExecutable::make_gradients() const {
  return cpu_executable_->memory().make_gradients();
}

double BlockExecutable::gradients(std::int64_t lane, const program::Batch& batch, std::int64_t total,
                                  const program::LaneHyper& hyper, program::LaneGradients& out, bool add) {
  double sum = 0;
  with_cpu_executable(lane, false,
                      [&] { sum = cpu_executable_->gradient_runner().gradients(0, batch, total, hyper, out, add); });
  return sum;
}

void BlockExecutable::commit(std::int64_t lane, const program::LaneGradients& gradients,
                             const program::LaneHyper& hyper) {
  with_cpu_executable(lane, true, [&] { cpu_executable_->gradient_runner().commit(0, gradients, hyper); });
}

void BlockExecutable::renew_buffers(std::int64_t lane, const program::LaneGradients& from) {
  with_cpu_executable(lane, true, [&] { cpu_executable_->gradient_runner().renew_buffers(0, from); });
}

double BlockExecutable::squared_gradient_norm(std::int64_t lane, const program::LaneGradients& gradients,
                                              const program::LaneHyper& hyper) const {
  double square = 0;
  with_cpu_executable(lane, false,
                      [&] { square = cpu_executable_->gradient_runner().squared_gradient_norm(0, gradients, hyper); });
  return square;
}

void BlockExecutable::predict(std::int64_t lane, const program::Batch& batch, program::PredictionBuffer out) {
  with_cpu_executable(lane, false, [&] { cpu_executable_->evaluator().predict(0, batch, out); });
}

// Batches can be read only once, and every lane reads all of them. So all lanes process each batch in turn.
void BlockExecutable::evaluate(const program::BatchSource& batches, std::span<program::LaneMetrics> lanes) {
  while (const program::Batch* batch = batches()) {
    for (program::LaneMetrics& each : lanes) {
      const program::Batch* left = batch;
      program::LaneMetrics own{0, each.requested, std::move(each.sums)};
      with_cpu_executable(each.lane, false, [&] {
        cpu_executable_->evaluator().evaluate([&] { return std::exchange(left, nullptr); }, {&own, 1});
      });
      each.sums = std::move(own.sums);
    }
  }
}

void BlockExecutable::losses(std::int64_t lane, const program::Batch& batch, double label_smoothing,
                             std::span<double> out) {
  with_cpu_executable(lane, false, [&] { cpu_executable_->evaluator().losses(0, batch, label_smoothing, out); });
}

void BlockExecutable::profile_step(const program::Batch& batch, const program::LaneHyper& hyper,
                                   const std::function<void()>& done) {
  with_cpu_executable(0, true, [&] { cpu_executable_->evaluator().profile_step(batch, hyper, done); });
}

// The CPU runs chunks that need features the device lacks: a hook before every commit, or gradient norms.
void BlockExecutable::run_on_cpu(const program::Chunk& chunk, std::span<program::LaneResult> ends) {
  std::vector<program::LaneResult> own(1);
  for (std::int64_t step = 0; step < chunk.steps; ++step) {
    const program::StepInput step_input = chunk.step_input(step);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (chunk.active[i] == 0 || ends[i].failure) continue;
      program::LaneResult& end = ends[i];
      const std::uint8_t one = 1,
                         needs_gradient_norm = chunk.needs_gradient_norm.empty() ? 0 : chunk.needs_gradient_norm[i];
      const program::StepInput part{
          step_input.batches.size() == 1 ? step_input.batches : step_input.batches.subspan(i, 1),
          step_input.hyper.subspan(i, 1)};
      own[0] = {.loss_sum = end.loss_sum, .failure = {}};
      with_cpu_executable(static_cast<std::int64_t>(i), true, [&] {
        cpu_executable_->steps().run({.steps = 1,
                                      .active = {&one, 1},
                                      .step_input = [&](std::int64_t) { return part; },
                                      .needs_gradient_norm = {&needs_gradient_norm, 1}},
                                     own);
      });
      end.loss_sum = own[0].loss_sum;
      end.failure = own[0].failure;
      if (own[0].steps == 0) continue;
      end.loss = own[0].loss;
      end.squared_gradient_norm = own[0].squared_gradient_norm;
      if (own[0].first_nonfinite_step >= 0 && end.first_nonfinite_step < 0) end.first_nonfinite_step = step;
      ++end.steps;
    }
  }
}

}  // namespace lanista::device
