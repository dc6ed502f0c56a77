// How programs on the CPU are made: options, memory, sections. What they do is in lane_steps.cpp, lane_parts.cpp and
// lane_predictions.cpp.
#include "lanista/exec/program/lane_program.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <type_traits>

#include "lanista/base/check.h"
#include "lanista/exec/program/commit.h"
#include "lanista/exec/program/plan_lines.h"
#include "lanista/exec/program/program_ops.h"
#include "lanista/exec/program/sections.h"
#include "lanista/exec/pipeline_parallel/stage_cut.h"

namespace lanista::nn {
namespace {

Error bad_options(std::string message) {
  return {.code = Code::kInvalidArgument, .message = "program options: " + std::move(message), .where = {}};
}

Result<void> check_options(kernels::Isa isa, const ProgramOptions& options) {
  if (options.lanes < 1) return bad_options("lanes is " + std::to_string(options.lanes) + ", but must be at least 1");
  if (options.max_batch < 1) {
    return bad_options("max_batch is " + std::to_string(options.max_batch) + ", but must be at least 1");
  }
  if (options.threads < 1) {
    return bad_options("threads is " + std::to_string(options.threads) + ", but must be at least 1");
  }
  const auto isas = kernels::available_isas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end()) {
    return bad_options("this CPU has no " + std::string(kernels::isa_name(isa)));
  }
  for (const auto& [name, count] : {std::pair("shards", options.shards), std::pair("accumulate", options.accumulate)}) {
    if (count >= 1 && count <= kMaxParts) continue;
    return bad_options(std::string(name) + " is " + std::to_string(count) + ", but must be from 1 to " +
                       std::to_string(kMaxParts));
  }
  return {};
}

// Stages have threads and parts of their own.
Result<void> check_stages(const step::TrainingStep& train, const ProgramOptions& options) {
  LANISTA_TRY(check(*options.stages, train));
  const std::int64_t pieces = options.stages->pieces();
  if (options.threads != 1) {
    return bad_options("threads is " + std::to_string(options.threads) + ", but must be 1 where a model is in stages");
  }
  if (options.shards * options.accumulate == pieces && std::min(options.shards, options.accumulate) == 1) return {};
  return bad_options("shards is " + std::to_string(options.shards) + " and accumulate " +
                     std::to_string(options.accumulate) + ", but one must be 1 and the other " +
                     std::to_string(pieces) + ", as many as the stages' micro-batches");
}

// A buffer takes one value a step: only where the parts of a batch agree on it can there be parts.
template <class T>
Result<void> check_buffers(const step::TrainingStep& train, const Lowered& lowered, const KernelTable<T>& table) {
  for (const auto& [buffer, value] : train.renewed) {
    const graph::NodeId source = lowered.source(value).node;
    for (const Call& call : lowered.calls) {
      if (call.id != source || table.find(call.kernel)->second.exchange) continue;
      return Error{.code = Code::kUnimplemented,
                   .message = "operator '" + call.op + "' renews a buffer, and its kernel knows no batch in parts " +
                              "(train.shards, train.accumulate)",
                   .where = {}};
    }
  }
  return {};
}

}  // namespace

template <class T>
void LaneProgram<T>::Feed::plan(const graph::ValueType& type, std::int64_t max_batch) {
  reorder = Reorder::into(type.shape, value_layout(type.shape));
  tokens = type.dtype == graph::DType::kIndex;
  if (tokens) {
    stride = bytes_of<std::int32_t>(reorder.elements(1));
    bytes = max_batch * stride;
    return;
  }
  stride = bytes_of<T>(reorder.elements(1));
  const bool as_is = std::is_same_v<T, float> && reorder.trivial();
  bytes = as_is ? 0 : max_batch * stride;
}

// Everything that is known before memory is asked for.
template <class T>
struct LaneProgram<T>::Plan {
  std::shared_ptr<const StateKind> kind;
  Section<T> train, infer;
  CommitSection<T> commit;
  Place loss, prediction;
  Reorder prediction_out;
  Count prediction_count;
  std::int64_t classes = 0, positions = 1, row = 1;
  Metrics loss_alone;
  Feed input, target;
  Cut cut;
  std::unique_ptr<StageRun<T>> stages;
  std::vector<PlanLine> lines;
  std::int64_t arena_stride = 0;
  std::int64_t scratch_offset = 0;
  std::int64_t gradient_offset = 0;
  std::int64_t gradient_stride = 0;
  std::int64_t gradient_count = 1;
  std::int64_t new_buffer_offset = 0;
  std::int64_t value_offset = 0;
  std::int64_t desk_bytes = 0;
  std::int64_t shard_bytes = 0;

