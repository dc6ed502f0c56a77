// How machines of blocks are made, where states lie, and what the CPU does for them. Steps are in block_steps.cpp.
#include "lanista/exec/backends/cuda_blocks/block_machine.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/lost_device.h"
#include "lanista/exec/program/program_ops.h"

namespace lanista::device {
namespace {

Error unimplemented(std::string message) {
  return {.code = Code::kUnimplemented, .message = std::move(message), .where = {}};
}

Result<void> check_options(const nn::ProgramOptions& options) {
  if (options.precision != Precision::kFloat32) {
    return unimplemented(
        "a block of a device computes in float32, not in " + std::string(name_of(options.precision)) +
        "; use train.precision: float32, or run on the CPU (run.devices: [cpu]) or a device of LibTorch "
        "(run.devices: [cuda:0])");
  }
  if (options.shards == 1 && options.accumulate == 1 && options.stages == nullptr) return {};
  return unimplemented("a batch in parts or a model in stages (train.shards=" + std::to_string(options.shards) +
                       ", train.accumulate=" + std::to_string(options.accumulate) +
                       ") is for the CPU; run with run.devices: [cpu]");
}

Error no_memory(std::int64_t lanes, std::int64_t bytes) {
  return {.code = Code::kResourceExhausted,
          .message = "the device has no memory for " + std::to_string(lanes) + (lanes == 1 ? " lane" : " lanes") +
                     " of " + std::to_string(bytes) +
                     " bytes; take fewer (run.lanes), or run on the CPU (run.devices: [cpu])",
          .where = {}};
}

}  // namespace

Result<std::unique_ptr<nn::Machine>> BlockMachine::compile(BlockDevice& device, const step::TrainingStep* train,
                                                           const step::InferenceStep& infer,
                                                           const nn::ProgramOptions& options) {
  LANISTA_TRY(check_options(options));
  // Of one numeric class with the blocks; the caller has seen that this CPU has it.
  const kernels::Isa isa = kernels::best_isa() == kernels::Isa::kAvx512 ? kernels::Isa::kAvx512 : kernels::Isa::kAvx2;
  nn::ProgramOptions like = options;
  like.backend = nullptr;
  if (train == nullptr) return nn::cpu_backend(isa).compile(train, infer, like);
  like.lanes = std::min<std::int64_t>(options.lanes, 1);
  LANISTA_ASSIGN(auto twin, nn::cpu_backend(isa).compile(train, infer, like));
  nn::MachineFacts facts = twin->facts();
  facts.lanes = options.lanes;
  facts.shard_bytes = 0;
  for (nn::PlanLine& line : facts.plan) line.family = "block float32";

  const nn::ProgramOps all(options);
  const graph::OpTable& ops = all.step_ops();
  LANISTA_ASSIGN(BlockProgram program, block_program(*train, *facts.kind, ops, options.max_batch));
  for (const nn::PlanLine& line : facts.plan) program.flops += line.section == "infer" ? 0 : line.flops;
  try {
    std::unique_ptr<BlockMachine> machine(
        new BlockMachine(std::move(facts), device, std::move(program), std::move(twin), *train, options));
    LANISTA_TRY(machine->make_room(1));
    return std::unique_ptr<nn::Machine>(std::move(machine));
  } catch (const std::bad_alloc&) {
    return no_memory(1, program.slab_bytes());
  } catch (const std::runtime_error& error) {
    return Error{.code = Code::kUnavailable, .message = error.what(), .where = {}};
  }
}

BlockMachine::BlockMachine(nn::MachineFacts facts, BlockDevice& device, BlockProgram program,
                           std::unique_ptr<nn::Machine> twin, const step::TrainingStep& train,
                           const nn::ProgramOptions& options)
    : Machine(std::move(facts)),
      options_(options),
      device_(&device),
      program_(std::move(program)),
      twin_(std::move(twin)),
      kind_(this->facts().kind),
      optimizer_(train.options.optimizer),
      seats_(static_cast<std::size_t>(options.lanes)) {
  const graph::ValueType &input = train.types.at(train.input), &target = train.types.at(train.target);
  const graph::Shape& prediction = train.types.at(train.prediction).shape;
  input_ = nn::Reorder::into(input.shape, nn::value_layout(input.shape));
  tokens_ = input.dtype == graph::DType::kIndex;
  sample_values_ = input.shape.elements_per_sample();
  target_values_ = target.shape.elements_per_sample();
  if (target.dtype == graph::DType::kIndex) {
    classes_ = prediction.dims.back();
    positions_ = target_values_;
  } else {
    target_ = nn::Reorder::into(target.shape, nn::value_layout(target.shape));
  }
  // A step's part in the staging: a batch a lane, its numbers, and their fringes.
  const std::int64_t sample = 4 * (sample_values_ + target_values_ + 1) + 8;
  const std::int64_t pieces = 16 * (std::ssize(kind_->layout().trained) + 64);
  lane_bytes_ = options.max_batch * sample + pieces + 8 * std::ssize(this->facts().lane_numbers) + 2048;
  spare_.reserve(seats_.size() + 1);
  const auto call_bytes = static_cast<std::int64_t>(program_.calls.size() * sizeof(block::Call));
  calls_ = BlockMemory(device, Memory::kDevice, call_bytes);
  device.copy(calls_.at(), program_.calls.data(), call_bytes);
}

BlockMachine::~BlockMachine() {
  device_->company().leave(this);
  if (rounds_.empty()) return;
  try {
    device_->wait();  // nobody else may have the staging yet
  } catch (const std::exception&) {
  }
}

std::int64_t BlockMachine::seated() const {
  return std::ranges::count_if(seats_, [](const Seat& each) { return static_cast<bool>(each.state); });
}

Result<BlockMachine::Slab> BlockMachine::take_slab() {
  Slab slab;
  const std::int64_t bytes = program_.slab_bytes();
  if (options_.budget != nullptr) {
    LANISTA_ASSIGN(slab.reservation, options_.budget->reserve(bytes));
  }
  try {
    slab.memory = BlockMemory(*device_, Memory::kDevice, bytes);
  } catch (const std::bad_alloc&) {
    return no_memory(seated() + std::ssize(spare_) + 1, bytes);
  }
  return slab;
}

Result<void> BlockMachine::make_room(std::int64_t lanes) {
  room_ = std::clamp<std::int64_t>(lanes, 1, options_.lanes);
  while (seated() + std::ssize(spare_) < room_) {
    LANISTA_ASSIGN(Slab slab, take_slab());
    spare_.push_back(std::move(slab));
  }
  give_spare_back();
  return {};
}

void BlockMachine::give_spare_back() {
  while (!spare_.empty() && seated() + std::ssize(spare_) > room_) spare_.pop_back();
}

std::int64_t BlockMachine::bytes() const {
  const std::int64_t states = seated();
  return (states + std::ssize(spare_)) * program_.slab_bytes() + staging_.bytes() + staged_.bytes() + twin_->bytes() +
         states * kind_->bytes();
}

std::string BlockMachine::describe() const {
  std::string text = "float32 blocks, " + std::to_string(options_.lanes) + " lanes, up to " +
                     std::to_string(options_.max_batch) + " samples, " + std::to_string(bytes()) + " bytes (a lane " +
                     std::to_string(program_.slab_bytes()) + "), " + std::to_string(program_.calls.size()) + " calls\n";
  for (const nn::PlanLine& line : facts().plan) text += line.text() + "\n";
  return text;
}

Result<nn::LaneState> BlockMachine::make_state(std::uint64_t trial_seed) const {
  return nn::LaneState::make(kind_, trial_seed, options_.budget);
}

void BlockMachine::bring_home(std::int64_t lane) const {
  device_->company().leave(this);
  Seat& at = seat(lane);
  if (!at.ahead) return;
  device_->copy(at.state.parameters<float>(), slab(lane), kind_->bytes());
  device_->wait_for_copies();
  at.ahead = false;
}

void BlockMachine::send_out(std::int64_t lane) const {
  device_->copy(slab(lane), seat(lane).state.parameters<float>(), kind_->bytes());
}

void BlockMachine::attach(std::int64_t lane, nn::LaneState&& state) {
  if (spare_.empty()) {
    auto slab = take_slab();
    if (!slab) throw std::bad_alloc();
    spare_.push_back(*std::move(slab));
  }
  Seat& at = seat(lane);
  at = {std::move(state), false, std::move(spare_.back())};
  spare_.pop_back();
  try {
    at.state.make_own();  // what is written here later may not be anybody else's
    send_out(lane);
  } catch (...) {
    state = std::move(at.state);
    spare_.push_back(std::move(at.slab));
    at = {};
    throw;
  }
}

nn::LaneState BlockMachine::detach(std::int64_t lane) {
  device_->company().leave(this);
  Seat& at = seat(lane);
  if (!at.state) return {};
  try {
    bring_home(lane);
  } catch (const std::runtime_error&) {
    lose_device("block");  // the host's memory of it is older than its steps
  }
  Seat left = std::exchange(at, {});
  spare_.push_back(std::move(left.slab));
  give_spare_back();
  return std::move(left.state);
}

Result<void> BlockMachine::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  LANISTA_ASSIGN(nn::LaneState copy, seat(from).state.clone(trial_seed));
  try {
    copy.make_own();
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for a state of " + std::to_string(kind_->bytes()) + " bytes",
                 .where = {}};
  }
  Slab slab;
  if (spare_.empty()) {
    LANISTA_ASSIGN(slab, take_slab());
  } else {
    slab = std::move(spare_.back());
    spare_.pop_back();
  }
  device_->copy(slab.memory.at(), this->slab(from), kind_->bytes());
  seat(to) = {std::move(copy), seat(from).ahead, std::move(slab)};
  return {};
}

