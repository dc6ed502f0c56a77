#include "lanista/exec/pipeline_parallel/pipeline_backend.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "lanista/model/graph/text.h"
#include "lanista/exec/program/machine.h"
#include "lanista/exec/program/program_ops.h"
#include "lanista/plan/pipeline/simulate.h"
#include "lanista/exec/pipeline_parallel/pipeline_machine.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/pipeline_parallel/stage_crews.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::runtime {
namespace {

// From the end of a pass to the beginning of another thread's, in seconds, and what a plan must promise: where nobody
// asked for threads. Who does gets them.
constexpr double kHandOver = 20e-6, kLeastGain = 1.2;
constexpr double kHandOverAsked = 1e-7;

constexpr double kAnyBytes = 1e18;
constexpr std::array kHopes{1.0, 0.75, 0.5};  // of a place's bytes

Result<void> check_parts(const nn::ProgramOptions& options) {
  const std::int64_t parts = options.shards * options.accumulate;
  if (std::min(options.shards, options.accumulate) > 1) {
    return Error{Code::kInvalidArgument,
                 "shards of several parts (train.shards " + std::to_string(options.shards) + ", train.accumulate " +
                     std::to_string(options.accumulate) + ") have no pipeline; one of the two is 1",
                 "run.pipeline"};
  }
  if (options.max_batch % parts == 0) return {};
  return Error{Code::kInvalidArgument,
               "a batch of " + std::to_string(options.max_batch) + " does not come in " + std::to_string(parts) +
                   " equal micro-batches (train.shards, train.accumulate); allowed are numbers that divide it",
               "run.pipeline"};
}

// What a planner is asked: such a step, on that many places with that much memory.
struct Asked {
  PlannedModel planned;
  std::int64_t micro_batch = 0;
};
Result<Asked> asked(const step::TrainingStep& train, const nn::ProgramOptions& options) {
  const nn::ProgramOps ops(options);
  const auto slots = static_cast<double>(step::find_optimizer(train.options.optimizer)->slots.size());
  Asked all;
  LANISTA_ASSIGN(all.planned, planned_step(train, ops.step_ops(), options.max_batch, 3 + slots));
  all.micro_batch = options.max_batch / (options.shards * options.accumulate);
  return all;
}

// Planned on some devices; what is expected of the plan is of others, which know what hand-overs take. None where the
// plan promises too little.
Result<std::optional<nn::Stages>> plan_stages(const Asked& of, pipeline::Devices devices, pipeline::Devices expected,
                                              bool is_asked) {
  const pipeline::Problem problem{of.planned.model, std::move(devices)};
  LANISTA_ASSIGN(const ChosenPlan best, chosen_plan(problem, of.micro_batch));
  if (best.plan.stages.size() == 1) return std::optional<nn::Stages>();
  LANISTA_ASSIGN(const auto course, pipeline::simulate(best.schedule, best.plan, problem, false));
  double alone = 0;
  for (const double seconds : course.busy_seconds) alone += seconds;
  if (!is_asked && alone < kLeastGain * course.seconds) return std::optional<nn::Stages>();
  const pipeline::Problem told{of.planned.model, std::move(expected)};
  LANISTA_ASSIGN(nn::Stages stages, stages_of(best.plan, best.schedule, told, of.planned.nodes));
  return std::optional<nn::Stages>(std::move(stages));
}

// A step that processes can make anew: told by its model and operators that all have.
bool can_be_told(const nn::ProgramOptions& options) {
  if (options.model == nullptr) return false;
  const graph::OpTable& shipped = graph::builtin_ops();
  const auto is_shipped = [&](graph::NodeId id) { return shipped.find(options.model->node(id).op) != nullptr; };
  return std::ranges::all_of(options.model->topo(), is_shipped);
}

StageTask task_of(const step::TrainingStep& train, const nn::ProgramOptions& options, const nn::Stages& stages,
                  std::string isa) {
  return {.model = graph::to_text(*options.model),
          .step = train.options,
          .build = {},
          .isa = std::move(isa),
          .precision = options.precision,
          .max_batch = options.max_batch,
          .shards = options.shards,
          .accumulate = options.accumulate,
          .stages = stages,
          .memory = {},
          .digest = {}};
}

// Of instructions, as the CPU's backends have it in their names.
std::string level_of(const nn::Backend& backend) {
  const std::string_view name = backend.name();
  return std::string(name.substr(name.rfind(' ') + 1));
}

bool can_be_cut(const step::TrainingStep* train, const nn::ProgramOptions& options) {
  return train != nullptr && options.threads == 1 && train->renewed.empty() && !train->gradient.empty();
}

}  // namespace

