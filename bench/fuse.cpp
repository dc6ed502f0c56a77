#include "bench/fuse.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "bench/lane_time_slices.h"
#include "bench/processes.h"
#include "bench/speedup.h"
#include "bench/training_benchmark.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr int kAgreementSteps = 4;  // steps with equal losses of every model of every arm

using Batch = std::shared_ptr<const CaseBatch>;

// The losses of all workers, [step, model].
std::vector<double> losses_of(std::vector<LaneTimeSlices>& workers) {
  std::vector<double> out;
  for (int step = 0; step < kAgreementSteps; ++step) {
    for (LaneTimeSlices& worker : workers) {
      const auto losses = worker.program().step();
      out.insert(out.end(), losses.begin(), losses.end());
    }
  }
  return out;
}

/// Arm `packed`: two threads of one process, each with half of the models.
struct Packed {
  std::vector<ModelTimeSlices> halves;

  static Result<Packed> make(const Case& c, std::int64_t models, const Batch& batch) {
    Packed out;
    const std::int64_t first = models - models / 2;
    LANISTA_ASSIGN(auto front, ModelTimeSlices::make(c, 0, first, batch));
    LANISTA_ASSIGN(auto back, ModelTimeSlices::make(c, first, models - first, batch));
    out.halves.push_back(std::move(front));
    out.halves.push_back(std::move(back));
    return out;
  }

  std::vector<double> losses() {
    std::vector<std::vector<double>> of(halves.size());
    {
      const std::jthread second([&] {
        kernels::set_flush_to_zero();
        of[1] = halves[1].losses(kAgreementSteps);
      });
      of[0] = halves[0].losses(kAgreementSteps);
    }
    std::vector<double> out;
    for (std::int64_t step = 0; step < kAgreementSteps; ++step) {
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const auto begin = of[i].begin() + step * halves[i].size();
        out.insert(out.end(), begin, begin + halves[i].size());
      }
    }
    return out;
  }

  Arm arm() {
    return timed("packed",
                 {{[this] { halves[0].run_slice(); }, kSliceSteps}, {[this] { halves[1].run_slice(); }, kSliceSteps}});
  }
};

/// The lanista programs for the models of one case.
struct FuseArms {
  ModelTimeSlices single;
  std::vector<LaneTimeSlices> lanes, second_alone, together;  // auto-1, auto-1 of the second thread, auto
  std::optional<Packed> packed;
};

Result<FuseArms> make_arms(const Case& c, std::int64_t models, const Batch& batch) {
  LANISTA_ASSIGN(auto single, ModelTimeSlices::make(c, 0, models, batch));
  LANISTA_ASSIGN(auto lanes, LaneTimeSlices::share(c, models, 1, batch));
  LANISTA_ASSIGN(auto second_alone, LaneTimeSlices::share(c, models, 1, batch));
  LANISTA_ASSIGN(auto together, LaneTimeSlices::share(c, models, 2, batch));
  FuseArms out{std::move(single), std::move(lanes), std::move(second_alone), std::move(together), {}};
  if (models > 1) {
    LANISTA_ASSIGN(out.packed, Packed::make(c, models, batch));
  }
  return out;
}

Result<void> check_arms_agree(const Case& c, FuseArms& all, ProcessPair& processes) {
  const auto models = static_cast<std::size_t>(all.single.size());
  const std::vector<double> ours = all.single.losses(kAgreementSteps);
  LANISTA_TRY(check_same_losses(c, "auto-1", ours, losses_of(all.lanes), models));
  LANISTA_TRY(check_same_losses(c, "auto", ours, losses_of(all.together), models));
  if (!all.packed) return {};
  LANISTA_TRY(check_same_losses(c, "packed", ours, all.packed->losses(), models));
  LANISTA_ASSIGN(const auto theirs, processes.losses(kAgreementSteps));
  return check_same_losses(c, "processes", ours, theirs, models);
}

BenchRow speedup(const TrainingBenchmark& benchmark, const std::string& name, FuseArms& all) {
  std::vector<LanistaProgram*> together;
  for (LaneTimeSlices& worker : all.together) together.push_back(&worker.program());
  LanistaProgram& alone = all.lanes[0].program();
  LanistaProgram& second_alone = all.second_alone[0].program();
  if (all.single.size() == 1) together = {&alone, &second_alone};  // with one model, auto has only one thread
  return speedup_row(benchmark.bench, name, alone, second_alone, together, benchmark.repeats);
}

void print_costs(const TrainingBenchmark& benchmark, const std::string& name, const FuseArms& all) {
  double bytes = 0, seconds = 0;
  for (const LaneTimeSlices& worker : all.together) {
    bytes += static_cast<double>(worker.program().bytes());
    seconds += worker.program().compile_seconds();
  }
  benchmark.print(name, "auto-bytes", "bytes", bytes);
  benchmark.print(name, "single-bytes", "bytes", static_cast<double>(all.single.bytes()));
  benchmark.print(name, "auto-plan", "ms", 1e3 * seconds);
  benchmark.print(name, "single-plan", "ms", 1e3 * all.single.compile_seconds());
}

Result<void> run_case(const TrainingBenchmark& benchmark, const Case& c, std::int64_t models, ProcessPair& processes) {
  LANISTA_ASSIGN(FuseArms all, make_arms(c, models, std::make_shared<CaseBatch>(c)));
  LANISTA_ASSIGN(const auto loops, TorchLoopArms::make(c, all.single));
  if (models > 1) LANISTA_TRY(processes.load(c.name, models));
  LANISTA_TRY(check_arms_agree(c, all, processes));

  std::vector<Arm> arms{timed("single", {{[&all] { all.single.run_slice(); }, kSliceSteps}}),
                        timed("auto", work_per_core(all.together))};
  loops.add_to(arms);
  std::optional<Error> failure;
  if (models > 1) {
    arms.push_back(timed("auto-1", work_per_core(all.lanes)));
    arms.push_back(all.packed->arm());
    arms.push_back({"processes", [&] {
                      const auto rate = processes.rate(kSampleSeconds);
                      if (!rate) failure = rate.error();
                      return rate ? 1e6 / (kSliceSteps * *rate) : 0.0;
                    }});
  }
  const std::string name = c.name + "/" + std::to_string(models);
  const auto values = run_rounds(arms, benchmark.repeats);
  if (failure) return *failure;
  benchmark.print_rounds(name, arms, values);
  benchmark.print_comparison(name, "best", "auto", arms, values, [](const std::string& arm) { return arm != "auto"; });
  benchmark.print_comparison(name, "loop", models > 1 ? "auto-1" : "auto", arms, values, is_loop);
  benchmark.print(speedup(benchmark, name, all));
  benchmark.print_limits(name, all.single.model(0).step_work(), models);
  print_costs(benchmark, name, all);
  return {};
}

}  // namespace

Result<void> fuse(const BenchRequest& request, std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  LANISTA_ASSIGN(ProcessPair processes, ProcessPair::start());
  const TrainingBenchmark benchmark = TrainingBenchmark::begin(request, out);
  const std::vector<std::int64_t> counts =
      request.lanes.empty() ? std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64} : request.lanes;
  for (const Case& c : cases) {
    for (const std::int64_t models : counts) LANISTA_TRY(run_case(benchmark, c, models, processes));
  }
  return {};
}

}  // namespace lanista::bench