std::int64_t BlockMachine::step_count(std::int64_t lane) const {
  const nn::LaneState& state = seat(lane).state;
  return state ? state.step_count() : -1;
}

std::vector<Tensor> BlockMachine::copy_out(std::int64_t lane) const {
  bring_home(lane);
  return seat(lane).state.extract();
}

// Lends the state of a lane to the CPU's program of one lane.
template <class F>
void BlockMachine::with_twin(std::int64_t lane, bool changes, const F& f) const {
  bring_home(lane);
  Seat& at = seat(lane);
  twin_->attach(0, std::move(at.state));
  try {
    f();
  } catch (...) {
    at.state = twin_->detach(0);
    throw;
  }
  at.state = twin_->detach(0);
  if (changes) send_out(lane);
}

void BlockMachine::time_calls() {
  const std::vector<block::u64> none(program_.calls.size());
  const auto bytes = static_cast<std::int64_t>(none.size() * sizeof(block::u64));
  clocks_ = BlockMemory(*device_, Memory::kDevice, bytes);
  device_->copy(clocks_.at(), none.data(), bytes);
}

std::vector<BlockMachine::TimedCall> BlockMachine::timed_calls() const {
  std::vector<block::u64> cycles(program_.calls.size());
  device_->copy(cycles.data(), clocks_.at(), static_cast<std::int64_t>(cycles.size() * sizeof(block::u64)));
  device_->wait();
  std::vector<TimedCall> timed;
  for (std::size_t i = 0; i < cycles.size(); ++i) timed.push_back({program_.calls[i], cycles[i]});
  return timed;
}

