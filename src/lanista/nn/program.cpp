#include "lanista/nn/program.h"

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
  /// The states of all lanes, after a check of the lane's number.
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

std::vector<PlanLine> Program::plan() const {
  return impl_->visit([](auto& p) { return p.plan(); });
}

void Program::rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  impl_->visit([&](auto& p) { p.rehearse(batch, hyper, done); });
}

void Program::initialise(std::int64_t lane, std::uint64_t trial_seed) {
  impl_->with_lane(lane, [&](auto& p) { p.states().initialise(lane, trial_seed); });
}

std::vector<Tensor> Program::extract(std::int64_t lane) const {
  return impl_->with_lane(lane, [&](auto& p) { return p.states().extract(lane); });
}

Result<void> Program::insert(std::int64_t lane, std::span<const Tensor> state) {
  return impl_->with_lane(lane, [&](auto& p) { return p.states().insert(lane, state); });
}

std::int64_t Program::step_count(std::int64_t lane) const {
  return impl_->with_lane(lane, [&](auto& p) { return p.states().step(lane); });
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
