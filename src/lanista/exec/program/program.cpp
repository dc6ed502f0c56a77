#include "lanista/exec/program/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/program/backend.h"

namespace lanista::nn {

Program::Program(std::unique_ptr<Machine> machine)
    : machine_(std::move(machine)), ends_(static_cast<std::size_t>(machine_->facts().lanes)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                 const ProgramOptions& options) {
  const Backend& backend = options.backend != nullptr ? *options.backend : cpu_backend();
  LANISTA_ASSIGN(auto machine, backend.compile(train, infer, options));
  return Program(std::move(machine));
}

Result<Program> Program::compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                 const ProgramOptions& options) {
  return compile(&train, infer, options);
}

Result<Program> Program::compile(const step::InferenceStep& infer, const ProgramOptions& options) {
  return compile(nullptr, infer, options);
}

// The machine, after a check of the lane's number.
Machine& Program::at(std::int64_t lane) const {
  LANISTA_CHECK(lane >= 0 && lane < lanes(), "lane " + std::to_string(lane) + " of " + std::to_string(lanes()));
  return *machine_;
}

// The same, after a check that the lane has a state.
Machine& Program::seated(std::int64_t lane) const {
  LANISTA_CHECK(at(lane).step_count(lane) >= 0, "lane " + std::to_string(lane) + " is empty");
  return *machine_;
}

Machine& Program::trainer() const {
  LANISTA_CHECK(machine_->facts().trains, "the program was compiled to predict alone");
  return *machine_;
}

std::int64_t Program::lanes() const { return machine_->facts().lanes; }
std::int64_t Program::bytes() const { return machine_->bytes(); }
std::int64_t Program::shards() const { return machine_->facts().shards; }
std::int64_t Program::shard_bytes() const { return machine_->facts().shard_bytes; }
std::string Program::describe() const { return machine_->describe(); }
const std::vector<LaneNumber>& Program::lane_numbers() const { return machine_->facts().lane_numbers; }
std::vector<PlanLine> Program::plan() const { return machine_->facts().plan; }
const StateKind& Program::state_kind() const { return *machine_->facts().kind; }
std::int64_t Program::prediction_size() const { return machine_->facts().prediction_size; }

Result<void> Program::make_room(std::int64_t lanes) { return machine_->make_room(std::min(lanes, this->lanes())); }

Result<LaneState> Program::make_state(std::uint64_t trial_seed) const { return machine_->make_state(trial_seed); }

void Program::attach(std::int64_t lane, LaneState&& state) {
  LANISTA_CHECK(at(lane).step_count(lane) < 0, "lane " + std::to_string(lane) + " is taken");
  LANISTA_CHECK(state && state.kind().digest() == state_kind().digest(), "the state of another program's kind");
  machine_->attach(lane, std::move(state));
}

LaneState Program::detach(std::int64_t lane) { return at(lane).detach(lane); }

Result<void> Program::begin(std::int64_t lane, std::uint64_t trial_seed) {
  LANISTA_ASSIGN(LaneState state, make_state(trial_seed));
  attach(lane, std::move(state));
  return {};
}

Result<void> Program::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  LANISTA_CHECK(at(to).step_count(to) < 0, "lane " + std::to_string(to) + " is taken");
  return seated(from).clone(from, to, trial_seed);
}

void Program::initialise(std::int64_t lane, std::uint64_t trial_seed) {
  LaneState state = seated(lane).detach(lane);
  state.initialise(trial_seed);
  machine_->attach(lane, std::move(state));
}

std::vector<Tensor> Program::extract(std::int64_t lane) const { return seated(lane).copy_out(lane); }

Result<void> Program::insert(std::int64_t lane, std::span<const Tensor> tensors) {
  LaneState state = seated(lane).detach(lane);
  auto inserted = state.insert(tensors);
  machine_->attach(lane, std::move(state));
  return inserted;
}

std::int64_t Program::step_count(std::int64_t lane) const { return seated(lane).step_count(lane); }

void Program::run(const Chunk& chunk, std::span<LaneEnd> ends) {
  const auto count = static_cast<std::size_t>(lanes());
  LANISTA_CHECK(chunk.active.size() == count && ends.size() == count, "a chunk wants masks and ends for every lane");
  LANISTA_CHECK(chunk.watched.empty() || chunk.watched.size() == count, "a chunk watches every lane or none");
  if (chunk.peers != nullptr) {
    const std::int64_t width = chunk.peers->width();
    LANISTA_CHECK(std::ranges::count_if(chunk.active, [](std::uint8_t each) { return each != 0; }) == 1,
                  "steps of several lanes cannot be shared");
    LANISTA_CHECK(width >= 2 && width <= shards(),
                  std::to_string(width) + " ranks for " + std::to_string(shards()) + " shards");
  }
  trainer().run(chunk, ends);
  machine_->wait();
}

void Program::train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                         std::span<const std::uint8_t> active, std::span<double> loss) {
  LANISTA_CHECK(loss.size() == ends_.size(), "a step wants losses for every lane");
  const StepWork work{batches, hyper};
  std::ranges::fill(ends_, LaneEnd{});
  run({.steps = 1, .active = active, .work = [&work](std::int64_t) { return work; }}, ends_);
  std::exception_ptr first;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (ends_[i].steps > 0) loss[i] = ends_[i].loss;
    if (!first) first = ends_[i].failure;
    ends_[i].failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

std::optional<StepTimes> Program::take_step_times() { return machine_->take_step_times(); }

Result<LaneGradients> Program::make_gradients() const { return trainer().make_gradients(); }

double Program::gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                          LaneGradients& out, bool add) {
  LANISTA_CHECK(out && out.kind().digest() == state_kind().digest(), "gradients of another program's kind");
  seated(lane);
  return trainer().gradients(lane, batch, total, hyper, out, add);
}

void Program::commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) {
  LANISTA_CHECK(gradients && gradients.kind().digest() == state_kind().digest(), "gradients of another program's kind");
  seated(lane);
  trainer().commit(lane, gradients, hyper);
}

void Program::renew_buffers(std::int64_t lane, const LaneGradients& from) {
  LANISTA_CHECK(from && from.kind().digest() == state_kind().digest(), "gradients of another program's kind");
  seated(lane);
  trainer().renew_buffers(lane, from);
}

double Program::gradient_square(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const {
  LANISTA_CHECK(gradients && gradients.kind().digest() == state_kind().digest(), "gradients of another program's kind");
  seated(lane);
  return trainer().gradient_square(lane, gradients, hyper);
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<float> out) {
  seated(lane).predict(lane, batch, out);
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<double> out) {
  seated(lane).predict(lane, batch, out);
}

void Program::evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) {
  for (const LaneMetrics& each : lanes) seated(each.lane);
  machine_->evaluate(batches, lanes);
}

void Program::losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) {
  seated(lane);
  LANISTA_CHECK(static_cast<std::int64_t>(out.size()) == batch.size,
                "room for " + std::to_string(out.size()) + " losses of " + std::to_string(batch.size) + " samples");
  trainer().losses(lane, batch, label_smoothing, out);
}

void Program::rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  seated(0);
  trainer().rehearse(batch, hyper, done);
}

}  // namespace lanista::nn