Result<nn::LaneGradients> BlockMachine::make_gradients() const { return twin_->make_gradients(); }

double BlockMachine::gradients(std::int64_t lane, const nn::Batch& batch, std::int64_t total,
                               const nn::LaneHyper& hyper, nn::LaneGradients& out, bool add) {
  double sum = 0;
  with_twin(lane, false, [&] { sum = twin_->gradients(0, batch, total, hyper, out, add); });
  return sum;
}

void BlockMachine::commit(std::int64_t lane, const nn::LaneGradients& gradients, const nn::LaneHyper& hyper) {
  with_twin(lane, true, [&] { twin_->commit(0, gradients, hyper); });
}

void BlockMachine::renew_buffers(std::int64_t lane, const nn::LaneGradients& from) {
  with_twin(lane, true, [&] { twin_->renew_buffers(0, from); });
}

double BlockMachine::gradient_square(std::int64_t lane, const nn::LaneGradients& gradients,
                                     const nn::LaneHyper& hyper) const {
  double square = 0;
  with_twin(lane, false, [&] { square = twin_->gradient_square(0, gradients, hyper); });
  return square;
}

void BlockMachine::predict(std::int64_t lane, const nn::Batch& batch, nn::PredictionsOut out) {
  with_twin(lane, false, [&] { twin_->predict(0, batch, out); });
}

// Batches come once, and every lane wants them all: so lanes take turns at each.
void BlockMachine::evaluate(const nn::BatchSource& batches, std::span<nn::LaneMetrics> lanes) {
  while (const nn::Batch* batch = batches()) {
    for (nn::LaneMetrics& each : lanes) {
      const nn::Batch* left = batch;
      nn::LaneMetrics own{0, each.asked, std::move(each.sums)};
      with_twin(each.lane, false, [&] { twin_->evaluate([&] { return std::exchange(left, nullptr); }, {&own, 1}); });
      each.sums = std::move(own.sums);
    }
  }
}

void BlockMachine::losses(std::int64_t lane, const nn::Batch& batch, double label_smoothing, std::span<double> out) {
  with_twin(lane, false, [&] { twin_->losses(0, batch, label_smoothing, out); });
}

void BlockMachine::rehearse(const nn::Batch& batch, const nn::LaneHyper& hyper, const std::function<void()>& done) {
  with_twin(0, true, [&] { twin_->rehearse(batch, hyper, done); });
}

// What the device does not do in a chunk: a stop before every commit, squares of gradients.
void BlockMachine::run_on_twin(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) {
  std::vector<nn::LaneEnd> own(1);
  for (std::int64_t step = 0; step < chunk.steps; ++step) {
    const nn::StepWork work = chunk.work(step);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (chunk.active[i] == 0 || ends[i].failure) continue;
      nn::LaneEnd& end = ends[i];
      const std::uint8_t one = 1, watched = chunk.watched.empty() ? 0 : chunk.watched[i];
      const nn::StepWork part{work.batches.size() == 1 ? work.batches : work.batches.subspan(i, 1),
                              work.hyper.subspan(i, 1)};
      own[0] = {.loss_sum = end.loss_sum, .failure = {}};
      with_twin(static_cast<std::int64_t>(i), true, [&] {
        twin_->run(
            {.steps = 1, .active = {&one, 1}, .work = [&](std::int64_t) { return part; }, .watched = {&watched, 1}},
            own);
      });
      end.loss_sum = own[0].loss_sum;
      end.failure = own[0].failure;
      if (own[0].steps == 0) continue;
      end.loss = own[0].loss;
      end.gradient_square = own[0].gradient_square;
      if (own[0].bad_step >= 0 && end.bad_step < 0) end.bad_step = step;
      ++end.steps;
    }
  }
}

}  // namespace lanista::device
