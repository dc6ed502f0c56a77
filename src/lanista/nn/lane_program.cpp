#include "lanista/nn/lane_program.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "lanista/base/check.h"
#include "lanista/nn/commit.h"
#include "lanista/nn/plan_lines.h"
#include "lanista/nn/sections.h"

namespace lanista::nn {
namespace {

// What is no token number is a token that no vocabulary holds.
std::int32_t token_of(float number) { return number >= 0 && number < 0x1p31F ? static_cast<std::int32_t>(number) : -1; }

Error bad_options(std::string message) {
  return {.code = Code::kInvalidArgument, .message = "program options: " + std::move(message), .where = {}};
}

Result<void> check_options(const ProgramOptions& options) {
  if (options.lanes < 1) return bad_options("lanes is " + std::to_string(options.lanes) + ", but must be at least 1");
  if (options.max_batch < 1) {
    return bad_options("max_batch is " + std::to_string(options.max_batch) + ", but must be at least 1");
  }
  if (options.threads < 1) {
    return bad_options("threads is " + std::to_string(options.threads) + ", but must be at least 1");
  }
  const auto isas = kernels::available_isas();
  if (std::find(isas.begin(), isas.end(), options.isa) == isas.end()) {
    return bad_options("this CPU has no " + std::string(kernels::isa_name(options.isa)));
  }
  return {};
}

}  // namespace

template <class T>
void LaneProgram<T>::Feed::plan(const graph::ValueType& type, std::int64_t max_batch) {
  reorder = Reorder::into(type.shape, value_layout(type.shape));
  tokens = type.dtype == graph::DType::kIndex;
  if (tokens) {
    bytes = bytes_of<std::int32_t>(reorder.elements(max_batch));
    return;
  }
  const bool as_is = std::is_same_v<T, float> && reorder.trivial();
  bytes = as_is ? 0 : bytes_of<T>(reorder.elements(max_batch));
}

// Everything that is known before memory is asked for.
template <class T>
struct LaneProgram<T>::Plan {
  std::shared_ptr<const StateKind> kind;
  step::StepOptions step_options;
  Section<T> train, infer;
  PlanLine commit;
  Place loss, prediction;
  Reorder prediction_out;
  Count prediction_count;
  std::int64_t classes = 0;
  Feed input, target;
  std::int64_t scratch_offset = 0;
  std::int64_t gradient_offset = 0;
  std::int64_t new_buffer_offset = 0;
  std::int64_t desk_bytes = 0;

