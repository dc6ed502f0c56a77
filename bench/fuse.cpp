#include "bench/fuse.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "bench/lane_turns.h"
#include "bench/processes.h"
#include "bench/race.h"
#include "bench/speedup.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr int kTwinSteps = 4;  // of every model of every arm; what differs in bits differs at once

using Batch = std::shared_ptr<const CaseBatch>;

std::vector<double> losses_of(std::vector<LaneTurns>& workers) {
  std::vector<double> out;
  for (int step = 0; step < kTwinSteps; ++step) {
    for (LaneTurns& turns : workers) {
      const auto losses = turns.program().step();
      out.insert(out.end(), losses.begin(), losses.end());
    }
  }
  return out;
}

/// Two threads of one process, each with half of the models.
struct Packed {
  std::vector<ModelTurns> halves;

  static Result<Packed> make(const Case& c, std::int64_t models, const Batch& batch) {
    Packed out;
    const std::int64_t first = models - models / 2;
    LANISTA_ASSIGN(auto front, ModelTurns::make(c, 0, first, batch));
    LANISTA_ASSIGN(auto back, ModelTurns::make(c, first, models - first, batch));
    out.halves.push_back(std::move(front));
    out.halves.push_back(std::move(back));
    return out;
  }

  std::vector<double> losses() {
    std::vector<std::vector<double>> of(halves.size());
    {
      const std::jthread second([&] {
        kernels::set_flush_to_zero();
        of[1] = halves[1].losses(kTwinSteps);
      });
      of[0] = halves[0].losses(kTwinSteps);
    }
    std::vector<double> out;
    for (std::int64_t step = 0; step < kTwinSteps; ++step) {
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const auto begin = of[i].begin() + step * halves[i].size();
        out.insert(out.end(), begin, begin + halves[i].size());
      }
    }
    return out;
  }

  Arm arm() {
    return timed("packed", {{[this] { halves[0].burst(); }, kBurst}, {[this] { halves[1].burst(); }, kBurst}});
  }
};

/// Our programs for the models of one case.
struct Contestants {
  ModelTurns single;
  std::vector<LaneTurns> lanes, twin, together;  // auto-1, another one for the second thread, auto
  std::optional<Packed> packed;
};

Result<Contestants> contestants(const Case& c, std::int64_t models, const Batch& batch) {
  LANISTA_ASSIGN(auto single, ModelTurns::make(c, 0, models, batch));
  LANISTA_ASSIGN(auto lanes, LaneTurns::share(c, models, 1, batch));
  LANISTA_ASSIGN(auto twin, LaneTurns::share(c, models, 1, batch));
  LANISTA_ASSIGN(auto together, LaneTurns::share(c, models, 2, batch));
  Contestants out{std::move(single), std::move(lanes), std::move(twin), std::move(together), {}};
  if (models > 1) {
    LANISTA_ASSIGN(out.packed, Packed::make(c, models, batch));
  }
  return out;
}

Result<void> check_twins(const Case& c, Contestants& all, ProcessPair& processes) {
  const auto models = static_cast<std::size_t>(all.single.size());
  const std::vector<double> ours = all.single.losses(kTwinSteps);
  LANISTA_TRY(check_equal(c, "auto-1", ours, losses_of(all.lanes), models));
  LANISTA_TRY(check_equal(c, "auto", ours, losses_of(all.together), models));
  if (!all.packed) return {};
  LANISTA_TRY(check_equal(c, "packed", ours, all.packed->losses(), models));
  LANISTA_ASSIGN(const auto theirs, processes.losses(kTwinSteps));
  return check_equal(c, "processes", ours, theirs, models);
}

Row speedup(const Race& race, const std::string& name, Contestants& all) {
  std::vector<OurProgram*> together;
  for (LaneTurns& turns : all.together) together.push_back(&turns.program());
  OurProgram& alone = all.lanes[0].program();
  OurProgram& twin = all.twin[0].program();
  if (all.single.size() == 1) together = {&alone, &twin};  // a model has one thread, two have two
  return speedup_row(race.bench, name, alone, twin, together, race.repeats);
}

void print_costs(const Race& race, const std::string& name, const Contestants& all) {
  double bytes = 0, seconds = 0;
  for (const LaneTurns& turns : all.together) {
    bytes += static_cast<double>(turns.program().bytes());
    seconds += turns.program().compile_seconds();
  }
  race.print(name, "auto-bytes", "bytes", bytes);
  race.print(name, "single-bytes", "bytes", static_cast<double>(all.single.bytes()));
  race.print(name, "auto-plan", "ms", 1e3 * seconds);
  race.print(name, "single-plan", "ms", 1e3 * all.single.compile_seconds());
}

Result<void> run_case(const Race& race, const Case& c, std::int64_t models, ProcessPair& processes) {
  LANISTA_ASSIGN(Contestants all, contestants(c, models, std::make_shared<CaseBatch>(c)));
  LANISTA_ASSIGN(const auto loops, LoopArms::make(c, all.single));
  if (models > 1) LANISTA_TRY(processes.load(c.name, models));
  LANISTA_TRY(check_twins(c, all, processes));

  std::vector<Arm> arms{timed("single", {{[&all] { all.single.burst(); }, kBurst}}),
                        timed("auto", works_of(all.together))};
  loops.add_to(arms);
  std::optional<Error> failure;
  if (models > 1) {
    arms.push_back(timed("auto-1", works_of(all.lanes)));
    arms.push_back(all.packed->arm());
    arms.push_back({"processes", [&] {
                      const auto rate = processes.rate(kSampleSeconds);
                      if (!rate) failure = rate.error();
                      return rate ? 1e6 / (kBurst * *rate) : 0.0;
                    }});
  }
  const std::string name = c.name + "/" + std::to_string(models);
  const auto values = rounds(arms, race.repeats);
  if (failure) return *failure;
  race.print_rounds(name, arms, values);
  race.print_standing(name, "best", "auto", arms, values, [](const std::string& arm) { return arm != "auto"; });
  race.print_standing(name, "loop", models > 1 ? "auto-1" : "auto", arms, values, is_loop);
  race.print(speedup(race, name, all));
  race.print_limits(name, all.single.model(0).step_work(), models);
  print_costs(race, name, all);
  return {};
}

}  // namespace

Result<void> fuse(const Request& request, std::ostream& out) {
  LANISTA_ASSIGN(const std::vector<Case> cases, training_cases(request.cases));
  LANISTA_ASSIGN(ProcessPair processes, ProcessPair::start());
  const Race race = Race::begin(request, out);
  const std::vector<std::int64_t> counts =
      request.lanes.empty() ? std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64} : request.lanes;
  for (const Case& c : cases) {
    for (const std::int64_t models : counts) LANISTA_TRY(run_case(race, c, models, processes));
  }
  return {};
}

}  // namespace lanista::bench
