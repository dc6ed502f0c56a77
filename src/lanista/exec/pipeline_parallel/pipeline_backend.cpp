#include "lanista/exec/pipeline_parallel/pipeline_backend.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "lanista/exec/pipeline_parallel/pipeline_executable.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/pipeline_parallel/stage_process_pool.h"
#include "lanista/exec/program/executable.h"
#include "lanista/exec/program/operator_tables.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::runtime {
namespace {

// Seconds from the end of a pass to the begin of another thread's, and the gain that a plan must promise. They apply
// only if the user leaves the number of ranks open.
constexpr double kTransferSeconds = 20e-6, kMinGain = 1.2;
constexpr double kRequestedTransferSeconds = 1e-7;

constexpr double kUnlimitedBytes = 1e18;
constexpr std::array kMemoryFractions{1.0, 0.75, 0.5};  // of a rank's bytes

Result<void> check_parts(const program::ProgramOptions& options) {
  const std::int64_t parts = options.shards * options.accumulate;
  if (std::min(options.shards, options.accumulate) > 1) {
    return Error{Code::kInvalidArgument,
                 "train.shards is " + std::to_string(options.shards) + " and train.accumulate is " +
                     std::to_string(options.accumulate) + "; a pipeline needs 1 for one of the two",
                 "run.pipeline"};
  }
  if (options.max_batch % parts == 0) return {};
  return Error{Code::kInvalidArgument,
               "a batch of " + std::to_string(options.max_batch) + " cannot be divided into " + std::to_string(parts) +
                   " equal micro-batches (train.shards, train.accumulate); allowed are divisors of the batch",
               "run.pipeline"};
}

// The planner's input: a step and the size of its micro-batches.
struct PlanRequest {
  PlannedModel planned;
  std::int64_t micro_batch = 0;
};
Result<PlanRequest> plan_request_of(const autodiff::TrainingStep& train, const program::ProgramOptions& options) {
  const program::OperatorTables ops(options);
  const auto slots = static_cast<double>(autodiff::find_optimizer(train.options.optimizer)->slots.size());
  PlanRequest all;
  LANISTA_ASSIGN(all.planned, planned_step(train, ops.step_ops(), options.max_batch, 3 + slots));
  all.micro_batch = options.max_batch / (options.shards * options.accumulate);
  return all;
}

// Plans stages for `devices`. Expected times are those of `expected`, which include transfers. Nothing if the plan
// promises too little.
Result<std::optional<program::Stages>> plan_stages(const PlanRequest& of, pipeline::Devices devices,
                                                   pipeline::Devices expected, bool is_asked) {
  const pipeline::Problem problem{of.planned.model, std::move(devices)};
  LANISTA_ASSIGN(const ChosenPlan best, chosen_plan(problem, of.micro_batch));
  if (best.plan.stages.size() == 1) return std::optional<program::Stages>();
  LANISTA_ASSIGN(const auto simulated, pipeline::simulate(best.schedule, best.plan, problem, false));
  double alone = 0;
  for (const double seconds : simulated.busy_seconds) alone += seconds;
  if (!is_asked && alone < kMinGain * simulated.seconds) return std::optional<program::Stages>();
  const pipeline::Problem expected_problem{of.planned.model, std::move(expected)};
  LANISTA_ASSIGN(program::Stages stages,
                 executable_stages(best.plan, best.schedule, expected_problem, of.planned.nodes));
  return std::optional<program::Stages>(std::move(stages));
}

// Whether other processes can compile the step: it has a model, with shipped operators only.
bool can_be_sent(const program::ProgramOptions& options) {
  if (options.model == nullptr) return false;
  const graph::OpTable& shipped = graph::builtin_ops();
  const auto is_shipped = [&](graph::NodeId id) { return shipped.find(options.model->node(id).op) != nullptr; };
  return std::ranges::all_of(options.model->topo(), is_shipped);
}

StageTask task_of(const autodiff::TrainingStep& train, const program::ProgramOptions& options,
                  const program::Stages& stages, std::string isa) {
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

// Returns the level of instructions, which CPU backends have at the end of their names.
std::string isa_level_of(const program::Backend& backend) {
  const std::string_view name = backend.name();
  return std::string(name.substr(name.rfind(' ') + 1));
}

bool can_be_partitioned(const autodiff::TrainingStep* train, const program::ProgramOptions& options) {
  return train != nullptr && options.threads == 1 && train->renewed.empty() && !train->gradient.empty();
}

}  // namespace

Result<std::unique_ptr<program::Executable>> PipelineBackend::compile(const autodiff::TrainingStep* train,
                                                                      const autodiff::InferenceStep& infer,
                                                                      const program::ProgramOptions& options) const {
  auto made = try_compile(train, infer, options);
  if (made || made.error().code != Code::kResourceExhausted || !can_be_partitioned(train, options)) return made;
  const std::int64_t bytes = options_.rank_bytes > 0     ? options_.rank_bytes
                             : options.budget != nullptr ? options.budget->limit()
                                                         : std::numeric_limits<std::int64_t>::max();
  Error error = made.error();
  error.message += memory_advice(*train, options, bytes);
  return error;
}

// Links of unknown speed cost almost nothing if the user sets the number of ranks.
pipeline::Devices PipelineBackend::devices(std::int64_t ranks, double bytes) const {
  return options_.ranks > 0 && !has_link_speed() ? single_devices(ranks, kRequestedTransferSeconds, bytes)
                                                 : expected(ranks, bytes);
}

pipeline::Devices PipelineBackend::expected(std::int64_t ranks, double bytes) const {
  return has_link_speed() ? star_devices(ranks, options_.link, bytes) : single_devices(ranks, kTransferSeconds, bytes);
}

// Returns advice on how many ranks suffice, by a plan, if one has too little memory for the step.
std::string PipelineBackend::memory_advice(const autodiff::TrainingStep& train, const program::ProgramOptions& options,
                                           std::int64_t bytes) const {
  if (!check_parts(options)) return "";
  const auto of = plan_request_of(train, options);
  if (!of) return "";
  for (std::int64_t ranks = 1; ranks <= std::int64_t{pipeline::kMaxDeviceClasses}; ++ranks) {
    const auto capacity = static_cast<double>(bytes);
    const auto stages = plan_stages(*of, devices(ranks, capacity), expected(ranks, capacity), true);
    if (!stages) continue;
    if (ranks == 1) return "";  // other programs use the memory
    return "; the planner finds that " + std::to_string(ranks) +
           " ranks suffice (run.pipeline: " + std::to_string(ranks) + ", run.isolation: process)";
  }
  return "; the planner finds that " + std::to_string(pipeline::kMaxDeviceClasses) +
         " ranks of a pipeline do not suffice either; try a smaller data.batch or train.accumulate";
}

Result<std::unique_ptr<program::Executable>> PipelineBackend::try_compile(
    const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
    const program::ProgramOptions& options) const {
  if (!can_be_partitioned(train, options) || options_.ranks == 1) return inner_.compile(train, infer, options);
  LANISTA_TRY(check_parts(options));
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t ranks =
      std::min<std::int64_t>(options_.ranks > 0 ? options_.ranks : cores, pipeline::kMaxDeviceClasses);
  if (options_.process_pool == nullptr || !can_be_sent(options))
    return compile_for_ranks(*train, infer, options, ranks);
  struct Program {
    autodiff::TrainingStep train;
    autodiff::InferenceStep infer;
    graph::Graph model;
    program::ProgramOptions options;
  };
  LANISTA_ASSIGN(auto machine, compile_for_ranks(*train, infer, options, ranks));
  const auto own = std::make_shared<Program>(Program{*train, infer, *options.model, options});
  own->options.model = &own->model;
  own->options.operators = nullptr;
  own->options.step_ops = nullptr;
  auto again = [this, own](std::int64_t fewer) {
    return compile_for_ranks(own->train, own->infer, own->options, fewer);
  };
  return std::unique_ptr<program::Executable>(
      std::make_unique<PipelineExecutable>(std::move(machine), ranks, std::move(again)));
}

Result<std::unique_ptr<program::Executable>> PipelineBackend::compile_for_ranks(const autodiff::TrainingStep& train,
                                                                                const autodiff::InferenceStep& infer,
                                                                                const program::ProgramOptions& options,
                                                                                std::int64_t ranks) const {
  if (ranks == 1) return inner_.compile(&train, infer, options);
  const bool apart = options_.process_pool != nullptr && can_be_sent(options);
  const std::int64_t rank_bytes =
      options_.rank_bytes > 0 || !apart || options.budget == nullptr ? options_.rank_bytes : options.budget->limit();
  LANISTA_ASSIGN(const PlanRequest of, plan_request_of(train, options));
  // The bytes of a rank are exact only after layout. If they exceed the limit, the next plan assumes less memory.
  Result<std::unique_ptr<program::Executable>> made = Error{};
  for (const double share : kMemoryFractions) {
    const double bytes = rank_bytes > 0 ? share * static_cast<double>(rank_bytes) : kUnlimitedBytes;
    auto stages = plan_stages(of, devices(ranks, bytes), expected(ranks, bytes), options_.ranks > 0);
    if (!stages) return made.error().message.empty() ? stages.error() : made.error();
    program::ProgramOptions own = options;
    if (*stages) {
      (*stages)->rank_bytes = rank_bytes;
      (*stages)->has_separate_memory = apart && options_.process_pool->have_separate_memory();
      if (apart)
        (*stages)->remote_ranks = options_.process_pool->ranks(task_of(train, options, **stages, isa_level_of(inner_)));
      own.stages = &**stages;
    }
    made = inner_.compile(&train, infer, own);
    if (made || made.error().code != Code::kResourceExhausted || rank_bytes == 0) return made;
  }
  return made;
}

}  // namespace lanista::runtime
