#include "lanista/engine/local/plan_timing.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "lanista/base/rng.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kMinRounds = 3, kMaxRounds = 1000;

double steady_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Difference of two consecutive clock readings.
double clock_overhead_of(const std::function<double()>& now) {
  double least = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double from = now();
    least = std::min(least, now() - from);
  }
  return least;
}

std::vector<float> uniform(const graph::ValueType& type, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(type.shape.elements(size)));
  Rng rng(1);
  for (float& value : values) value = type.dtype == graph::DType::kReal ? static_cast<float>(rng.uniform(-1, 1)) : 0.0F;
  return values;
}

}  // namespace

PlanTimes time_plan(program::Program& program, const program::Batch& batch, double seconds,
                    const std::function<double()>& stopwatch) {
  const std::function<double()> now = stopwatch ? stopwatch : steady_us;
  const auto lanes = static_cast<std::size_t>(program.lanes());
  const std::size_t lines = program.plan().size();
  const std::vector<program::LaneHyper> hyper(lanes, program::LaneHyper{.lr = 0, .momentum = 0.9});
  std::vector<std::uint8_t> active(lanes, 0);
  active[0] = 1;
  std::vector<double> loss(lanes);
  std::vector<std::vector<double>> line_us(lines);
  std::vector<double> step_us;
  const double price = clock_overhead_of(now);

  PlanTimes times;
  const double begin = now();
  // The first round only warms the caches.
  for (std::int64_t round = 0; round < kMaxRounds + 1; ++round) {
    std::size_t line = 0;
    double last = now();
    program.profile_step(batch, hyper[0], [&] {
      const double here = now();
      if (round > 0) line_us[line].push_back(std::max(0.0, here - last - price));
      ++line;
      last = now();
    });
    const double from = now();
    program.train_step({&batch, 1}, hyper, active, loss);
    if (round > 0) step_us.push_back(now() - from);
    times.samples = round;
    if (round >= kMinRounds && now() - begin > 1e6 * seconds) break;
  }
  for (auto& samples : line_us) times.line_us.push_back(median(std::move(samples)));
  times.step_us = median(std::move(step_us));
  return times;
}

Result<TimedProgram> timed_program(const graph::Graph& model, const graph::OpTable& ops,
                                   const autodiff::StepOptions& step, const program::ProgramOptions& options,
                                   std::int64_t batch, double seconds) {
  const graph::OpTable all = autodiff::training_ops(ops);
  LANISTA_ASSIGN(autodiff::TrainingStep train, autodiff::derive_training_step(model, step, all));
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(model, all));
  LANISTA_ASSIGN(auto program, program::Program::compile(train, infer, options));
  LANISTA_TRY(program.begin(0, 1));
  kernels::set_flush_to_zero();  // as in workers
  const SyntheticBatch made_up(train, batch);
  PlanTimes times = time_plan(program, made_up.view(), seconds);
  return TimedProgram{std::move(train), program.plan(), program.bytes(), std::move(times)};
}

SyntheticBatch::SyntheticBatch(const autodiff::TrainingStep& step, std::int64_t size)
    : size_(size), features_(uniform(step.types.at(step.input), size)), sample_index_(static_cast<std::size_t>(size)) {
  const graph::ValueType& target = step.types.at(step.target);
  if (target.dtype == graph::DType::kReal) {
    targets_ = uniform(target, size);
  } else {
    labels_.assign(static_cast<std::size_t>(target.shape.elements(size)), 0);
  }
  std::iota(sample_index_.begin(), sample_index_.end(), 0);
}

}  // namespace lanista::runtime
