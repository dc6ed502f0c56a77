// Compilation of programs on the CPU: options, memory and sections. lane_steps.cpp, lane_batch_parts.cpp and
// lane_predictions.cpp run them.
#include "lanista/exec/program/lane_program.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <type_traits>

#include "lanista/base/check.h"
#include "lanista/exec/pipeline_parallel/stage_partition.h"
#include "lanista/exec/program/commit.h"
#include "lanista/exec/program/operator_tables.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/sections.h"

namespace lanista::program {
namespace {

Error bad_options(std::string message) {
  return {.code = Code::kInvalidArgument, .message = "program options: " + std::move(message), .where = {}};
}

Result<void> check_options(kernels::Isa isa, const ProgramOptions& options) {
  if (options.lanes < 1) return bad_options("lanes is " + std::to_string(options.lanes) + "; it must be at least 1");
  if (options.max_batch < 1) {
    return bad_options("max_batch is " + std::to_string(options.max_batch) + "; it must be at least 1");
  }
  if (options.threads < 1) {
    return bad_options("threads is " + std::to_string(options.threads) + "; it must be at least 1");
  }
  const auto isas = kernels::available_isas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end()) {
    return bad_options("this CPU has no " + std::string(kernels::isa_name(isa)));
  }
  for (const auto& [name, count] : {std::pair("shards", options.shards), std::pair("accumulate", options.accumulate)}) {
    if (count >= 1 && count <= kMaxBatchParts) continue;
    return bad_options(std::string(name) + " is " + std::to_string(count) + "; it must be from 1 to " +
                       std::to_string(kMaxBatchParts));
  }
  return {};
}

// Stages have their own threads and parts.
Result<void> check_stages(const autodiff::TrainingStep& train, const ProgramOptions& options) {
  LANISTA_TRY(check(*options.stages, train));
  const std::int64_t pieces = options.stages->pieces();
  if (options.threads != 1) {
    return bad_options("threads is " + std::to_string(options.threads) + "; it must be 1 for a model in stages");
  }
  if (options.shards * options.accumulate == pieces && std::min(options.shards, options.accumulate) == 1) return {};
  return bad_options("shards is " + std::to_string(options.shards) + " and accumulate " +
                     std::to_string(options.accumulate) + "; one must be 1 and the other " + std::to_string(pieces) +
                     ", the number of the stages' micro-batches");
}

// A buffer has one new value a step. So a batch in parts needs kernels that merge the parts' values.
template <class T>
Result<void> check_buffers(const autodiff::TrainingStep& train, const LoweredGraph& lowered,
                           const KernelTable<T>& table) {
  for (const auto& [buffer, value] : train.renewed) {
    const graph::NodeId source = lowered.source(value).node;
    for (const KernelCall& call : lowered.calls) {
      if (call.id != source || table.find(call.kernel)->second.batch_reduction) continue;
      return Error{.code = Code::kUnimplemented,
                   .message = "operator '" + call.op +
                              "' renews a buffer, and its kernel does not support a batch in parts " +
                              "(train.shards, train.accumulate)",
                   .where = {}};
    }
  }
  return {};
}

}  // namespace

template <class T>
void LaneProgram<T>::BatchInput::plan(const graph::ValueType& type, std::int64_t max_batch) {
  reorder = Reorder::to_layout(type.shape, value_layout(type.shape));
  tokens = type.dtype == graph::DType::kIndex;
  if (tokens) {
    stride = bytes_of<std::int32_t>(reorder.elements(1));
    bytes = max_batch * stride;
    return;
  }
  stride = bytes_of<T>(reorder.elements(1));
  const bool as_is = std::is_same_v<T, float> && reorder.is_identity();
  bytes = as_is ? 0 : max_batch * stride;
}

// The plan of a program, before memory is allocated.
template <class T>
struct LaneProgram<T>::Plan {
  std::shared_ptr<const StateFormat> state_format;
  Section<T> train, infer;
  CommitSection<T> commit;
  Address loss, prediction;
  Reorder prediction_out;
  ElementCount prediction_count;
  std::int64_t classes = 0, positions = 1, row = 1;
  Metrics loss_only;
  BatchInput input, target;
  BatchSplit cut;
  std::unique_ptr<StageRunner<T>> stages;
  std::optional<JointLinear<T>> joint;
  std::vector<PlanLine> lines;
  std::int64_t arena_stride = 0;
  std::int64_t scratch_offset = 0;
  std::int64_t gradient_offset = 0;
  std::int64_t gradient_stride = 0;
  std::int64_t gradient_count = 1;
  std::int64_t new_buffer_offset = 0;
  std::int64_t value_offset = 0;
  std::int64_t workspace_bytes = 0;
  std::int64_t shard_bytes = 0;
  std::int64_t joint_products_bytes = 0, joint_lane_bytes = 0;

