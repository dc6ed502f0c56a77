#include "lanista/bench/train_step.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/bench/arms.h"
#include "lanista/bench/our_program.h"
#include "lanista/bench/torch_loop.h"
#include "lanista/runtime/machine_speed.h"

namespace lanista::bench {
namespace {

constexpr int kAgreementSteps = 20;
constexpr double kTolerance = 1e-4;  // relative, of losses over these steps
constexpr int kBurst = 8;  // steps of a loop before the next one's turn, so that a model's weights may stay in cache

/// What a benchmark fixes for all of its cases.
struct Race {
  std::string bench, our_arm;
  int repeats = 0;
  bool json = false;
  runtime::MachineSpeed machine;
};

/// The loops of a case in one memory format, one for each lane of a fresh program.
class Loops {
 public:
  Loops(const Case& c, const OurProgram& start, std::int64_t lanes, bool channels_last) : batch_(c, channels_last) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      loops_.emplace_back(torch_forward(c.name), start.weights(lane), start.rate(lane), channels_last);
    }
  }

  double step(std::size_t lane) { return loops_[lane].step(batch_); }
  /// A few steps of the next model.
  void burst() {
    for (int i = 0; i < kBurst; ++i) step(turn_);
    turn_ = (turn_ + 1) % loops_.size();
  }

 private:
  TorchBatch batch_;
  std::vector<TorchLoop> loops_;
  std::size_t turn_ = 0;
};

/// Our programs that run side by side, and LibTorch's loops.
struct Contestants {
  std::vector<OurProgram> single, doubled;
  std::vector<std::pair<std::string, std::unique_ptr<Loops>>> loops;
};

Result<Contestants> contestants(const Case& c, std::int64_t lanes) {
  Contestants out;
  LANISTA_ASSIGN(auto ours, OurProgram::make(c, lanes, 1));
  out.single.push_back(std::move(ours));
  // A program deals out its lanes, so one lane leaves the second thread a program of its own.
  for (int i = 0; i < (lanes == 1 ? 2 : 1); ++i) {
    LANISTA_ASSIGN(auto both, OurProgram::make(c, lanes, lanes == 1 ? 1 : 2));
    out.doubled.push_back(std::move(both));
  }
  out.loops.emplace_back("loop", std::make_unique<Loops>(c, out.single[0], lanes, false));
  if (c.is_image()) out.loops.emplace_back("loop-nhwc", std::make_unique<Loops>(c, out.single[0], lanes, true));
  return out;
}

Error disagreement(const std::string& arm, int step, std::size_t lane, double ours, double theirs, const Case& c) {
  return {Code::kInternal,
          "arm " + arm + " disagrees with ours at step " + std::to_string(step) + " of lane " + std::to_string(lane) +
              ": loss " + std::to_string(theirs) + ", ours " + std::to_string(ours),
          c.name};
}

/// Trains everybody for some steps; of the loops the first lane and the last.
Result<void> check_agreement(const Case& c, Contestants& all) {
  for (int step = 0; step < kAgreementSteps; ++step) {
    const std::span<const double> ours = all.single[0].step();
    for (auto& program : all.doubled) {
      const std::span<const double> others = program.step();
      for (std::size_t lane = 0; lane < ours.size(); ++lane) {
        if (others[lane] != ours[lane]) return disagreement("ours-2", step, lane, ours[lane], others[lane], c);
      }
    }
    for (auto& [arm, loops] : all.loops) {
      for (const std::size_t lane : std::set<std::size_t>{0, ours.size() - 1}) {
        const double theirs = loops->step(lane);
        const bool agrees = std::abs(theirs - ours[lane]) <= kTolerance * std::abs(ours[lane]);
        if (!agrees) return disagreement(arm, step, lane, ours[lane], theirs, c);
      }
    }
  }
  return {};
}

std::vector<std::function<void()>> steps_of(std::vector<OurProgram>& programs) {
  std::vector<std::function<void()>> steps;
  for (OurProgram& program : programs) steps.emplace_back([&program] { program.step(); });
  return steps;
}

void print_limits(const Race& race, const std::string& name, const StepWork& work, std::int64_t lanes,
                  std::ostream& out) {
  const auto& level = race.machine.level_of(static_cast<std::int64_t>(work.resident(lanes)));
  const double by_flops = 1e-3 * work.flops / race.machine.peak_gflops;
  const double by_bytes = 1e-3 * work.traffic() / level.gb_per_second;
  print({race.bench, name, "limit-flops", "us/step", by_flops, 0, 1}, race.json, out);
  print({race.bench, name, "limit-bytes", "us/step", by_bytes, 0, 1}, race.json, out);
}

Result<void> run_case(const Race& race, const Case& c, std::int64_t lanes, std::ostream& out) {
  LANISTA_ASSIGN(Contestants all, contestants(c, lanes));
  LANISTA_TRY(check_agreement(c, all));
  const auto models = static_cast<double>(lanes);
  std::vector<Arm> arms{timed(race.our_arm, models, steps_of(all.single)),
                        timed("ours-2", models, steps_of(all.doubled))};
  for (auto& [arm, loops] : all.loops) arms.push_back(timed(arm, kBurst, {[&each = *loops] { each.burst(); }}));
  const std::string name = c.name + "/" + std::to_string(lanes);
  for (const auto& row : interleave(race.bench, name, "us/step", arms, race.repeats)) print(row, race.json, out);
  print_limits(race, name, all.single[0].work(), lanes, out);
  out << std::flush;
  return {};
}

Result<void> run_cases(const Request& request, const std::string& our_arm, const std::vector<std::int64_t>& lanes,
                       std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  at::set_num_threads(1);
  kernels::set_flush_to_zero();
  const Race race{request.name, our_arm, request.repeats > 0 ? request.repeats : 5, request.json,
                  runtime::machine_speed()};
  if (!race.json) {
    out << "one core: " << std::llround(race.machine.peak_gflops) << " GFLOP/s";
    for (const auto& level : race.machine.memory) {
      out << ", " << level.level << " " << std::llround(level.gb_per_second) << " GB/s";
    }
    out << "\n";
  }
  for (const Case& c : cases) {
    for (const std::int64_t count : lanes) LANISTA_TRY(run_case(race, c, count, out));
  }
  return {};
}

}  // namespace

Result<void> train_step(const Request& request, std::ostream& out) { return run_cases(request, "ours", {1}, out); }

Result<void> fuse(const Request& request, std::ostream& out) {
  return run_cases(request, "auto", request.lanes.empty() ? std::vector<std::int64_t>{1, 4, 16, 64} : request.lanes,
                   out);
}

}  // namespace lanista::bench
