#include "lanista/app/cli/pipeline_verbs.h"

#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include "lanista/base/file_system.h"
#include "lanista/app/cli/app.h"
#include "lanista/app/cli/columns.h"
#include "lanista/app/cli/pipeline_costs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/engine/forecast/devices_file.h"
#include "lanista/engine/core/executor.h"
#include "lanista/plan/pipeline/bounds.h"
#include "lanista/plan/pipeline/model_file.h"
#include "lanista/plan/pipeline/plan_text.h"
#include "lanista/plan/pipeline/planner.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::cli {
namespace {

using nlohmann::json;
using pipeline::Problem;

constexpr std::int64_t kProfileBatch = 32;  // mini-batches of a profile that make a step, if nobody says
constexpr double kMeasureSeconds = 1;

Result<json> read_json(const std::string& file) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(file));
  auto parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return Error{Code::kDataLoss, "is no JSON", file};
  return parsed;
}

/// A result whose error names the file.
template <class T>
Result<T> in_file(Result<T> result, const std::string& file) {
  if (result) return result;
  Error error = result.error();
  error.where = error.where.empty() ? file : file + ": " + error.where;
  return error;
}

Result<Problem> problem_of_file(const PipelineAsked& asked, const std::string& file) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(file));
  Problem problem;
  if (text.starts_with("node")) {
    LANISTA_ASSIGN(problem.model,
                   in_file(pipeline::read_pipedream_profile(text, asked.batch.value_or(kProfileBatch)), file));
    return problem;
  }
  LANISTA_ASSIGN(const json parsed, read_json(file));
  if (parsed.contains("nodes")) {
    LANISTA_ASSIGN(problem, in_file(pipeline::read_piper_input(parsed, asked.unit), file));
  } else {
    LANISTA_ASSIGN(problem.model, in_file(pipeline::read_model(parsed), file));
  }
  problem.model.batch = asked.batch.value_or(problem.model.batch);
  return problem;
}

/// A plan with its schedule and its course.
struct Told {
  pipeline::Planned planned;
  pipeline::Course course;
};

Result<Told> told_of(const PipelineAsked& asked, const Problem& problem) {
  Told told;
  pipeline::Planned& planned = told.planned;
  if (asked.plan.empty()) {
    pipeline::PlanOptions options;
    options.micro_batch = asked.micro_batch;
    options.split = asked.schedule == "split";
    LANISTA_ASSIGN(planned, pipeline::make_plan(problem, options));
  } else {
    LANISTA_ASSIGN(const json parsed, read_json(asked.plan));
    LANISTA_ASSIGN(planned.plan, in_file(pipeline::read_plan(parsed), asked.plan));
    LANISTA_TRY(in_file(pipeline::check(planned.plan, problem), asked.plan));
    planned.schedule = asked.schedule == "split" ? pipeline::split_backward(planned.plan, problem)
                                                 : pipeline::kfkb(planned.plan, problem);
  }
  if (asked.schedule == "gpipe") {
    planned.plan = pipeline::with_whole_batch_in_flight(planned.plan);
    LANISTA_TRY(pipeline::check(planned.plan, problem));
    planned.schedule = pipeline::gpipe(planned.plan);
  }
  LANISTA_TRY(pipeline::prove(pipeline::lowered(planned.schedule, planned.plan, problem.model), planned.plan));
  LANISTA_ASSIGN(told.course, pipeline::simulate(planned.schedule, planned.plan, problem));
  planned.seconds = told.course.seconds;
  return told;
}

std::string explained(const pipeline::Planned& planned) {
  const auto fixed = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", value);
    return std::string(text);
  };
  std::vector<Row> rows{{"micro-batch", "stages", "depth", "slowest us/sample", "step ms"}};
  for (const pipeline::Finalist& each : planned.finalists) {
    rows.push_back({std::to_string(each.micro_batch), std::to_string(each.stages), std::to_string(each.depth),
                    fixed(1e6 * each.seconds_per_sample), fixed(1e3 * each.seconds)});
  }
  return "looked for with " + std::to_string(planned.probes) + " probes, " + std::to_string(planned.states) +
         " states and " + std::to_string(planned.simulations) +
         " simulations; as a series-parallel graph the model's " + "longest way is " + fixed(planned.loss) +
         " times as long; the best (1F1B):\n" + columns(rows, {true, true, true, true, true});
}

