#include "lanista/app/cli/pipeline_verbs.h"

#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/pipeline_costs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/forecast/devices_file.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/model_file.h"
#include "lanista/plan/pipeline/plan_text.h"
#include "lanista/plan/pipeline/planner.h"

namespace lanista::cli {
namespace {

using nlohmann::json;
using pipeline::Problem;

constexpr std::int64_t kProfileBatch = 32;  // default number of a profile's mini-batches in a step
constexpr double kMeasureSeconds = 1;

Result<json> read_json(const std::string& file) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(file));
  auto parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return Error{Code::kDataLoss, "is not JSON", file};
  return parsed;
}

/// The result, with the file in the location of its error.
template <class T>
Result<T> with_file(Result<T> result, const std::string& file) {
  if (result) return result;
  Error error = result.error();
  error.where = error.where.empty() ? file : file + ": " + error.where;
  return error;
}

Result<Problem> problem_of_file(const PipelineRequest& request, const std::string& file) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(file));
  Problem problem;
  if (text.starts_with("node")) {
    LANISTA_ASSIGN(problem.model,
                   with_file(pipeline::read_pipedream_profile(text, request.batch.value_or(kProfileBatch)), file));
    return problem;
  }
  LANISTA_ASSIGN(const json parsed, read_json(file));
  if (parsed.contains("nodes")) {
    LANISTA_ASSIGN(problem, with_file(pipeline::read_piper_input(parsed, request.unit), file));
  } else {
    LANISTA_ASSIGN(problem.model, with_file(pipeline::read_model(parsed), file));
  }
  problem.model.batch = request.batch.value_or(problem.model.batch);
  return problem;
}

/// A plan with its schedule and its simulated step.
struct SimulatedPlan {
  pipeline::Planned planned;
  pipeline::SimulationResult simulation;
};

Result<SimulatedPlan> make_simulated_plan(const PipelineRequest& request, const Problem& problem) {
  SimulatedPlan simulated_plan;
  pipeline::Planned& planned = simulated_plan.planned;
  if (request.plan.empty()) {
    pipeline::PlanOptions options;
    options.micro_batch = request.micro_batch;
    options.split = request.schedule == "split";
    LANISTA_ASSIGN(planned, pipeline::make_plan(problem, options));
  } else {
    LANISTA_ASSIGN(const json parsed, read_json(request.plan));
    LANISTA_ASSIGN(planned.plan, with_file(pipeline::read_plan(parsed), request.plan));
    LANISTA_TRY(with_file(pipeline::check(planned.plan, problem), request.plan));
    planned.schedule = request.schedule == "split" ? pipeline::split_backward(planned.plan, problem)
                                                   : pipeline::kfkb(planned.plan, problem);
  }
  if (request.schedule == "gpipe") {
    planned.plan = pipeline::with_whole_batch_in_flight(planned.plan);
    LANISTA_TRY(pipeline::check(planned.plan, problem));
    planned.schedule = pipeline::gpipe(planned.plan);
  }
  LANISTA_TRY(pipeline::prove(pipeline::lowered(planned.schedule, planned.plan, problem.model), planned.plan));
  LANISTA_ASSIGN(simulated_plan.simulation, pipeline::simulate(planned.schedule, planned.plan, problem));
  planned.seconds = simulated_plan.simulation.seconds;
  return simulated_plan;
}

std::string search_text(const pipeline::Planned& planned) {
  const auto fixed = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", value);
    return std::string(text);
  };
  std::vector<TableRow> rows{{"micro-batch", "stages", "depth", "slowest us/sample", "step ms"}};
  for (const pipeline::Finalist& each : planned.finalists) {
    rows.push_back({std::to_string(each.micro_batch), std::to_string(each.stages), std::to_string(each.depth),
                    fixed(1e6 * each.seconds_per_sample), fixed(1e3 * each.seconds)});
  }
  return "search: " + std::to_string(planned.probes) + " probes, " + std::to_string(planned.states) + " states, " +
         std::to_string(planned.simulations) + " simulations; the model's longest path is " + fixed(planned.loss) +
         " times as long as a series-parallel graph; best plans (1F1B):\n" +
         text_table(rows, {true, true, true, true, true});
}

