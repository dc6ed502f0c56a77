#include "lanista/engine/local/pass_timing.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "lanista/base/thread_time.h"

namespace lanista::runtime {
namespace {

using Kind = nn::StagePass::Kind;

/// Seconds of a core of every pass, the clock's own price taken off.
class Stopwatch final : public nn::StageObserver {
 public:
  void begins(std::size_t, const nn::StagePass&) override { begin_ = thread_seconds(); }
  void ends(std::size_t, const nn::StagePass& pass) override {
    times_[{pass.stage, pass.kind}].push_back(std::max(0.0, thread_seconds() - begin_ - price_));
  }
  void sent(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void holds(std::uint32_t, std::int64_t) override {}

  double median(std::uint32_t stage, Kind kind) {
    std::vector<double>& all = times_[{stage, kind}];
    std::ranges::sort(all);
    return all.empty() ? 0 : all[all.size() / 2];
  }
  void forget() { times_.clear(); }

 private:
  /// What two readings of the clock one after the other differ by.
  static double price() {
    double least = 1;
    for (int i = 0; i < 100; ++i) {
      const double from = thread_seconds();
      least = std::min(least, thread_seconds() - from);
    }
    return least;
  }

  const double price_ = price();
  double begin_ = 0;
  std::map<std::pair<std::uint32_t, Kind>, std::vector<double>> times_;
};

// Passes of a step whose stages are all at one place: every micro-batch goes through all of them and back before the
// next, so that what a pass reads is far away; or a stage does all of its micro-batches one behind the other.
pipeline::Schedule one_place(const pipeline::Plan& plan, std::uint32_t micros, bool in_a_row) {
  const auto stages = static_cast<std::uint32_t>(plan.stages.size());
  pipeline::Schedule schedule{{{{0}, {}}}};
  for (std::uint32_t turn = 0; turn < (in_a_row ? 1 : micros); ++turn) {
    const auto all = [&](pipeline::Kind kind, std::uint32_t stage) {
      for (std::uint32_t m = turn; m < (in_a_row ? micros : turn + 1); ++m) {
        schedule.places[0].actions.push_back({.kind = kind, .stage = stage, .micro = m});
      }
    };
    for (std::uint32_t s = 0; s < stages; ++s) all(pipeline::Kind::kForward, s);
    for (std::uint32_t s = stages; s-- > 0;) {
      all(pipeline::Kind::kInputGrad, s);
      all(pipeline::Kind::kWeightGrad, s);
    }
  }
  return schedule;
}

void step_of(nn::Program& program, const nn::Batch& batch) {
  const nn::LaneHyper hyper{.lr = 0, .momentum = 0.9};
  const std::uint8_t active = 1;
  double loss = 0;
  program.train_step({&batch, 1}, {&hyper, 1}, {&active, 1}, {&loss, 1});
}

}  // namespace

Result<std::vector<OperatorTimes>> time_passes(const PlannedModel& planned, std::int64_t micro_batch,
                                               const CompileStages& compile, const nn::Batch& batch, int repeats) {
  const std::int64_t size = planned.model.batch;
  if (micro_batch < 1 || micro_batch >= size || size % micro_batch != 0) {
    return Error{Code::kInvalidArgument,
                 "micro-batches of " + std::to_string(micro_batch) + " samples for a batch of " + std::to_string(size) +
                     "; allowed are numbers that divide it, below it",
                 ""};
  }
  const pipeline::Problem problem{planned.model, single_devices(1, 0)};
  pipeline::Plan plan{planned.model.hash, size, {}};
  for (std::uint32_t i = 0; i < planned.nodes.size(); ++i) {
    plan.stages.push_back({{i}, micro_batch, 1, {0}, micro_batch, {}});
  }
  LANISTA_ASSIGN(plan, pipeline::arranged(std::move(plan), planned.model));
  plan = pipeline::with_whole_batch_in_flight(plan);
  const auto micros = static_cast<std::uint32_t>(size / micro_batch);
  std::array<Stopwatch, 2> watches;
  for (const bool in_a_row : {false, true}) {
    LANISTA_ASSIGN(nn::Stages stages, stages_of(plan, one_place(plan, micros, in_a_row), problem, planned.nodes));
    Stopwatch& watch = watches[in_a_row ? 1 : 0];
    stages.observer = &watch;
    LANISTA_ASSIGN(nn::Program program, compile(stages));
    step_of(program, batch);
    watch.forget();  // what is done for the first time takes longer
    for (int i = 0; i < repeats; ++i) step_of(program, batch);
  }
  std::vector<OperatorTimes> times(planned.nodes.size());
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    OperatorTimes& own = times[plan.stages[s].operators.front()];
    own.forward = watches[0].median(s, Kind::kForward);
    own.input_grad = watches[0].median(s, Kind::kInputGrad);
    own.weight_grad = watches[0].median(s, Kind::kWeightGrad);
    const double apart = own.forward + own.input_grad + own.weight_grad;
    double again = 0;
    for (const Kind kind : {Kind::kForward, Kind::kInputGrad, Kind::kWeightGrad}) again += watches[1].median(s, kind);
    if (apart > 0 && again > 0) own.again = std::min(1.0, again / apart);
  }
  return times;
}

}  // namespace lanista::runtime