  void place_memory() {
    scratch_offset = align_up(std::max(train.arena_bytes, infer.arena_bytes));
    input.offset = scratch_offset + align_up(bytes_of<T>(std::max(train.scratch, infer.scratch)));
    target.offset = input.offset + align_up(input.bytes);
    gradient_offset = target.offset + align_up(target.bytes);
    new_buffer_offset = gradient_offset + align_up(bytes_of<T>(kind->layout().parameters));
    desk_bytes = new_buffer_offset + align_up(bytes_of<T>(kind->layout().buffers));
  }
};

template <class T>
Result<LaneProgram<T>> LaneProgram<T>::compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                               const ProgramOptions& options) {
  LANISTA_TRY(check_options(options));
  static const Operators shipped;
  const Operators& operators = options.operators != nullptr ? *options.operators : shipped;
  const graph::OpTable own_ops = options.step_ops != nullptr ? graph::OpTable() : step::training_ops(operators.table());
  const graph::OpTable& ops = options.step_ops != nullptr ? *options.step_ops : own_ops;
  KernelTable<T> table = kernel_table<T>();
  add_opaque_kernels(operators, table);
  const SectionInputs<T> inputs{.fixed = {},
                                .layouts = {},
                                .keep = {},
                                .ops = ops,
                                .table = table,
                                .kernels = kernels::kernels<T>(options.isa),
                                .max_batch = options.max_batch,
                                .threads = static_cast<std::size_t>(options.threads),
                                .line = common_line<T>(options)};
  const Lowered train_calls = lower(train.graph, train.types, train.compute, results_of(train));
  const Lowered infer_calls = lower(infer.graph, infer.types, infer.compute, {infer.prediction});
  LANISTA_TRY(check_kernels(train_calls, inputs));
  LANISTA_TRY(check_kernels(infer_calls, inputs));

  Plan plan;
  plan.step_options = train.options;
  LANISTA_ASSIGN(StateLayout layout, lay_out_state(train, train_calls, infer, infer_calls));
  plan.train = train_section<T>(train, train_calls, layout, inputs);
  for (LaneNumber& number : plan.train.numbers) number.node = train.origin.at(number.node);
  plan.commit = commit_line<T>(inputs.line, layout, train.options.optimizer);
  plan.infer = infer_section<T>(infer, infer_calls, layout, inputs);
  plan.kind = std::make_shared<const StateKind>(std::move(layout), sizeof(T));

  plan.loss = plan.train.places.at(train_calls.source(train.loss));
  plan.prediction = plan.infer.places.at(infer_calls.source(infer.prediction));
  const graph::Shape& prediction = infer.types.at(infer.prediction).shape;
  plan.prediction_out = Reorder::out_of(prediction, value_layout(prediction));
  plan.prediction_count = Count(prediction);
  plan.input.plan(train.types.at(train.input), options.max_batch);
  const graph::ValueType& target = train.types.at(train.target);
  if (target.dtype == graph::DType::kReal) {
    plan.target.plan(target, options.max_batch);
  } else {
    plan.classes = prediction.dims.back();
  }
  plan.place_memory();

  const std::int64_t desks = options.threads * plan.desk_bytes;
  MemoryBudget::Reservation reservation;
  if (options.budget != nullptr) {
    LANISTA_ASSIGN(reservation, options.budget->reserve(desks));
  }
  std::vector<LaneState> states(static_cast<std::size_t>(options.lanes));
  for (LaneState& state : states) {
    if (!options.states) break;
    LANISTA_ASSIGN(state, LaneState::make(plan.kind, 0, options.budget));
  }
  try {
    return LaneProgram(std::move(plan), options, std::move(reservation), std::move(states));
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for a program of " + std::to_string(desks) + " bytes",
                 .where = {}};
  }
}

template <class T>
LaneProgram<T>::LaneProgram(Plan plan, const ProgramOptions& options, MemoryBudget::Reservation reservation,
                            std::vector<LaneState> states)
    : options_(options),
      kernels_(&kernels::kernels<T>(options.isa)),
      step_options_(plan.step_options),
      train_(std::move(plan.train)),
      infer_(std::move(plan.infer)),
      commit_(std::move(plan.commit)),
      loss_(plan.loss),
      prediction_(plan.prediction),
      prediction_out_(plan.prediction_out),
      prediction_count_(plan.prediction_count),
      classes_(plan.classes),
      input_(plan.input),
      target_(plan.target),
      scratch_offset_(plan.scratch_offset),
      gradient_offset_(plan.gradient_offset),
      new_buffer_offset_(plan.new_buffer_offset),
      desk_bytes_(plan.desk_bytes),
      reservation_(std::move(reservation)),
      kind_(std::move(plan.kind)),
      states_(std::move(states)),
      failures_(states_.size()),
      memory_(options.threads * plan.desk_bytes),
      team_(options.threads) {}

template <class T>
std::int64_t LaneProgram<T>::bytes() const {
  const auto held = std::ranges::count_if(states_, [](const LaneState& state) { return static_cast<bool>(state); });
  return options_.threads * desk_bytes_ + held * kind_->bytes();
}

template <class T>
RunContext<T> LaneProgram<T>::context(std::int64_t lane, int thread) const {
  RunContext<T> run;
  const auto set = [&run](Space space, void* bytes) {
    run.base[static_cast<std::size_t>(space)] = static_cast<std::byte*>(bytes);
  };
  const LaneState& state = states_[static_cast<std::size_t>(lane)];
  LANISTA_CHECK(static_cast<bool>(state), "lane " + std::to_string(lane) + " is empty");
  set(Space::kArena, desk(thread));
  set(Space::kParameter, state.parameters<T>());
  set(Space::kGradient, desk(thread) + gradient_offset_);
  set(Space::kBuffer, state.buffers<T>());
  set(Space::kNewBuffer, desk(thread) + new_buffer_offset_);
  run.scratch = reinterpret_cast<T*>(desk(thread) + scratch_offset_);
  run.seed = state.seed();
  run.step = static_cast<std::uint64_t>(state.step_count());
  run.thread = static_cast<std::size_t>(thread);
  return run;
}