  // Bytes for the joint layer of `lanes` lanes; 0 without one.
  std::int64_t joint_bytes(std::int64_t lanes) const { return joint_products_bytes + lanes * joint_lane_bytes; }

  // With batch reductions each part has an arena and gradients of its own. Without them parts run one after the other,
  // and gradients are added to those of the shard, then to those of the step.
  void plan_memory_layout(const ProgramOptions& options) {
    const bool waiting = !train.batch_reductions.empty();
    const std::int64_t parts = waiting ? cut.num_parts(options.max_batch) : 1;
    gradient_count = waiting ? parts : 1 + (cut.shards > 1 ? 1 : 0) + (cut.pieces > 1 ? 1 : 0);
    arena_stride = align_up(std::max(train.arena_bytes, infer.arena_bytes));
    std::int64_t num_values = 0;
    for (const BatchReductionCall<T>& each : train.batch_reductions)
      num_values = std::max(num_values, each.batch_reduction.num_values);

    scratch_offset = parts * arena_stride;
    input.offset = scratch_offset + align_up(bytes_of<T>(std::max(train.scratch, infer.scratch)));
    target.offset = input.offset + align_up(input.bytes);
    gradient_offset = target.offset + align_up(target.bytes);
    gradient_stride = align_up(bytes_of<T>(state_format->layout().parameters));
    new_buffer_offset = gradient_offset + gradient_count * gradient_stride;
    value_offset = new_buffer_offset + align_up(bytes_of<T>(state_format->layout().buffers));
    workspace_bytes = value_offset + align_up(3 * bytes_of<double>(num_values));
    if (joint) {
      joint_products_bytes = align_up(bytes_of<T>(joint->elements(options.lanes, options.max_batch)));
      joint_lane_bytes = value_offset - new_buffer_offset + gradient_stride;
    }
    shard_bytes = std::max(gradient_stride, align_up(bytes_of<double>(num_values))) + align_up(bytes_of<double>(1));
  }
};

