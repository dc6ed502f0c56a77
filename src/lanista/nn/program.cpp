#include "lanista/nn/program.h"

#include <utility>
#include <variant>

#include "lanista/base/check.h"
#include "lanista/nn/lane_program.h"

namespace lanista::nn {

struct Program::Impl {
  std::variant<LaneProgram<float>, LaneProgram<double>> program;

  template <class F>
  decltype(auto) visit(F f) {
    return std::visit(f, program);
  }
  /// The program, after a check of the lane's number.
  template <class F>
  decltype(auto) with_lane(std::int64_t lane, F f) {
    return std::visit(
        [&](auto& p) -> decltype(auto) {
          LANISTA_CHECK(lane >= 0 && lane < p.lanes(),
                        "lane " + std::to_string(lane) + " of " + std::to_string(p.lanes()));
          return f(p);
        },
        program);
  }
  /// A lane's state, after a check that it has one.
  template <class F>
  decltype(auto) with_state(std::int64_t lane, F f) {
    return with_lane(lane, [&](auto& p) -> decltype(auto) {
      LANISTA_CHECK(static_cast<bool>(p.state(lane)), "lane " + std::to_string(lane) + " is empty");
      return f(p.state(lane));
    });
  }
};

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                 const ProgramOptions& options) {
  if (options.precision == Precision::kFloat32) {
    LANISTA_ASSIGN(LaneProgram<float> program, LaneProgram<float>::compile(train, infer, options));
    return Program(std::make_unique<Impl>(Impl{std::move(program)}));
  }
  LANISTA_ASSIGN(LaneProgram<double> program, LaneProgram<double>::compile(train, infer, options));
  return Program(std::make_unique<Impl>(Impl{std::move(program)}));
}

std::int64_t Program::lanes() const {
  return impl_->visit([](auto& p) { return p.lanes(); });
}

std::int64_t Program::bytes() const {
  return impl_->visit([](auto& p) { return p.bytes(); });
}

std::string Program::describe() const {
  return impl_->visit([](auto& p) { return p.describe(); });
}

const std::vector<LaneNumber>& Program::lane_numbers() const {
  return impl_->visit([](auto& p) -> const std::vector<LaneNumber>& { return p.lane_numbers(); });
}

std::vector<PlanLine> Program::plan() const {
  return impl_->visit([](auto& p) { return p.plan(); });
}

void Program::rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  impl_->visit([&](auto& p) { p.rehearse(batch, hyper, done); });
}

Result<LaneState> Program::make_state(std::uint64_t trial_seed) const {
  return impl_->visit([&](auto& p) { return p.make_state(trial_seed); });
}

void Program::attach(std::int64_t lane, LaneState state) {
  impl_->with_lane(lane, [&](auto& p) {
    LANISTA_CHECK(!p.state(lane), "lane " + std::to_string(lane) + " is taken");
    LANISTA_CHECK(state && state.kind().digest() == p.kind().digest(), "the state of another program's kind");
    p.state(lane) = std::move(state);
  });
}

LaneState Program::detach(std::int64_t lane) {
  return impl_->with_lane(lane, [&](auto& p) { return std::exchange(p.state(lane), {}); });
}

const StateKind& Program::state_kind() const {
  return impl_->visit([](auto& p) -> const StateKind& { return p.kind(); });
}

void Program::initialise(std::int64_t lane, std::uint64_t trial_seed) {
  impl_->with_state(lane, [&](LaneState& state) { state.initialise(trial_seed); });
}

std::vector<Tensor> Program::extract(std::int64_t lane) const {
  return impl_->with_state(lane, [](LaneState& state) { return state.extract(); });
}

Result<void> Program::insert(std::int64_t lane, std::span<const Tensor> state) {
  return impl_->with_state(lane, [&](LaneState& own) { return own.insert(state); });
}

std::int64_t Program::step_count(std::int64_t lane) const {
  return impl_->with_state(lane, [](LaneState& state) { return state.step_count(); });
}

void Program::train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                         std::span<const std::uint8_t> active, std::span<double> loss) {
  impl_->visit([&](auto& p) { p.train_step(batches, hyper, active, loss); });
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<float> out) {
  impl_->with_lane(lane, [&](auto& p) { p.predict(lane, batch, out); });
}

void Program::predict(std::int64_t lane, const Batch& batch, std::span<double> out) {
  impl_->with_lane(lane, [&](auto& p) { p.predict(lane, batch, out); });
}

std::int64_t Program::prediction_size() const {
  return impl_->visit([](auto& p) { return p.prediction_size(); });
}

}  // namespace lanista::nn