// Sources are never written, so the batch's own memory may serve as one.
template <class T>
std::byte* LaneProgram<T>::feed(const Feed& feed, std::byte* desk, std::int64_t n,
                                std::span<const float> values) const {
  LANISTA_CHECK(static_cast<std::int64_t>(values.size()) == feed.reorder.elements(n),
                "a batch of " + std::to_string(n) + " samples brings " + std::to_string(values.size()) +
                    " values instead of " + std::to_string(feed.reorder.elements(n)));
  if (feed.bytes == 0) return reinterpret_cast<std::byte*>(const_cast<float*>(values.data()));
  std::byte* memory = desk + feed.offset;
  if (feed.tokens) {
    std::ranges::transform(values, reinterpret_cast<std::int32_t*>(memory), token_of);
    return memory;
  }
  if constexpr (std::is_same_v<T, float>) {
    feed.reorder.apply(*kernels_, n, values.data(), reinterpret_cast<T*>(memory));
  } else {
    feed.reorder.convert(n, values.data(), reinterpret_cast<T*>(memory));
  }
  return memory;
}

template <class T>
void LaneProgram<T>::feed_features(RunContext<T>& run, std::byte* desk, const Batch& batch) const {
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  run.batch = batch.size;
  run.base[static_cast<std::size_t>(Space::kInput)] = feed(input_, desk, batch.size, batch.features);
}

template <class T>
void LaneProgram<T>::feed_batch(RunContext<T>& run, std::byte* desk, const Batch& batch) const {
  feed_features(run, desk, batch);
  std::byte*& target = run.base[static_cast<std::size_t>(Space::kTarget)];
  if (step_options_.loss == step::Loss::kMse) {
    target = feed(target_, desk, batch.size, batch.targets);
  } else {
    LANISTA_CHECK(static_cast<std::int64_t>(batch.labels.size()) == batch.size,
                  std::to_string(batch.labels.size()) + " labels for " + std::to_string(batch.size) + " samples");
    for (const std::int32_t label : batch.labels) {
      LANISTA_CHECK(label >= 0 && label < classes_,
                    "label " + std::to_string(label) + " of " + std::to_string(classes_) + " classes");
    }
    target = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(batch.labels.data()));
  }
  LANISTA_CHECK(!train_.draws_masks || static_cast<std::int64_t>(batch.sample_index.size()) == batch.size,
                "dropout wants the index of every sample of a batch");
  run.sample_index = batch.sample_index.data();
}

template <class T>
void LaneProgram<T>::train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                                std::span<const std::uint8_t> active, std::span<double> loss) {
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(hyper.size() == lanes && active.size() == lanes && loss.size() == lanes &&
                    (batches.size() == 1 || batches.size() == lanes),
                "a step wants hyper-parameters, masks and losses for every lane, and one batch or one a lane");
  for (const LaneHyper& each : hyper) {
    LANISTA_CHECK(
        each.numbers.empty() || each.numbers.size() == train_.numbers.size(),
        std::to_string(each.numbers.size()) + " numbers of a lane instead of " + std::to_string(train_.numbers.size()));
  }
  RunContext<T> shared;
  const bool is_shared = batches.size() == 1;
  if (is_shared) feed_batch(shared, desk(0), batches[0]);

  team_.share(options_.lanes, [&](int thread, std::int64_t lane) {
    const auto i = static_cast<std::size_t>(lane);
    if (active[i] == 0) return;
    try {
      RunContext<T> run = context(lane, thread);
      run.hyper = &hyper[i];
      if (is_shared) {
        run.batch = shared.batch;
        run.sample_index = shared.sample_index;
        for (const Space space : {Space::kInput, Space::kTarget}) {
          run.base[static_cast<std::size_t>(space)] = shared.base[static_cast<std::size_t>(space)];
        }
      } else {
        feed_batch(run, desk(thread), batches[i]);
      }
      train_lane(run, lane, loss[i]);
    } catch (...) {
      failures_[i] = std::current_exception();
    }
  });
  for (std::exception_ptr& failure : failures_) {
    if (!failure) continue;
    const std::exception_ptr first = failure;
    std::ranges::fill(failures_, nullptr);
    std::rethrow_exception(first);
  }
}