template <class T>
Result<typename LaneProgram<T>::Plan> LaneProgram<T>::plan(kernels::Isa isa, const autodiff::TrainingStep* train,
                                                           const autodiff::InferenceStep& infer,
                                                           const ProgramOptions& options) {
  LANISTA_TRY(check_options(isa, options));
  const Stages* const stages = train != nullptr ? options.stages : nullptr;
  if (stages != nullptr) LANISTA_TRY(check_stages(*train, options));
  const BatchSplit cut =
      stages != nullptr ? BatchSplit{1, stages->pieces()} : BatchSplit{options.shards, options.accumulate};
  const OperatorTables all(options);
  const Operators& operators = all.operators();
  const graph::OpTable& ops = all.step_ops();
  KernelTable<T> table = kernel_table<T>();
  add_opaque_kernels(operators, table);
  const SectionInputs<T> inputs{.fixed_addresses = {},
                                .layouts = {},
                                .live_out = {},
                                .ops = ops,
                                .table = table,
                                .kernels = kernels::kernels<T>(isa),
                                .max_batch = cut.largest_part(options.max_batch),
                                .is_split = !cut.is_whole(),
                                .threads = static_cast<std::size_t>(options.threads),
                                .line = common_line<T>(isa, options)};
  const std::vector<Fusion> fusions = fusions_of(table);
  const LoweringRules lowering{ops, fusions};
  const StagePartition stage_cut = stages != nullptr ? partition_of(*stages, *train) : StagePartition{};
  LoweredGraph train_calls;
  if (train != nullptr) {
    std::set<graph::Port> kept = outputs_read_after(*train);
    kept.insert(stage_cut.edge_values.begin(), stage_cut.edge_values.end());
    train_calls = lower(train->graph, train->types, train->compute, kept, lowering);
  }
  const LoweredGraph infer_calls = lower(infer.graph, infer.types, infer.compute, {infer.prediction}, lowering);
  LANISTA_TRY(check_kernels(train_calls, inputs));
  LANISTA_TRY(check_kernels(infer_calls, inputs));
  if (train != nullptr && stages == nullptr && !cut.is_whole()) LANISTA_TRY(check_buffers(*train, train_calls, table));

  Plan plan;
  plan.cut = cut;
  LANISTA_ASSIGN(StateLayout layout, plan_state_layout(train, train_calls, infer, infer_calls,
                                                       [&](const KernelCall& call, std::size_t input) {
                                                         return required_layout(table, call, input);
                                                       }));
  const graph::Shape& prediction = infer.types.at(infer.prediction).shape;
  plan.input.plan(infer.types.at(infer.input), options.max_batch);
  if (train != nullptr) {
    if (stages == nullptr) plan.train = train_section<T>(*train, train_calls, layout, inputs);
    plan.loss_only.loss = train->options.loss;
    const graph::ValueType& target = train->types.at(train->target);
    if (target.dtype == graph::DType::kReal) {
      plan.target.plan(target, options.max_batch);
    } else {
      plan.classes = prediction.dims.back();
      plan.positions = target.shape.elements_per_sample();
      plan.target.stride = bytes_of<std::int32_t>(plan.positions);
    }
    if (stages != nullptr) {
      SectionInputs<T> whole = inputs;
      whole.max_batch = options.max_batch;
      LANISTA_ASSIGN(plan.stages, StageRunner<T>::plan({*stages, stage_cut, *train, train_calls, layout, whole,
                                                        plan.input.stride, plan.target.stride}));
      plan.train = plan.stages->properties();
    } else {
      plan.loss = plan.train.addresses.at(train_calls.source(train->loss));
      if (cut.is_whole() && options.lanes > 1)
        plan.joint = JointLinear<T>::find(train_calls, plan.train, inputs, kernels::vector_bytes(isa));
    }
    for (LaneAttr& number : plan.train.lane_attrs) number.node = train->origin.at(number.node);
  }
  plan.row = prediction.dims.back();
  plan.infer = infer_section<T>(infer, infer_calls, layout, inputs);
  plan.state_format = std::make_shared<const StateFormat>(std::move(layout), sizeof(T));
  plan.lines = plan.train.plan;
  if (train != nullptr) {
    LANISTA_ASSIGN(plan.commit, commit_section(*train, *plan.state_format, inputs));
    plan.lines.push_back(plan.commit.line);
  }
  plan.lines.insert(plan.lines.end(), plan.infer.plan.begin(), plan.infer.plan.end());
  plan.prediction = plan.infer.addresses.at(infer_calls.source(infer.prediction));
  plan.prediction_out = Reorder::from_layout(prediction, value_layout(prediction));
  plan.prediction_count = ElementCount(prediction);
  plan.plan_memory_layout(options);
  return plan;
}

template <class T>
Result<std::unique_ptr<StageRunner<T>>> LaneProgram<T>::compile_stage_runner(kernels::Isa isa,
                                                                             const autodiff::TrainingStep& train,
                                                                             const autodiff::InferenceStep& infer,
                                                                             const ProgramOptions& options) {
  LANISTA_ASSIGN(Plan made, plan(isa, &train, infer, options));
  return std::move(made.stages);
}

template <class T>
Result<std::unique_ptr<LaneProgram<T>>> LaneProgram<T>::compile(kernels::Isa isa, const autodiff::TrainingStep* train,
                                                                const autodiff::InferenceStep& infer,
                                                                const ProgramOptions& options) {
  LANISTA_ASSIGN(Plan plan, LaneProgram::plan(isa, train, infer, options));
  const std::int64_t workspaces = options.threads * plan.workspace_bytes + plan.joint_bytes(options.lanes) +
                                  (plan.stages ? plan.stages->bytes() : 0);
  MemoryBudget::Reservation reservation;
  if (options.budget != nullptr) {
    LANISTA_ASSIGN(reservation, options.budget->reserve(workspaces));
  }
  try {
    ExecutableProperties properties{.lanes = options.lanes,
                                    .prediction_size = plan.prediction_count.per_sample,
                                    .trains = train != nullptr,
                                    .state_format = plan.state_format,
                                    .lane_attrs = plan.train.lane_attrs,
                                    .plan = std::move(plan.lines),
                                    .shards = plan.stages ? 1 : plan.cut.shards,
                                    .shard_bytes = plan.shard_bytes};
    if (plan.stages) plan.stages->start();
    return std::unique_ptr<LaneProgram>(
        new LaneProgram(std::move(properties), isa, std::move(plan), options, std::move(reservation)));
  } catch (const std::system_error& error) {
    return Error{.code = Code::kResourceExhausted,
                 .message = std::string("the system cannot start a thread for every rank: ") + error.what(),
                 .where = {}};
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for a program of " + std::to_string(workspaces) + " bytes",
                 .where = {}};
  }
}

