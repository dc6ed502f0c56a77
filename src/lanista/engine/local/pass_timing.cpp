#include "lanista/engine/local/pass_timing.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "lanista/base/thread_cpu_time.h"

namespace lanista::runtime {
namespace {

using Kind = program::StagePass::Kind;

/// Seconds of one core for every pass, without the cost of the clock.
class PassTimer final : public program::StageObserver {
 public:
  void on_pass_begin(std::size_t, const program::StagePass&) override { begin_ = thread_cpu_seconds(); }
  void on_pass_end(std::size_t, const program::StagePass& pass) override {
    times_[{pass.stage, pass.kind}].push_back(std::max(0.0, thread_cpu_seconds() - begin_ - clock_overhead_));
  }
  void on_edge_copy(std::uint32_t, std::uint32_t, bool, std::int64_t) override {}
  void on_held_samples(std::uint32_t, std::int64_t) override {}

  double median(std::uint32_t stage, Kind kind) {
    std::vector<double>& all = times_[{stage, kind}];
    std::ranges::sort(all);
    return all.empty() ? 0 : all[all.size() / 2];
  }
  void clear() { times_.clear(); }

 private:
  /// Difference of two consecutive clock readings.
  static double clock_overhead() {
    double least = 1;
    for (int i = 0; i < 100; ++i) {
      const double from = thread_cpu_seconds();
      least = std::min(least, thread_cpu_seconds() - from);
    }
    return least;
  }

  const double clock_overhead_ = clock_overhead();
  double begin_ = 0;
  std::map<std::pair<std::uint32_t, Kind>, std::vector<double>> times_;
};

// A schedule with all stages on one rank. Either each micro-batch passes all stages and back before the next one, with
// cold caches; or each stage runs all its micro-batches consecutively.
pipeline::Schedule single_rank_schedule(const pipeline::PipelinePlan& plan, std::uint32_t micros, bool is_consecutive) {
  const auto stages = static_cast<std::uint32_t>(plan.stages.size());
  pipeline::Schedule schedule{{{{0}, {}}}};
  for (std::uint32_t turn = 0; turn < (is_consecutive ? 1 : micros); ++turn) {
    const auto all = [&](pipeline::ActionKind kind, std::uint32_t stage) {
      for (std::uint32_t m = turn; m < (is_consecutive ? micros : turn + 1); ++m) {
        schedule.ranks[0].actions.push_back({.kind = kind, .stage = stage, .micro = m});
      }
    };
    for (std::uint32_t s = 0; s < stages; ++s) all(pipeline::ActionKind::kForward, s);
    for (std::uint32_t s = stages; s-- > 0;) {
      all(pipeline::ActionKind::kInputGrad, s);
      all(pipeline::ActionKind::kWeightGrad, s);
    }
  }
  return schedule;
}

void step_of(program::Program& program, const program::Batch& batch) {
  const program::LaneHyper hyper{.lr = 0, .momentum = 0.9};
  const std::uint8_t active = 1;
  double loss = 0;
  program.train_step({&batch, 1}, {&hyper, 1}, {&active, 1}, {&loss, 1});
}

}  // namespace

Result<std::vector<OperatorTimes>> time_passes(const PlannedModel& planned, std::int64_t micro_batch,
                                               const CompileStages& compile, const program::Batch& batch, int repeats) {
  const std::int64_t size = planned.model.batch;
  if (micro_batch < 1 || micro_batch >= size || size % micro_batch != 0) {
    return Error{Code::kInvalidArgument,
                 "micro-batches of " + std::to_string(micro_batch) + " samples for a batch of " + std::to_string(size) +
                     "; allowed are numbers that divide it, below it",
                 ""};
  }
  const pipeline::Problem problem{planned.model, single_devices(1, 0)};
  pipeline::PipelinePlan plan{planned.model.hash, size, {}};
  for (std::uint32_t i = 0; i < planned.nodes.size(); ++i) {
    plan.stages.push_back({{i}, micro_batch, 1, {0}, micro_batch, {}});
  }
  LANISTA_ASSIGN(plan, pipeline::arranged(std::move(plan), planned.model));
  plan = pipeline::with_whole_batch_in_flight(plan);
  const auto micros = static_cast<std::uint32_t>(size / micro_batch);
  std::array<PassTimer, 2> watches;
  for (const bool is_consecutive : {false, true}) {
    LANISTA_ASSIGN(program::Stages stages,
                   executable_stages(plan, single_rank_schedule(plan, micros, is_consecutive), problem, planned.nodes));
    PassTimer& watch = watches[is_consecutive ? 1 : 0];
    stages.observer = &watch;
    LANISTA_ASSIGN(program::Program program, compile(stages));
    step_of(program, batch);
    watch.clear();  // the first step is slower
    for (int i = 0; i < repeats; ++i) step_of(program, batch);
  }
  std::vector<OperatorTimes> times(planned.nodes.size());
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    OperatorTimes& own = times[plan.stages[s].operators.front()];
    own.forward = watches[0].median(s, Kind::kForward);
    own.input_grad = watches[0].median(s, Kind::kInputGrad);
    own.weight_grad = watches[0].median(s, Kind::kWeightGrad);
    const double apart = own.forward + own.input_grad + own.weight_grad;
    double warm_cache_factor = 0;
    for (const Kind kind : {Kind::kForward, Kind::kInputGrad, Kind::kWeightGrad})
      warm_cache_factor += watches[1].median(s, kind);
    if (apart > 0 && warm_cache_factor > 0) own.warm_cache_factor = std::min(1.0, warm_cache_factor / apart);
  }
  return times;
}

}  // namespace lanista::runtime
