// Construction of executables, and their lane states. Steps are in aten_steps.cpp, predictions in aten_predictions.cpp.
#include "lanista/exec/backends/aten/aten_executable.h"

#include <algorithm>
#include <new>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"
#include "lanista/exec/backends/device_failure.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/operator_tables.h"
#include "lanista/model/autodiff/memory_plan.h"

namespace lanista::device {
namespace {

Error unimplemented(std::string message) {
  return {.code = Code::kUnimplemented, .message = std::move(message), .where = {}};
}

Result<void> check_options(const program::ProgramOptions& options) {
  if (options.shards == 1 && options.accumulate == 1) return {};
  return unimplemented("a batch in parts (train.shards=" + std::to_string(options.shards) +
                       ", train.accumulate=" + std::to_string(options.accumulate) +
                       ") needs the CPU; set both to 1 on this device, or run on the CPU (run.devices: [cpu])");
}

std::size_t element_size(const program::StateFormat& state_format) {
  return state_format.is_double() ? sizeof(double) : sizeof(float);
}

// Bytes of the values of a section that are live at the same time, for one lane with a full batch.
std::int64_t bytes_of_values(const graph::Graph& graph, const graph::Types& types,
                             const std::vector<graph::NodeId>& order, std::int64_t batch, std::size_t element) {
  const auto size = [&](graph::Port port) {
    return types.at(port).shape.elements(batch) * static_cast<std::int64_t>(element);
  };
  const auto outputs = [&](graph::NodeId id) {
    std::vector<graph::Port> ports;
    for (std::uint32_t slot = 0; slot < types.outputs(id).size(); ++slot) ports.push_back({id, slot});
    return ports;
  };
  return autodiff::plan_memory(graph, order, {}, size, outputs).bytes;
}

// Parameters that a product may update while it computes their gradients, by gradient.
std::map<graph::Port, graph::Port> updatable_by_products(const autodiff::TrainingStep& train,
                                                         const program::StateLayout& layout) {
  std::map<graph::Port, graph::Port> updatable_parameters;
  std::set<graph::Port> several;
  for (const program::StateTensorLayout& item : layout.items) {
    const auto found = train.gradient.find(item.tensor.node);
    if (!item.tensor.trained || found == train.gradient.end()) continue;
    if (!updatable_parameters.emplace(found->second, graph::Port{item.tensor.node, 0}).second)
      several.insert(found->second);
    const bool is_product = train.graph.node(found->second.node).op == "linear_grad_w";
    const bool is_transposed =
        item.tensor.shape.dims.size() == 2 && program::memory_axes(item.layout, 2) == std::vector<std::size_t>{1, 0};
    if (!is_product || !is_transposed) several.insert(found->second);
  }
  std::erase_if(updatable_parameters, [&](const auto& each) { return several.contains(each.first); });
  return updatable_parameters;
}

}  // namespace

// Everything that is computed before memory is allocated.
struct AtenExecutable::CompiledParts {
  std::optional<autodiff::TrainingStep> train;
  autodiff::InferenceStep infer;
  AtenSection compute, predict;
  AtenUpdate update = nullptr;
  std::int64_t planned_bytes = 0;
  MemoryBudget::Reservation reservation;
  std::unique_ptr<AtenQueue> queue;
  Tensor rows;  // [lanes that fit into memory, elements of a state]