template <class T>
LaneProgram<T>::LaneProgram(ExecutableProperties properties, kernels::Isa isa, Plan plan, const ProgramOptions& options,
                            MemoryBudget::Reservation reservation)
    : SingleObjectExecutable(std::move(properties)),
      isa_(isa),
      options_(options),
      batch_split_(plan.cut),
      kernels_(&kernels::kernels<T>(isa)),
      train_(std::move(plan.train)),
      infer_(std::move(plan.infer)),
      commit_(std::move(plan.commit)),
      loss_(plan.loss),
      prediction_(plan.prediction),
      prediction_out_(plan.prediction_out),
      prediction_count_(plan.prediction_count),
      classes_(plan.classes),
      positions_(plan.positions),
      row_size_(plan.row),
      loss_only_(std::move(plan.loss_only)),
      input_(plan.input),
      target_(plan.target),
      scratch_offset_(plan.scratch_offset),
      arena_stride_(plan.arena_stride),
      gradient_offset_(plan.gradient_offset),
      gradient_stride_(plan.gradient_stride),
      gradient_count_(plan.gradient_count),
      new_buffer_offset_(plan.new_buffer_offset),
      value_offset_(plan.value_offset),
      workspace_bytes_(plan.workspace_bytes),
      joint_bytes_(plan.joint_bytes(options.lanes)),
      reservation_(std::move(reservation)),
      state_format_(std::move(plan.state_format)),
      states_(static_cast<std::size_t>(options.lanes)),
      memory_(options.threads * plan.workspace_bytes),
      stages_(std::move(plan.stages)),
      thread_pool_(options.threads) {
  if (plan.joint) {
    const auto lanes = static_cast<std::size_t>(options.lanes);
    joint_ = std::make_unique<JointLanes>(JointLanes{.layer = *plan.joint,
                                                     .products_bytes = plan.joint_products_bytes,
                                                     .lane_bytes = plan.joint_lane_bytes,
                                                     .memory = AlignedBytes(plan.joint_bytes(options.lanes)),
                                                     .contexts = std::vector<RunContext<T>>(lanes),
                                                     .losses = std::vector<double>(lanes),
                                                     .numbers = {}});
    joint_->numbers.reserve(lanes);
  }
  options_.stages = nullptr;  // only valid while compiling
  options_.model = nullptr;
}

template <class T>
std::int64_t LaneProgram<T>::bytes() const {
  const auto held = std::ranges::count_if(states_, [](const LaneState& state) { return static_cast<bool>(state); });
  return options_.threads * workspace_bytes_ + joint_bytes_ + (stages_ ? stages_->bytes() : 0) +
         held * state_format_->bytes();
}

template <class T>
std::string LaneProgram<T>::describe() const {
  std::string text =
      std::string(sizeof(T) == 4 ? "float32" : "float64") + " " + std::string(kernels::isa_name(isa_)) + ", " +
      std::to_string(options_.lanes) + " lanes, up to " + std::to_string(options_.max_batch) + " samples, " +
      (batch_split_.is_whole()
           ? ""
           : std::to_string(batch_split_.shards) + " shards of " + std::to_string(batch_split_.pieces) + " parts, ") +
      std::to_string(bytes()) + " bytes (arena " + std::to_string(std::max(train_.arena_bytes, infer_.arena_bytes)) +
      ")\n";
  for (const StateTensorLayout& item : state_format_->layout().items) {
    text += "state " + item.tensor.name + " " + item.tensor.shape.text() + " " + std::string(layout_name(item.layout)) +
            " " + (item.tensor.trained ? "parameter+" : "buffer+") + std::to_string(bytes_of<T>(item.range.begin)) +
            "\n";
  }
  if (joint_) {
    text += "calls " + std::to_string(joint_->layer.forward_call) + " and " + std::to_string(joint_->layer.grad_call) +
            " are one product for all lanes with one batch\n";
  }
  for (const PlanLine& line : properties().plan) text += line.text() + "\n";
  return text;
}

template class LaneProgram<float>;
template class LaneProgram<double>;

}  // namespace lanista::program
