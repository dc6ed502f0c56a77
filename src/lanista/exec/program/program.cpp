#include "lanista/exec/program/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/program/backend.h"

namespace lanista::program {

Program::Program(std::unique_ptr<Executable> executable)
    : executable_(std::move(executable)), results_(static_cast<std::size_t>(executable_->properties().lanes)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile(const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
                                 const ProgramOptions& options) {
  const Backend& backend = options.backend != nullptr ? *options.backend : cpu_backend();
  LANISTA_ASSIGN(auto executable, backend.compile(train, infer, options));
  return Program(std::move(executable));
}

Result<Program> Program::compile(const autodiff::TrainingStep& train, const autodiff::InferenceStep& infer,
                                 const ProgramOptions& options) {
  return compile(&train, infer, options);
}

Result<Program> Program::compile(const autodiff::InferenceStep& infer, const ProgramOptions& options) {
  return compile(nullptr, infer, options);
}

// Returns the executable after a check of the lane's index.
Executable& Program::at(std::int64_t lane) const {
  LANISTA_CHECK(lane >= 0 && lane < lanes(), "lane " + std::to_string(lane) + " of " + std::to_string(lanes()));
  return *executable_;
}

// Returns the executable after a check that the lane has a state.
Executable& Program::with_state(std::int64_t lane) const {
  LANISTA_CHECK(at(lane).steps().step_count(lane) >= 0, "lane " + std::to_string(lane) + " is empty");
  return *executable_;
}

Executable& Program::with_training() const {
  LANISTA_CHECK(executable_->properties().trains, "the program was compiled for predictions only");
  return *executable_;
}

std::int64_t Program::lanes() const { return executable_->properties().lanes; }
std::int64_t Program::bytes() const { return executable_->memory().bytes(); }
std::int64_t Program::shards() const { return executable_->properties().shards; }
std::int64_t Program::shard_bytes() const { return executable_->properties().shard_bytes; }
std::string Program::describe() const { return executable_->describe(); }
const std::vector<LaneAttr>& Program::lane_attrs() const { return executable_->properties().lane_attrs; }
std::vector<PlanLine> Program::plan() const { return executable_->properties().plan; }
const StateFormat& Program::state_format() const { return *executable_->properties().state_format; }
std::int64_t Program::prediction_size() const { return executable_->properties().prediction_size; }

Result<void> Program::reserve_lanes(std::int64_t lanes) {
  return executable_->memory().reserve_lanes(std::min(lanes, this->lanes()));
}

Result<LaneState> Program::make_state(std::uint64_t trial_seed) const {
  return executable_->memory().make_state(trial_seed);
}

void Program::attach(std::int64_t lane, LaneState&& state) {
  LANISTA_CHECK(at(lane).steps().step_count(lane) < 0, "lane " + std::to_string(lane) + " is taken");
  LANISTA_CHECK(state && state.state_format().digest() == state_format().digest(),
                "the state has the format of another program");
  executable_->lanes().attach(lane, std::move(state));
}

LaneState Program::detach(std::int64_t lane) { return at(lane).lanes().detach(lane); }

Result<void> Program::begin(std::int64_t lane, std::uint64_t trial_seed) {
  LANISTA_ASSIGN(LaneState state, make_state(trial_seed));
  attach(lane, std::move(state));
  return {};
}

Result<void> Program::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  LANISTA_CHECK(at(to).steps().step_count(to) < 0, "lane " + std::to_string(to) + " is taken");
  return with_state(from).lanes().clone(from, to, trial_seed);
}

void Program::initialise(std::int64_t lane, std::uint64_t trial_seed) {
  LaneState state = with_state(lane).lanes().detach(lane);
  state.initialise(trial_seed);
  executable_->lanes().attach(lane, std::move(state));
}

std::vector<Tensor> Program::extract(std::int64_t lane) const { return with_state(lane).lanes().extract_state(lane); }

Result<void> Program::insert(std::int64_t lane, std::span<const Tensor> tensors) {
  LaneState state = with_state(lane).lanes().detach(lane);
  auto inserted = state.insert(tensors);
  executable_->lanes().attach(lane, std::move(state));
  return inserted;
}

std::int64_t Program::step_count(std::int64_t lane) const { return with_state(lane).steps().step_count(lane); }

void Program::run(const Chunk& chunk, std::span<LaneResult> results) {
  const auto count = static_cast<std::size_t>(lanes());
  LANISTA_CHECK(chunk.active.size() == count && results.size() == count,
                "a chunk needs a mask and a result for every lane");
  LANISTA_CHECK(chunk.needs_gradient_norm.empty() || chunk.needs_gradient_norm.size() == count,
                "a chunk requests gradient norms with one entry a lane or none");
  if (chunk.communicator != nullptr) {
    const std::int64_t width = chunk.communicator->width();
    LANISTA_CHECK(std::ranges::count_if(chunk.active, [](std::uint8_t each) { return each != 0; }) == 1,
                  "steps of several lanes cannot be shared");
    LANISTA_CHECK(width >= 2 && width <= shards(),
                  std::to_string(width) + " ranks for " + std::to_string(shards()) + " shards");
  }
  with_training().steps().run(chunk, results);
  executable_->steps().wait();
}

void Program::train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                         std::span<const std::uint8_t> active, std::span<double> loss) {
  LANISTA_CHECK(loss.size() == results_.size(), "a step needs a loss for every lane");
  const StepInput step_input{batches, hyper};
  std::ranges::fill(results_, LaneResult{});
  run({.steps = 1, .active = active, .step_input = [&step_input](std::int64_t) { return step_input; }}, results_);
  std::exception_ptr first;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].steps > 0) loss[i] = results_[i].loss;
    if (!first) first = results_[i].failure;
    results_[i].failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