json told_json(const Told& told, const Problem& problem) {
  json out = pipeline::plan_json(told.planned.plan);
  out["seconds"] = told.course.seconds;
  out["samples_per_second"] = static_cast<double>(problem.model.batch) / told.course.seconds;
  out["bound_seconds"] = pipeline::bounds_of(problem).best();
  out["depth"] = pipeline::depth_of(told.planned.plan);
  out["live_samples"] = told.course.live_samples;
  out["peak_bytes"] = told.course.peak_bytes;
  return out;
}

Result<void> written(const std::string& file, const json& value) {
  if (file.empty()) return {};
  return write_atomically(real_file_system(), file, value.dump(1) + "\n");
}

int answer(const PipelineAsked& asked, Problem problem) {
  if (!asked.devices.empty()) {
    const auto text = real_file_system().read(asked.devices);
    if (!text) return report(text.error());
    auto devices = engine::read_devices(*text, asked.devices);
    if (!devices) return report(devices.error());
    problem.devices = *std::move(devices);
  }
  if (problem.devices.classes.empty()) {
    return report({Code::kInvalidArgument, "--devices is required: a file that says what there is", ""});
  }
  const auto told = told_of(asked, problem);
  if (!told) return report(told.error());
  if (const auto done = written(asked.out, pipeline::plan_json(told->planned.plan)); !done) return report(done.error());
  if (const auto done = written(asked.costs, pipeline::model_json(problem.model)); !done) return report(done.error());
  if (asked.json) {
    std::cout << json_line(told_json(*told, problem));
    return kDone;
  }
  std::cout << printable_lines(pipeline::plan_text(told->planned.plan, &problem));
  if (asked.explain && asked.plan.empty()) std::cout << explained(told->planned);
  std::cout << printable_lines(
      pipeline::course_text(told->course, told->planned.schedule, told->planned.plan, problem));
  if (!problem.devices.note.empty()) std::cout << "devices: " << printable(problem.devices.note) << "\n";
  return kDone;
}

}  // namespace

bool is_pipeline_file(const std::string& file) {
  if (file.ends_with(".json")) return true;
  const auto text = real_file_system().read(file);
  return text && text->starts_with("node");
}

int pipeline_of_file(const PipelineAsked& asked, const std::string& file) {
  auto problem = problem_of_file(asked, file);
  return problem ? answer(asked, *std::move(problem)) : report(problem.error());
}

int pipeline_of_study(const PipelineAsked& asked, const study::StudyConfig& config, const data::DataSpec& data,
                      const mutate::ModelSpace& models) {
  const auto made = [&]() -> Result<Problem> {
    LANISTA_ASSIGN(const auto recipe, study::make_recipe(config, engine::loss_name(config, data), {}));
    const mutate::BaseModel& base = models.bases().front();
    const std::int64_t batch = asked.batch.value_or(recipe.batch);
    const step::StepOptions options{recipe.loss, recipe.optimizer};
    LANISTA_ASSIGN(const auto costs,
                   costs_here(base.graph, models.ops(), options, batch, asked.measure ? kMeasureSeconds : 0));
    const auto slots = step::find_optimizer(recipe.optimizer)->slots.size();
    Problem problem;
    LANISTA_ASSIGN(problem.model,
                   pipeline::model_of(base.graph, models.ops(), batch, 2 + static_cast<double>(slots), costs));
    problem.model.name = base.name;
    if (!asked.measure) return problem;
    const auto measured = measure_again(base.graph, models.ops(), options, problem.model);
    if (!measured && measured.error().code != Code::kUnimplemented) return measured.error();
    if (!measured) std::cerr << "lanista: what is near is not counted: " << one_line(measured.error().text()) << "\n";
    return problem;
  };
  auto problem = made();
  return problem ? answer(asked, *std::move(problem)) : report(problem.error());
}

int show_pipeline_plan(const std::string& file, bool as_json) {
  const auto parsed = read_json(file);
  if (!parsed) return report(parsed.error());
  const auto plan = in_file(pipeline::read_plan(*parsed), file);
  if (!plan) return report(plan.error());
  if (as_json) {
    std::cout << json_line(pipeline::plan_json(*plan));
  } else {
    std::cout << printable_lines(pipeline::plan_text(*plan, nullptr));
  }
  return kDone;
}

}  // namespace lanista::cli