// Nothing can fail once the commit begins, so a lane has its step or is as it was.
template <class T>
void LaneProgram<T>::train_lane(RunContext<T>& run, std::int64_t lane, double& loss) {
  for (const Run<T>& call : train_.calls) call(run);
  loss = static_cast<double>(kernels_->mean(run.batch, run.at(loss_)));
  if (options_.before_commit) options_.before_commit(lane);
  commit_lane(run, lane);
}

template <class T>
void LaneProgram<T>::commit_lane(const RunContext<T>& run, std::int64_t lane) {
  const auto at = [&](Space space) { return reinterpret_cast<const T*>(run.base[static_cast<std::size_t>(space)]); };
  commit(state(lane), at(Space::kGradient), at(Space::kNewBuffer), step_options_.optimizer, *run.hyper, *kernels_);
}

template <class T>
template <class Out>
void LaneProgram<T>::predict(std::int64_t lane, const Batch& batch, std::span<Out> out) {
  const LaneHyper hyper;
  RunContext<T> run = context(lane, 0);
  run.hyper = &hyper;
  feed_features(run, desk(0), batch);
  LANISTA_CHECK(static_cast<std::int64_t>(out.size()) == prediction_count_.at(batch.size),
                "room for " + std::to_string(out.size()) + " predictions instead of " +
                    std::to_string(prediction_count_.at(batch.size)));
  for (const Run<T>& call : infer_.calls) call(run);
  prediction_out_.convert(batch.size, static_cast<const T*>(run.at(prediction_)), out.data());
}

template <class T>
std::vector<PlanLine> LaneProgram<T>::plan() const {
  std::vector<PlanLine> lines = train_.plan;
  lines.push_back(commit_);
  lines.insert(lines.end(), infer_.plan.begin(), infer_.plan.end());
  return lines;
}

template <class T>
void LaneProgram<T>::rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) {
  RunContext<T> run = context(0, 0);
  run.hyper = &hyper;
  feed_batch(run, desk(0), batch);
  const auto each = [&](const std::vector<Run<T>>& calls) {
    for (const Run<T>& call : calls) {
      call(run);
      done();
    }
  };
  each(train_.calls);
  commit_lane(run, 0);
  done();
  each(infer_.calls);
}

template <class T>
std::string LaneProgram<T>::describe() const {
  std::string text = std::string(sizeof(T) == 4 ? "float32" : "float64") + " " +
                     std::string(kernels::isa_name(options_.isa)) + ", " + std::to_string(options_.lanes) +
                     " lanes, up to " + std::to_string(options_.max_batch) + " samples, " + std::to_string(bytes()) +
                     " bytes (arena " + std::to_string(std::max(train_.arena_bytes, infer_.arena_bytes)) + ")\n";
  for (const StateItem& item : kind_->layout().items) {
    text += "state " + item.tensor.name + " " + item.tensor.shape.text() + " " + std::string(layout_name(item.layout)) +
            " " + (item.tensor.trained ? "parameter+" : "buffer+") + std::to_string(bytes_of<T>(item.range.begin)) +
            "\n";
  }
  for (const PlanLine& line : plan()) text += line.text() + "\n";
  return text;
}

template class LaneProgram<float>;
template class LaneProgram<double>;
template void LaneProgram<float>::predict(std::int64_t, const Batch&, std::span<float>);
template void LaneProgram<float>::predict(std::int64_t, const Batch&, std::span<double>);
template void LaneProgram<double>::predict(std::int64_t, const Batch&, std::span<float>);
template void LaneProgram<double>::predict(std::int64_t, const Batch&, std::span<double>);

}  // namespace lanista::nn