std::optional<StepTimes> Program::take_step_times() { return executable_->steps().take_step_times(); }

Result<LaneGradients> Program::make_gradients() const { return with_training().memory().make_gradients(); }

double Program::gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                          LaneGradients& out, bool add) {
  LANISTA_CHECK(out && out.state_format().digest() == state_format().digest(),
                "the gradients have the format of another program");
  with_state(lane);
  return with_training().gradient_runner().gradients(lane, batch, total, hyper, out, add);
}

void Program::commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) {
  LANISTA_CHECK(gradients && gradients.state_format().digest() == state_format().digest(),
                "the gradients have the format of another program");
  with_state(lane);
  with_training().gradient_runner().commit(lane, gradients, hyper);
}

void Program::renew_buffers(std::int64_t lane, const LaneGradients& from) {
  LANISTA_CHECK(from && from.state_format().digest() == state_format().digest(),
                "the gradients have the format of another program");
  with_state(lane);
  with_training().gradient_runner().renew_buffers(lane, from);
}

double Program::squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const {
  LANISTA_CHECK(gradients && gradients.state_format().digest() == state_format().digest(),
                "the gradients have the format of another program");
  with_state(lane);
  return with_training().gradient_runner().squared_gradient_norm(lane, gradients, hyper);
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<float> out) {
  with_state(lane).evaluator().predict(lane, batch, out);
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<double> out) {
  with_state(lane).evaluator().predict(lane, batch, out);
}

void Program::evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) {
  for (const LaneMetrics& each : lanes) with_state(each.lane);
  executable_->evaluator().evaluate(batches, lanes);
}

void Program::losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) {
  with_state(lane);
  LANISTA_CHECK(
      static_cast<std::int64_t>(out.size()) == batch.size,
      "an output of " + std::to_string(out.size()) + " losses for " + std::to_string(batch.size) + " samples");
  with_training().evaluator().losses(lane, batch, label_smoothing, out);
}

void Program::profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  with_state(0);
  with_training().evaluator().profile_step(batch, hyper, done);
}

}  // namespace lanista::program