Result<std::unique_ptr<nn::Machine>> PipelineBackend::compile(const step::TrainingStep* train,
                                                              const step::InferenceStep& infer,
                                                              const nn::ProgramOptions& options) const {
  auto made = try_compile(train, infer, options);
  if (made || made.error().code != Code::kResourceExhausted || !can_be_cut(train, options)) return made;
  const std::int64_t bytes = how_.place_bytes > 0        ? how_.place_bytes
                             : options.budget != nullptr ? options.budget->limit()
                                                         : std::numeric_limits<std::int64_t>::max();
  Error error = made.error();
  error.message += advice(*train, options, bytes);
  return error;
}

// Links that nobody knows cost nothing: who asks for places gets them.
pipeline::Devices PipelineBackend::devices(std::int64_t places, double bytes) const {
  return how_.places > 0 && !knows_links() ? single_devices(places, kHandOverAsked, bytes) : expected(places, bytes);
}

pipeline::Devices PipelineBackend::expected(std::int64_t places, double bytes) const {
  return knows_links() ? devices_around_one(places, how_.link, bytes) : single_devices(places, kHandOver, bytes);
}

// How many places would do, where one is too small for the step, by a plan.
std::string PipelineBackend::advice(const step::TrainingStep& train, const nn::ProgramOptions& options,
                                    std::int64_t bytes) const {
  if (!check_parts(options)) return "";
  const auto of = asked(train, options);
  if (!of) return "";
  for (std::int64_t places = 1; places <= std::int64_t{pipeline::kMostClasses}; ++places) {
    const auto room = static_cast<double>(bytes);
    const auto stages = plan_stages(*of, devices(places, room), expected(places, room), true);
    if (!stages) continue;
    if (places == 1) return "";  // others are in its way
    return "; by the plan " + std::to_string(places) + " places would do (run.pipeline: " + std::to_string(places) +
           ", run.isolation: process)";
  }
  return "; by the plan " + std::to_string(pipeline::kMostClasses) +
         " places of a pipeline would not do either; a smaller data.batch or train.accumulate might";
}

Result<std::unique_ptr<nn::Machine>> PipelineBackend::try_compile(const step::TrainingStep* train,
                                                                  const step::InferenceStep& infer,
                                                                  const nn::ProgramOptions& options) const {
  if (!can_be_cut(train, options) || how_.places == 1) return inner_.compile(train, infer, options);
  LANISTA_TRY(check_parts(options));
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t places = std::min<std::int64_t>(how_.places > 0 ? how_.places : cores, pipeline::kMostClasses);
  if (how_.crews == nullptr || !can_be_told(options)) return at_places(*train, infer, options, places);
  struct Program {
    step::TrainingStep train;
    step::InferenceStep infer;
    graph::Graph model;
    nn::ProgramOptions options;
  };
  LANISTA_ASSIGN(auto machine, at_places(*train, infer, options, places));
  const auto own = std::make_shared<Program>(Program{*train, infer, *options.model, options});
  own->options.model = &own->model;
  own->options.operators = nullptr;
  own->options.step_ops = nullptr;
  auto again = [this, own](std::int64_t fewer) { return at_places(own->train, own->infer, own->options, fewer); };
  return std::unique_ptr<nn::Machine>(std::make_unique<PipelineMachine>(std::move(machine), places, std::move(again)));
}

Result<std::unique_ptr<nn::Machine>> PipelineBackend::at_places(const step::TrainingStep& train,
                                                                const step::InferenceStep& infer,
                                                                const nn::ProgramOptions& options,
                                                                std::int64_t places) const {
  if (places == 1) return inner_.compile(&train, infer, options);
  const bool apart = how_.crews != nullptr && can_be_told(options);
  const std::int64_t room =
      how_.place_bytes > 0 || !apart || options.budget == nullptr ? how_.place_bytes : options.budget->limit();
  LANISTA_ASSIGN(const Asked of, asked(train, options));
  // What places take is known when they are laid out; a plan that was too hopeful is made with less.
  Result<std::unique_ptr<nn::Machine>> made = Error{};
  for (const double share : kHopes) {
    const double bytes = room > 0 ? share * static_cast<double>(room) : kAnyBytes;
    auto stages = plan_stages(of, devices(places, bytes), expected(places, bytes), how_.places > 0);
    if (!stages) return made.error().message.empty() ? stages.error() : made.error();
    nn::ProgramOptions own = options;
    if (*stages) {
      (*stages)->place_bytes = room;
      (*stages)->apart = apart && how_.crews->are_apart();
      if (apart) (*stages)->elsewhere = how_.crews->places(task_of(train, options, **stages, level_of(inner_)));
      own.stages = &**stages;
    }
    made = inner_.compile(&train, infer, own);
    if (made || made.error().code != Code::kResourceExhausted || room == 0) return made;
  }
  return made;
}

}  // namespace lanista::runtime
