#include "bench/train_step.h"

#include <memory>
#include <utility>

#include "bench/speedup.h"
#include "bench/training_benchmark.h"

namespace lanista::bench {
namespace {

constexpr int kComparedSteps = 20;

Result<void> run_case(const TrainingBenchmark& benchmark, const Case& c) {
  const auto batch = std::make_shared<CaseBatch>(c);
  LANISTA_ASSIGN(auto models, ModelTimeSlices::make(c, 0, 1, batch));
  LANISTA_ASSIGN(const auto loops, TorchLoopArms::make(c, models));
  LANISTA_ASSIGN(auto second_models, ModelTimeSlices::make(c, 0, 1, batch));
  LANISTA_TRY(check_same_losses(c, "ours-2", models.losses(kComparedSteps), second_models.losses(kComparedSteps), 1));

  LanistaProgram &ours = models.model(0), &second_alone = second_models.model(0);
  std::vector<Arm> arms{timed("ours", {ours.work()}), timed("ours-2", {ours.work(), second_alone.work()})};
  loops.add_to(arms);
  const std::string name = c.name + "/1";
  const auto values = run_rounds(arms, benchmark.repeats);
  benchmark.print_rounds(name, arms, values);
  benchmark.print_comparison(name, "loop", "ours", arms, values, is_loop);
  benchmark.print(speedup_row(benchmark.bench, name, ours, second_alone, {&ours, &second_alone}, benchmark.repeats));
  benchmark.print_limits(name, ours.step_work(), 1);
  return {};
}

}  // namespace

Result<void> train_step(const BenchRequest& request, std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  const TrainingBenchmark benchmark = TrainingBenchmark::begin(request, out);
  for (const Case& c : cases) LANISTA_TRY(run_case(benchmark, c));
  return {};
}

}  // namespace lanista::bench
