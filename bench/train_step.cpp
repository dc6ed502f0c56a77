#include "bench/train_step.h"

#include <memory>
#include <utility>

#include "bench/race.h"
#include "bench/speedup.h"

namespace lanista::bench {
namespace {

constexpr int kComparedSteps = 20;

Result<void> run_case(const Race& race, const Case& c) {
  const auto batch = std::make_shared<CaseBatch>(c);
  LANISTA_ASSIGN(auto models, ModelTurns::make(c, 0, 1, batch));
  LANISTA_ASSIGN(const auto loops, LoopArms::make(c, models));
  LANISTA_ASSIGN(auto twins, ModelTurns::make(c, 0, 1, batch));
  LANISTA_TRY(check_equal(c, "ours-2", models.losses(kComparedSteps), twins.losses(kComparedSteps), 1));

  OurProgram &ours = models.model(0), &twin = twins.model(0);
  std::vector<Arm> arms{timed("ours", {ours.work()}), timed("ours-2", {ours.work(), twin.work()})};
  loops.add_to(arms);
  const std::string name = c.name + "/1";
  const auto values = rounds(arms, race.repeats);
  race.print_rounds(name, arms, values);
  race.print_standing(name, "loop", "ours", arms, values, is_loop);
  race.print(speedup_row(race.bench, name, ours, twin, {&ours, &twin}, race.repeats));
  race.print_limits(name, ours.step_work(), 1);
  return {};
}

}  // namespace

Result<void> train_step(const Request& request, std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  const Race race = Race::begin(request, out);
  for (const Case& c : cases) LANISTA_TRY(run_case(race, c));
  return {};
}

}  // namespace lanista::bench