  // Parts that wait for each other's values keep an arena and gradients each. Others come one after the other, and
  // their gradients are added to those of the shard, and these to those of the step.
  void place_memory(std::int64_t max_batch) {
    const bool waiting = !train.exchanges.empty();
    const std::int64_t parts = waiting ? cut.parts(max_batch) : 1;
    gradient_count = waiting ? parts : 1 + (cut.shards > 1 ? 1 : 0) + (cut.pieces > 1 ? 1 : 0);
    arena_stride = align_up(std::max(train.arena_bytes, infer.arena_bytes));
    std::int64_t numbers = 0;
    for (const ExchangeCall<T>& each : train.exchanges) numbers = std::max(numbers, each.exchange.numbers);

    scratch_offset = parts * arena_stride;
    input.offset = scratch_offset + align_up(bytes_of<T>(std::max(train.scratch, infer.scratch)));
    target.offset = input.offset + align_up(input.bytes);
    gradient_offset = target.offset + align_up(target.bytes);
    gradient_stride = align_up(bytes_of<T>(kind->layout().parameters));
    new_buffer_offset = gradient_offset + gradient_count * gradient_stride;
    value_offset = new_buffer_offset + align_up(bytes_of<T>(kind->layout().buffers));
    desk_bytes = value_offset + align_up(3 * bytes_of<double>(numbers));
    shard_bytes = std::max(gradient_stride, align_up(bytes_of<double>(numbers))) + align_up(bytes_of<double>(1));
  }
};

template <class T>
Result<typename LaneProgram<T>::Plan> LaneProgram<T>::plan(kernels::Isa isa, const step::TrainingStep* train,
                                                           const step::InferenceStep& infer,
                                                           const ProgramOptions& options) {
  LANISTA_TRY(check_options(isa, options));
  const Stages* const stages = train != nullptr ? options.stages : nullptr;
  if (stages != nullptr) LANISTA_TRY(check_stages(*train, options));
  const Cut cut = stages != nullptr ? Cut{1, stages->pieces()} : Cut{options.shards, options.accumulate};
  const ProgramOps all(options);
  const Operators& operators = all.operators();
  const graph::OpTable& ops = all.step_ops();
  KernelTable<T> table = kernel_table<T>();
  add_opaque_kernels(operators, table);
  const SectionInputs<T> inputs{.fixed = {},
                                .layouts = {},
                                .keep = {},
                                .ops = ops,
                                .table = table,
                                .kernels = kernels::kernels<T>(isa),
                                .max_batch = cut.largest(options.max_batch),
                                .in_parts = !cut.whole(),
                                .threads = static_cast<std::size_t>(options.threads),
                                .line = common_line<T>(isa, options)};
  const std::vector<Fusion> fusions = fusions_of(table);
  const LoweringFacts lowering{ops, fusions};
  const StageCut stage_cut = stages != nullptr ? cut_of(*stages, *train) : StageCut{};
  Lowered train_calls;
  if (train != nullptr) {
    std::set<graph::Port> kept = results_of(*train);
    kept.insert(stage_cut.crossing.begin(), stage_cut.crossing.end());
    train_calls = lower(train->graph, train->types, train->compute, kept, lowering);
  }
  const Lowered infer_calls = lower(infer.graph, infer.types, infer.compute, {infer.prediction}, lowering);
  LANISTA_TRY(check_kernels(train_calls, inputs));
  LANISTA_TRY(check_kernels(infer_calls, inputs));
  if (train != nullptr && stages == nullptr && !cut.whole()) LANISTA_TRY(check_buffers(*train, train_calls, table));

  Plan plan;
  plan.cut = cut;
  LANISTA_ASSIGN(StateLayout layout,
                 lay_out_state(train, train_calls, infer, infer_calls,
                               [&](const Call& call, std::size_t input) { return wanted_layout(table, call, input); }));
  const graph::Shape& prediction = infer.types.at(infer.prediction).shape;
  plan.input.plan(infer.types.at(infer.input), options.max_batch);
  if (train != nullptr) {
    if (stages == nullptr) plan.train = train_section<T>(*train, train_calls, layout, inputs);
    plan.loss_alone.loss = train->options.loss;
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
      LANISTA_ASSIGN(plan.stages, StageRun<T>::plan({*stages, stage_cut, *train, train_calls, layout, whole,
                                                     plan.input.stride, plan.target.stride}));
      plan.train = plan.stages->facts();
    } else {
      plan.loss = plan.train.places.at(train_calls.source(train->loss));
    }
    for (LaneNumber& number : plan.train.numbers) number.node = train->origin.at(number.node);
  }
  plan.row = prediction.dims.back();
  plan.infer = infer_section<T>(infer, infer_calls, layout, inputs);
  plan.kind = std::make_shared<const StateKind>(std::move(layout), sizeof(T));
  plan.lines = plan.train.plan;
  if (train != nullptr) {
    LANISTA_ASSIGN(plan.commit, commit_section(*train, *plan.kind, inputs));
    plan.lines.push_back(plan.commit.line);
  }
  plan.lines.insert(plan.lines.end(), plan.infer.plan.begin(), plan.infer.plan.end());
  plan.prediction = plan.infer.places.at(infer_calls.source(infer.prediction));
  plan.prediction_out = Reorder::out_of(prediction, value_layout(prediction));
  plan.prediction_count = Count(prediction);
  plan.place_memory(options.max_batch);
  return plan;
}