json simulated_plan_json(const SimulatedPlan& simulated_plan, const Problem& problem) {
  json out = pipeline::plan_json(simulated_plan.planned.plan);
  out["seconds"] = simulated_plan.simulation.seconds;
  out["samples_per_second"] = static_cast<double>(problem.model.batch) / simulated_plan.simulation.seconds;
  out["bound_seconds"] = pipeline::bounds_of(problem).best();
  out["depth"] = pipeline::depth_of(simulated_plan.planned.plan);
  out["live_samples"] = simulated_plan.simulation.live_samples;
  out["peak_bytes"] = simulated_plan.simulation.peak_bytes;
  return out;
}

Result<void> write_json(const std::string& file, const json& value) {
  if (file.empty()) return {};
  return write_atomically(real_file_system(), file, value.dump(1) + "\n");
}

int print_pipeline_plan(const PipelineRequest& request, Problem problem) {
  if (!request.devices.empty()) {
    const auto text = real_file_system().read(request.devices);
    if (!text) return print_error(text.error());
    auto devices = engine::read_devices(*text, request.devices);
    if (!devices) return print_error(devices.error());
    problem.devices = *std::move(devices);
  }
  if (problem.devices.classes.empty()) {
    return print_error({Code::kInvalidArgument, "--devices is required: a YAML file with the device classes", ""});
  }
  const auto simulated_plan = make_simulated_plan(request, problem);
  if (!simulated_plan) return print_error(simulated_plan.error());
  if (const auto done = write_json(request.out, pipeline::plan_json(simulated_plan->planned.plan)); !done)
    return print_error(done.error());
  if (const auto done = write_json(request.costs, pipeline::model_json(problem.model)); !done)
    return print_error(done.error());
  if (request.json) {
    std::cout << json_line(simulated_plan_json(*simulated_plan, problem));
    return kDone;
  }
  std::cout << printable_lines(pipeline::plan_text(simulated_plan->planned.plan, &problem));
  if (request.explain && request.plan.empty()) std::cout << search_text(simulated_plan->planned);
  std::cout << printable_lines(pipeline::simulation_text(simulated_plan->simulation, simulated_plan->planned.schedule,
                                                         simulated_plan->planned.plan, problem));
  if (!problem.devices.note.empty()) std::cout << "devices: " << printable(problem.devices.note) << "\n";
  return kDone;
}

}  // namespace

bool is_pipeline_file(const std::string& file) {
  if (file.ends_with(".json")) return true;
  const auto text = real_file_system().read(file);
  return text && text->starts_with("node");
}

int pipeline_of_file(const PipelineRequest& request, const std::string& file) {
  auto problem = problem_of_file(request, file);
  return problem ? print_pipeline_plan(request, *std::move(problem)) : print_error(problem.error());
}

int pipeline_of_study(const PipelineRequest& request, const study::StudyConfig& config, const data::DataSpec& data,
                      const mutate::ModelSpace& models) {
  const auto made = [&]() -> Result<Problem> {
    LANISTA_ASSIGN(const auto recipe, study::make_recipe(config, engine::loss_name(config, data), {}));
    const mutate::BaseModel& base = models.bases().front();
    const std::int64_t batch = request.batch.value_or(recipe.batch);
    const autodiff::StepOptions options{recipe.loss, recipe.optimizer};
    LANISTA_ASSIGN(const auto costs,
                   measure_node_costs(base.graph, models.ops(), options, batch, request.measure ? kMeasureSeconds : 0));
    const auto slots = autodiff::find_optimizer(recipe.optimizer)->slots.size();
    Problem problem;
    LANISTA_ASSIGN(problem.model,
                   pipeline::model_of(base.graph, models.ops(), batch, 2 + static_cast<double>(slots), costs));
    problem.model.name = base.name;
    if (!request.measure) return problem;
    const auto measured = measure_warm_cache_factors(base.graph, models.ops(), options, problem.model);
    if (!measured && measured.error().code != Code::kUnimplemented) return measured.error();
    if (!measured) std::cerr << "lanista: the plan ignores warm caches: " << one_line(measured.error().text()) << "\n";
    return problem;
  };
  auto problem = made();
  return problem ? print_pipeline_plan(request, *std::move(problem)) : print_error(problem.error());
}

int show_pipeline_plan(const std::string& file, bool as_json) {
  const auto parsed = read_json(file);
  if (!parsed) return print_error(parsed.error());
  const auto plan = with_file(pipeline::read_plan(*parsed), file);
  if (!plan) return print_error(plan.error());
  if (as_json) {
    std::cout << json_line(pipeline::plan_json(*plan));
  } else {
    std::cout << printable_lines(pipeline::plan_text(*plan, nullptr));
  }
  return kDone;
}

}  // namespace lanista::cli