  void allocate_rows(std::int64_t lanes, const program::StateFormat& state_format, at::Device device);
};

// Allocates state rows. If memory ends, it tries half as many lanes, down to one.
void AtenExecutable::CompiledParts::allocate_rows(std::int64_t lanes, const program::StateFormat& state_format,
                                                  at::Device device) {
  const AtenScope scope(*queue);
  const std::int64_t row = state_format.bytes() / static_cast<std::int64_t>(element_size(state_format));
  while (true) {
    try {
      rows =
          at::zeros({lanes, row}, at::TensorOptions(device).dtype(state_format.is_double() ? at::kDouble : at::kFloat));
      return;
    } catch (const std::exception& error) {
      if (lanes == 1 || !is_out_of_memory(error)) throw;
      queue->free_unused();
      lanes = (lanes + 1) / 2;
    }
  }
}

Result<std::unique_ptr<program::Executable>> AtenExecutable::compile(const autodiff::TrainingStep* train,
                                                                     const autodiff::InferenceStep& infer,
                                                                     const program::ProgramOptions& options,
                                                                     const AtenDevice& device) {
  const c10::InferenceMode no_gradients;
  LANISTA_TRY(check_options(options));
  // The CPU backend checks the options and gives the state format, because states move between it and the device.
  program::ProgramOptions like = options;
  like.max_batch = std::min<std::int64_t>(options.max_batch, 1);
  like.threads = std::min(options.threads, 1);
  like.precision = stored(options.precision);
  like.budget = nullptr;
  LANISTA_ASSIGN(const auto cpu_program, program::cpu_backend().compile(train, infer, like));
  program::ExecutableProperties properties = cpu_program->properties();
  properties.shard_bytes = 0;

  const program::OperatorTables all(options);
  const graph::OpTable& ops = all.step_ops();
  const AtenTable table = aten_table(device.kernels(), options.precision);
  const AtenFusions fusions = aten_fusions(device.kernels(), options.precision);
  CompiledParts parts;
  parts.infer = infer;
  LANISTA_ASSIGN(parts.predict, AtenSection::make("infer", infer.graph, infer.types, infer.compute, {infer.prediction},
                                                  ops, table, fusions));
  properties.plan.clear();
  const std::size_t element = element_size(*properties.state_format);
  std::int64_t values = bytes_of_values(infer.graph, infer.types, infer.compute, options.max_batch, element);
  if (train != nullptr) {
    parts.train = *train;
    std::set<graph::Port> keep{train->loss};
    for (const auto& [parameter, gradient] : train->gradient) keep.insert(gradient);
    for (const auto& [buffer, value] : train->renewed) keep.insert(value);
    LANISTA_ASSIGN(parts.compute,
                   AtenSection::make("train", train->graph, train->types, train->compute, keep, ops, table, fusions,
                                     device.kernels() == nullptr
                                         ? std::map<graph::Port, graph::Port>{}
                                         : updatable_by_products(*train, properties.state_format->layout())));
    const auto update = aten_updates().find(train->options.optimizer);
    if (update == aten_updates().end()) {
      return unimplemented("optimiser '" + train->options.optimizer +
                           "' is not supported on this device; run on the CPU " + "(run.devices: [cpu])");
    }
    parts.update = update->second;
    values = std::max(values, bytes_of_values(train->graph, train->types, train->compute, options.max_batch, element));
    properties.plan = parts.compute.plan();
    properties.plan.push_back({.section = "commit",
                               .node = {},
                               .op = train->options.optimizer,
                               .kernel = train->options.optimizer,
                               .family = "aten",
                               .attrs = {},
                               .inputs = {},
                               .outputs = {}});
  }
  properties.plan.insert(properties.plan.end(), parts.predict.plan().begin(), parts.predict.plan().end());
  for (program::PlanLine& line : properties.plan) line.batch = options.max_batch;
  parts.planned_bytes = options.lanes * (properties.state_format->bytes() + values);
  if (options.budget != nullptr) {
    LANISTA_ASSIGN(parts.reservation, options.budget->reserve(parts.planned_bytes));
  }
  const std::int64_t bytes = parts.planned_bytes;
  try {
    parts.queue = device.queue();
    parts.allocate_rows(options.lanes, *properties.state_format, device.device());
    program::ProgramOptions made = options;
    properties.lanes = made.lanes = parts.rows.size(0);
    if (made.lanes < options.lanes) {
      device.warnings().add("device " + std::string(device.name()) + " has no memory for the states of " +
                            std::to_string(options.lanes) + " lanes of a program; it has " +
                            std::to_string(made.lanes));
    }
    std::unique_ptr<AtenExecutable> executable(
        new AtenExecutable(std::move(properties), std::move(parts), made, device));
    executable->check_lane_equality();
    return std::unique_ptr<program::Executable>(std::move(executable));
  } catch (const std::exception&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the device has no memory for a program of " + std::to_string(bytes) + " bytes (" +
                            std::to_string(options.lanes) + " lanes)",
                 .where = {}};
  }
}

AtenExecutable::AtenExecutable(program::ExecutableProperties properties, CompiledParts parts,
                               const program::ProgramOptions& options, const AtenDevice& device)
    : SingleObjectExecutable(std::move(properties)),
      options_(options),
      device_(device),
      queue_(std::move(parts.queue)),
      real_(at::TensorOptions(device.device())
                .dtype(this->properties().state_format->is_double() ? at::kDouble : at::kFloat)),
      state_format_(this->properties().state_format),
      train_(std::move(parts.train)),
      infer_(std::move(parts.infer)),
      compute_(std::move(parts.compute)),
      predict_(std::move(parts.predict)),
      update_(parts.update),
      planned_bytes_(parts.planned_bytes),
      reservation_(std::move(parts.reservation)),
      state_rows_(std::move(parts.rows)),
      states_(static_cast<std::size_t>(options.lanes)),
      pending_chunk_(std::make_unique<PendingChunk>()),
      num_queued_steps_(states_.size(), 0),
      lanes_per_launch_(options.lanes) {
  const graph::Shape& prediction = infer_.types.at(infer_.prediction).shape;
  row_ = prediction.dims.back();
  if (train_ && train_->types.at(train_->target).dtype == graph::DType::kIndex) {
    classes_ = row_;
    positions_ = train_->types.at(train_->target).shape.elements_per_sample();
  }
  const AtenScope scope(*queue_);
  chunk_totals_ = at::zeros({kNumTotals, options.lanes}, real_.dtype(at::kDouble));
}

// Waits until the device no longer uses the memory of the executable.
AtenExecutable::~AtenExecutable() {
  const AtenScope scope(*queue_);
  try {
    queue_->synchronise();
  } catch (const c10::Error&) {  // The device is lost.
  }
  recorded_steps_.clear();
}

// An exception is ignored here, because it recurs in a step, where the caller receives it.
void AtenExecutable::check_lane_equality() {
  if (!train_ || options_.lanes < 2 || !device_.lanes_may_differ()) return;
  try {
    lanes_are_equal_ = probe_lanes();
  } catch (const std::exception&) {
    const AtenScope scope(*queue_);
    if (!queue_->is_device_alive()) abort_on_lost_device(device_.name());
    num_queued_steps_.assign(num_queued_steps_.size(), 0);
    state_rows_.zero_();
    return;
  }
  if (lanes_are_equal_) return;
  device_.warnings().add("on device " + std::string(device_.name()) +
                         " the bits of a trial depend on its lane (class " + numeric_class_by_lanes() +
                         "); a resumed or repeated trial agrees up to rounding only");
}

// If the bits of a lane depend on its position, they depend on the number of lanes too.
std::string AtenExecutable::numeric_class_by_lanes() const {
  return std::string(device_.numeric_class()) + "/L" + std::to_string(options_.lanes);
}

// Later launches run half as many lanes.
void AtenExecutable::halve_lanes_per_launch(std::int64_t lanes) {
  lanes_per_launch_ = std::max<std::int64_t>(1, (lanes + 1) / 2);
  device_.warnings().add("device " + std::string(device_.name()) + " has no memory for steps of " +
                         std::to_string(lanes) + " lanes; a program of " + std::to_string(options_.lanes) +
                         " lanes runs " + std::to_string(lanes_per_launch_) + " of them at a time, which is slower");
}

std::int64_t AtenExecutable::bytes() const {
  const auto held =
      std::ranges::count_if(states_, [](const program::LaneState& state) { return static_cast<bool>(state); });
  return planned_bytes_ + held * state_format_->bytes();
}

std::string AtenExecutable::describe() const {
  std::string text = std::string(name_of(options_.precision)) + " aten on " + real_.device().str() + ", " +
                     std::to_string(options_.lanes) + " lanes, up to " + std::to_string(options_.max_batch) +
                     " samples, " + std::to_string(bytes()) + " bytes\n";
  if (!lanes_are_equal_) text += "lanes differ: class " + numeric_class_by_lanes() + "\n";
  if (lanes_per_launch_ < options_.lanes)
    text += "memory for " + std::to_string(lanes_per_launch_) + " lanes at once\n";
  for (const program::PlanLine& line : properties().plan) text += line.text() + "\n";
  return text;
}

Result<program::LaneState> AtenExecutable::make_state(std::uint64_t trial_seed) const {
  return program::LaneState::make(state_format_, trial_seed, options_.budget);
}

// Host memory of a lane's state, as a tensor.
Tensor AtenExecutable::host_row(std::int64_t lane) const {
  const program::LaneState& state = states_[static_cast<std::size_t>(lane)];
  void* const bytes =
      state_format_->is_double() ? static_cast<void*>(state.parameters<double>()) : state.parameters<float>();
  return at::from_blob(bytes, {state_rows_.size(1)}, real_.device(at::kCPU));
}

void AtenExecutable::attach(std::int64_t lane, program::LaneState&& state) {
  const AtenScope scope(*queue_);
  state_of(lane) = std::move(state);
  try {
    // Later writes to this memory must not change another state.
    state_of(lane).ensure_unique();
    state_rows_.select(0, lane).copy_(host_row(lane));
  } catch (...) {
    state = std::move(state_of(lane));
    state_of(lane) = {};
    throw;
  }
}

program::LaneState AtenExecutable::detach(std::int64_t lane) {
  const AtenScope scope(*queue_);
  try {
    if (state_of(lane)) host_row(lane).copy_(state_rows_.select(0, lane));
  } catch (const c10::Error&) {
    abort_on_lost_device(device_.name());  // the host copy is older than the steps
  }
  return std::exchange(state_of(lane), {});
}

Result<void> AtenExecutable::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  const AtenScope scope(*queue_);
  LANISTA_ASSIGN(program::LaneState copy, state_of(from).clone(trial_seed));
  try {
    copy.ensure_unique();
  } catch (const std::bad_alloc&) {
    return Error{
        .code = Code::kResourceExhausted,
        .message = "the system has no memory for a state of " + std::to_string(state_format_->bytes()) + " bytes",
        .where = {}};
  }
  state_of(to) = std::move(copy);
  state_rows_.select(0, to).copy_(state_rows_.select(0, from));
  return {};
}