template <class T>
Result<std::unique_ptr<StageRun<T>>> LaneProgram<T>::compile_stages(kernels::Isa isa, const step::TrainingStep& train,
                                                                    const step::InferenceStep& infer,
                                                                    const ProgramOptions& options) {
  LANISTA_ASSIGN(Plan made, plan(isa, &train, infer, options));
  return std::move(made.stages);
}

template <class T>
Result<std::unique_ptr<LaneProgram<T>>> LaneProgram<T>::compile(kernels::Isa isa, const step::TrainingStep* train,
                                                                const step::InferenceStep& infer,
                                                                const ProgramOptions& options) {
  LANISTA_ASSIGN(Plan plan, LaneProgram::plan(isa, train, infer, options));
  const std::int64_t desks = options.threads * plan.desk_bytes + (plan.stages ? plan.stages->bytes() : 0);
  MemoryBudget::Reservation reservation;
  if (options.budget != nullptr) {
    LANISTA_ASSIGN(reservation, options.budget->reserve(desks));
  }
  try {
    MachineFacts facts{.lanes = options.lanes,
                       .prediction_size = plan.prediction_count.per_sample,
                       .trains = train != nullptr,
                       .kind = plan.kind,
                       .lane_numbers = plan.train.numbers,
                       .plan = std::move(plan.lines),
                       .shards = plan.stages ? 1 : plan.cut.shards,
                       .shard_bytes = plan.shard_bytes};
    if (plan.stages) plan.stages->start();
    return std::unique_ptr<LaneProgram>(
        new LaneProgram(std::move(facts), isa, std::move(plan), options, std::move(reservation)));
  } catch (const std::system_error& error) {
    return Error{.code = Code::kResourceExhausted,
                 .message = std::string("the system has no thread for every place: ") + error.what(),
                 .where = {}};
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for a program of " + std::to_string(desks) + " bytes",
                 .where = {}};
  }
}

template <class T>
LaneProgram<T>::LaneProgram(MachineFacts facts, kernels::Isa isa, Plan plan, const ProgramOptions& options,
                            MemoryBudget::Reservation reservation)
    : Machine(std::move(facts)),
      isa_(isa),
      options_(options),
      cut_(plan.cut),
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
      row_(plan.row),
      loss_alone_(std::move(plan.loss_alone)),
      input_(plan.input),
      target_(plan.target),
      scratch_offset_(plan.scratch_offset),
      arena_stride_(plan.arena_stride),
      gradient_offset_(plan.gradient_offset),
      gradient_stride_(plan.gradient_stride),
      gradient_count_(plan.gradient_count),
      new_buffer_offset_(plan.new_buffer_offset),
      value_offset_(plan.value_offset),
      desk_bytes_(plan.desk_bytes),
      reservation_(std::move(reservation)),
      kind_(std::move(plan.kind)),
      states_(static_cast<std::size_t>(options.lanes)),
      memory_(options.threads * plan.desk_bytes),
      stages_(std::move(plan.stages)),
      team_(options.threads) {
  options_.stages = nullptr;  // the caller's
  options_.model = nullptr;
}

template <class T>
std::int64_t LaneProgram<T>::bytes() const {
  const auto held = std::ranges::count_if(states_, [](const LaneState& state) { return static_cast<bool>(state); });
  return options_.threads * desk_bytes_ + (stages_ ? stages_->bytes() : 0) + held * kind_->bytes();
}

template <class T>
std::string LaneProgram<T>::describe() const {
  std::string text =
      std::string(sizeof(T) == 4 ? "float32" : "float64") + " " + std::string(kernels::isa_name(isa_)) + ", " +
      std::to_string(options_.lanes) + " lanes, up to " + std::to_string(options_.max_batch) + " samples, " +
      (cut_.whole() ? "" : std::to_string(cut_.shards) + " shards of " + std::to_string(cut_.pieces) + " parts, ") +
      std::to_string(bytes()) + " bytes (arena " + std::to_string(std::max(train_.arena_bytes, infer_.arena_bytes)) +
      ")\n";
  for (const StateItem& item : kind_->layout().items) {
    text += "state " + item.tensor.name + " " + item.tensor.shape.text() + " " + std::string(layout_name(item.layout)) +
            " " + (item.tensor.trained ? "parameter+" : "buffer+") + std::to_string(bytes_of<T>(item.range.begin)) +
            "\n";
  }
  for (const PlanLine& line : facts().plan) text += line.text() + "\n";
  return text;
}

template class LaneProgram<float>;
template class LaneProgram<double>;

}  // namespace lanista::nn
