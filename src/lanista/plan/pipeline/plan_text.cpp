#include "lanista/plan/pipeline/plan_text.h"

#include <vector>

#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/text_table.h"

namespace lanista::pipeline {
namespace {

using Row = std::vector<std::string>;

}  // namespace

std::string plan_text(const PipelinePlan& plan, const Problem* problem) {
  std::vector<Row> rows{{"stage", "next", "devices", "micro-batch", "k", "in flight"}};
  if (problem != nullptr) rows[0].insert(rows[0].end(), {"forward ms", "backward ms", "memory MB"});
  rows[0].push_back("operators");
  std::vector<StageTimes> times;
  std::vector<double> bytes;
  if (problem != nullptr) times = times_of(plan, *problem), bytes = bytes_of(plan, problem->model);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    Row& row = rows.emplace_back(Row{std::to_string(s), ranges(stage.successors), ranges(stage.devices),
                                     std::to_string(stage.micro_batch), std::to_string(stage.k),
                                     std::to_string(stage.in_flight)});
    std::string names = ranges(stage.operators);
    if (problem != nullptr) {
      row.insert(row.end(),
                 {fixed(1e3 * times[s].forward, 3), fixed(1e3 * times[s].backward(), 3), fixed(1e-6 * bytes[s], 1)});
      names += "  " + problem->model.operators[stage.operators.front()].name;
      if (stage.operators.size() > 1) names += " .. " + problem->model.operators[stage.operators.back()].name;
    }
    row.push_back(names);
  }
  return std::to_string(plan.stages.size()) + " stages, " + std::to_string(depth_of(plan)) +
         " on the longest path; a step has " + std::to_string(plan.batch) + " samples\n" + text_table(rows);
}

std::string simulation_text(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                            const Problem& problem) {
  const double bound = bounds_of(plan, problem).best(), any = bounds_of(problem).best();
  return "a step needs " + fixed(1e3 * simulation.seconds, 3) + " ms, " +
         fixed(static_cast<double>(plan.batch) / simulation.seconds, 1) +
         " samples a second; lower bound of this plan " + fixed(1e3 * bound, 3) + " ms, of all plans " +
         fixed(1e3 * any, 3) + " ms\n" + gantt(simulation, schedule, plan);
}

}  // namespace lanista::pipeline