std::int64_t AtenExecutable::step_count(std::int64_t lane) const {
  const program::LaneState& state = states_[static_cast<std::size_t>(lane)];
  return state ? state.step_count() : -1;
}

std::vector<lanista::Tensor> AtenExecutable::extract_state(std::int64_t lane) const {
  const AtenScope scope(*queue_);
  host_row(lane).copy_(state_rows_.select(0, lane));
  return states_[static_cast<std::size_t>(lane)].extract();
}

Result<program::LaneGradients> AtenExecutable::make_gradients() const {
  return program::LaneGradients::make(state_format_, options_.budget);
}

// A part of the state of some lanes: parameters, buffers or a slot, [lanes, elements].
Tensor AtenExecutable::state_part(const Lanes& lanes, std::size_t part, std::int64_t elements) const {
  const std::int64_t begin = state_format_->part_offset(part) / static_cast<std::int64_t>(element_size(*state_format_));
  return state_rows_.narrow(0, lanes.begin, lanes.count).narrow(1, begin, elements);
}

// A tensor of the state in canonical order, as a view of `flat` [lanes, parameters or buffers].
Tensor AtenExecutable::tensor_view(const Tensor& flat, const program::StateTensorLayout& item) const {
  const std::vector<std::int64_t>& dims = item.tensor.shape.dims;
  const std::vector<std::size_t> axes = program::memory_axes(item.layout, dims.size());
  std::vector<std::int64_t> sizes{flat.size(0)}, order(dims.size() + 1, 0);
  for (std::size_t at = 0; at < axes.size(); ++at) {
    sizes.push_back(dims[axes[at]]);
    order[axes[at] + 1] = static_cast<std::int64_t>(at) + 1;
  }
  return flat.narrow(1, item.range.begin, item.range.count).view(sizes).permute(order);
}

void AtenExecutable::bind_state(const Lanes& lanes, const std::vector<autodiff::StateTensor>& state,
                                Values& values) const {
  const program::StateLayout& layout = state_format_->layout();
  const Tensor parameters = state_part(lanes, 0, layout.parameters), buffers = state_part(lanes, 1, layout.buffers);
  for (std::size_t i = 0; i < state.size(); ++i) {
    const program::StateTensorLayout& item = layout.items[i];
    values[{state[i].node, 0}] = tensor_view(item.tensor.trained ? parameters : buffers, item);
  }
}

}  // namespace lanista::device
