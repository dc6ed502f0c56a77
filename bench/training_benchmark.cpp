#include "bench/training_benchmark.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <set>

#include "bench/speedup.h"
#include "lanista/base/check.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr int kAgreementSteps = 20;
constexpr double kTolerance = 1e-4;  // relative tolerance of losses over these steps

Error disagreement(const Case& c, const std::string& arm, std::size_t step, std::size_t model, double ours,
                   double theirs) {
  char losses[80];
  std::snprintf(losses, sizeof losses, "loss %.17g, ours %.17g", theirs, ours);
  return {Code::kInternal,
          "arm " + arm + " disagrees with ours at step " + std::to_string(step) + " of model " + std::to_string(model) +
              ": " + losses,
          c.name};
}

}  // namespace

TrainingBenchmark TrainingBenchmark::begin(const BenchRequest& request, std::ostream& out) {
  at::set_num_threads(1);
  kernels::set_flush_to_zero();
  const TrainingBenchmark benchmark{request.name, request.repeats > 0 ? request.repeats : 5, request.json, &out,
                                    program::measure_cpu_speed()};
  if (!benchmark.json) {
    out << "one core: " << std::llround(benchmark.machine.peak_gflops) << " GFLOP/s";
    for (const auto& level : benchmark.machine.memory) {
      out << ", " << level.level << " " << std::llround(level.gb_per_second) << " GB/s";
    }
    out << "\n";
  }
  benchmark.print(machine_speedup_row(benchmark.bench, benchmark.repeats));
  return benchmark;
}

void TrainingBenchmark::print(const BenchRow& row) const {
  bench::print(row, json, *out);
  *out << std::flush;
}

void TrainingBenchmark::print(const std::vector<BenchRow>& rows) const {
  for (const BenchRow& row : rows) print(row);
}

void TrainingBenchmark::print(const std::string& case_name, const std::string& arm, const std::string& unit,
                              double value) const {
  print({bench, case_name, arm, unit, value, 0, 1});
}

void TrainingBenchmark::print_rounds(const std::string& case_name, const std::vector<Arm>& arms,
                                     const std::vector<std::vector<double>>& values) const {
  for (std::size_t i = 0; i < arms.size(); ++i) {
    print(summary(bench, case_name, arms[i].name, "us/step", values[i]));
  }
}

void TrainingBenchmark::print_comparison(const std::string& case_name, const std::string& what, const std::string& arm,
                                         const std::vector<Arm>& arms, const std::vector<std::vector<double>>& values,
                                         const std::function<bool(const std::string&)>& is_other) const {
  print(compare_to_best(bench, case_name, what, arm, arms, values, is_other));
}

void TrainingBenchmark::print_limits(const std::string& case_name, const StepInput& work, std::int64_t models) const {
  const auto& level = machine.level_of(static_cast<std::int64_t>(work.resident(models)));
  print(case_name, "limit-flops", "us/step", 1e-3 * work.flops / machine.peak_gflops);
  print(case_name, "limit-bytes", "us/step", 1e-3 * work.traffic() / level.gb_per_second);
}

TorchLoops::TorchLoops(const Case& c, ModelTimeSlices& models, bool channels_last) : batch_(c, channels_last) {
  for (std::int64_t i = 0; i < models.size(); ++i) {
    const LanistaProgram& start = models.model(i);
    loops_.emplace_back(torch_forward(c.name), start.weights(0), start.rate(0), channels_last);
  }
}

void TorchLoops::run_slice() {
  for (int i = 0; i < kSliceSteps; ++i) step(turn_);
  turn_ = (turn_ + 1) % loops_.size();
}

Result<TorchLoopArms> TorchLoopArms::make(const Case& c, ModelTimeSlices& models) {
  TorchLoopArms out;
  out.loops_.emplace_back("loop", std::make_shared<TorchLoops>(c, models, false));
  if (c.is_image()) out.loops_.emplace_back("loop-nhwc", std::make_shared<TorchLoops>(c, models, true));
  for (const std::int64_t i : std::set<std::int64_t>{0, models.size() - 1}) {
    LanistaProgram& program = models.model(i);
    for (std::size_t step = 0; step < kAgreementSteps; ++step) {
      const double ours = program.step()[0];
      for (const auto& [arm, loops] : out.loops_) {
        const auto model = static_cast<std::size_t>(i);
        const double theirs = loops->step(model);
        const bool agrees = std::abs(theirs - ours) <= kTolerance * std::abs(ours);
        if (!agrees) return disagreement(c, arm, step, model, ours, theirs);
      }
    }
    program.restart();
  }
  return out;
}

void TorchLoopArms::add_to(std::vector<Arm>& arms) const {
  for (const auto& [arm, loops] : loops_)
    arms.push_back(timed(arm, {{[each = loops] { each->run_slice(); }, kSliceSteps}}));
}

Result<void> check_same_losses(const Case& c, const std::string& arm, const std::vector<double>& ours,
                               const std::vector<double>& theirs, std::size_t models) {
  LANISTA_CHECK(ours.size() == theirs.size(), "arm " + arm + " has as many losses as ours");
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] != theirs[i]) return disagreement(c, arm, i / models, i % models, ours[i], theirs[i]);
  }
  return {};
}

}  // namespace lanista::bench
