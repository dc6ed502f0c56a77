// How machines are made, and where states lie. Steps are in aten_steps.cpp, predictions in aten_predictions.cpp.
#include "lanista/exec/backends/aten/aten_machine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_pending.h"
#include "lanista/exec/backends/lost_device.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/program_ops.h"
#include "lanista/model/autodiff/liveness.h"

namespace lanista::device {
namespace {

Error unimplemented(std::string message) {
  return {.code = Code::kUnimplemented, .message = std::move(message), .where = {}};
}

Result<void> check_options(const nn::ProgramOptions& options) {
  if (options.shards == 1 && options.accumulate == 1) return {};
  return unimplemented("a batch in parts (train.shards=" + std::to_string(options.shards) +
                       ", train.accumulate=" + std::to_string(options.accumulate) +
                       ") is for the CPU; leave both at 1 on this device, or run with run.devices: [cpu]");
}

std::size_t element_size(const nn::StateKind& kind) { return kind.is_double() ? sizeof(double) : sizeof(float); }

// Bytes of the values of a section that live at the same time, in one lane with a full batch.
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
  return step::plan_memory(graph, order, {}, size, outputs).bytes;
}

// Weights that a product may change as it makes their gradients, by those.
std::map<graph::Port, graph::Port> changed_by_products(const step::TrainingStep& train, const nn::StateLayout& layout) {
  std::map<graph::Port, graph::Port> changes;
  std::set<graph::Port> several;
  for (const nn::StateItem& item : layout.items) {
    const auto found = train.gradient.find(item.tensor.node);
    if (!item.tensor.trained || found == train.gradient.end()) continue;
    if (!changes.emplace(found->second, graph::Port{item.tensor.node, 0}).second) several.insert(found->second);
    const bool is_product = train.graph.node(found->second.node).op == "linear_grad_w";
    const bool lies_so =
        item.tensor.shape.dims.size() == 2 && nn::memory_axes(item.layout, 2) == std::vector<std::size_t>{1, 0};
    if (!is_product || !lies_so) several.insert(found->second);
  }
  std::erase_if(changes, [&](const auto& each) { return several.contains(each.first); });
  return changes;
}

}  // namespace

// Everything that is known before memory is asked for.
struct AtenMachine::Parts {
  std::optional<step::TrainingStep> train;
  step::InferenceStep infer;
  AtenSection compute, predict;
  AtenUpdate update = nullptr;
  std::int64_t planned_bytes = 0;
  MemoryBudget::Reservation reservation;
  std::unique_ptr<AtenQueue> queue;
  Tensor rows;  // of as many lanes as there is memory for

  void allocate_rows(std::int64_t lanes, const nn::StateKind& kind, at::Device device);
};

// Where memory ends, for half as many, down to one.
void AtenMachine::Parts::allocate_rows(std::int64_t lanes, const nn::StateKind& kind, at::Device device) {
  const AtenScope scope(*queue);
  const std::int64_t row = kind.bytes() / static_cast<std::int64_t>(element_size(kind));
  while (true) {
    try {
      rows = at::zeros({lanes, row}, at::TensorOptions(device).dtype(kind.is_double() ? at::kDouble : at::kFloat));
      return;
    } catch (const std::exception& error) {
      if (lanes == 1 || !is_of_memory(error)) throw;
      queue->free_unused();
      lanes = (lanes + 1) / 2;
    }
  }
}

Result<std::unique_ptr<nn::Machine>> AtenMachine::compile(const step::TrainingStep* train,
                                                          const step::InferenceStep& infer,
                                                          const nn::ProgramOptions& options, const AtenDevice& device) {
  const c10::InferenceMode no_gradients;
  LANISTA_TRY(check_options(options));
  // How states lie is the CPU's to say, for they come from there and go there; so are the checks of options.
  nn::ProgramOptions like = options;
  like.max_batch = std::min<std::int64_t>(options.max_batch, 1);
  like.threads = std::min(options.threads, 1);
  like.precision = stored(options.precision);
  like.budget = nullptr;
  LANISTA_ASSIGN(const auto twin, nn::cpu_backend().compile(train, infer, like));
  nn::MachineFacts facts = twin->facts();
  facts.shard_bytes = 0;

  const nn::ProgramOps all(options);
  const graph::OpTable& ops = all.step_ops();
  const AtenTable table = aten_table(device.kernels(), options.precision);
  const AtenJoins joins = aten_joins(device.kernels(), options.precision);
  Parts parts;
  parts.infer = infer;
  LANISTA_ASSIGN(parts.predict, AtenSection::make("infer", infer.graph, infer.types, infer.compute, {infer.prediction},
                                                  ops, table, joins));
  facts.plan.clear();
  const std::size_t element = element_size(*facts.kind);
  std::int64_t values = bytes_of_values(infer.graph, infer.types, infer.compute, options.max_batch, element);
  if (train != nullptr) {
    parts.train = *train;
    std::set<graph::Port> keep{train->loss};
    for (const auto& [parameter, gradient] : train->gradient) keep.insert(gradient);
    for (const auto& [buffer, value] : train->renewed) keep.insert(value);
    LANISTA_ASSIGN(parts.compute,
                   AtenSection::make("train", train->graph, train->types, train->compute, keep, ops, table, joins,
                                     device.kernels() == nullptr ? std::map<graph::Port, graph::Port>{}
                                                                 : changed_by_products(*train, facts.kind->layout())));
    const auto update = aten_updates().find(train->options.optimizer);
    if (update == aten_updates().end()) {
      return unimplemented("optimiser '" + train->options.optimizer + "' has no form on this device; run on the CPU " +
                           "(run.devices: [cpu])");
    }
    parts.update = update->second;
    values = std::max(values, bytes_of_values(train->graph, train->types, train->compute, options.max_batch, element));
    facts.plan = parts.compute.plan();
    facts.plan.push_back({.section = "commit",
                          .node = {},
                          .op = train->options.optimizer,
                          .kernel = train->options.optimizer,
                          .family = "aten",
                          .attrs = {},
                          .inputs = {},
                          .outputs = {}});
  }
  facts.plan.insert(facts.plan.end(), parts.predict.plan().begin(), parts.predict.plan().end());
  for (nn::PlanLine& line : facts.plan) line.batch = options.max_batch;
  parts.planned_bytes = options.lanes * (facts.kind->bytes() + values);
  if (options.budget != nullptr) {
    LANISTA_ASSIGN(parts.reservation, options.budget->reserve(parts.planned_bytes));
  }
  const std::int64_t bytes = parts.planned_bytes;
  try {
    parts.queue = device.queue();
    parts.allocate_rows(options.lanes, *facts.kind, device.device());
    nn::ProgramOptions made = options;
    facts.lanes = made.lanes = parts.rows.size(0);
    if (made.lanes < options.lanes) {
      device.news().tell("device " + std::string(device.name()) + " has no memory for the states of " +
                         std::to_string(options.lanes) + " lanes of a program; it has " + std::to_string(made.lanes));
    }
    std::unique_ptr<AtenMachine> machine(new AtenMachine(std::move(facts), std::move(parts), made, device));
    machine->look_at_lanes();
    return std::unique_ptr<nn::Machine>(std::move(machine));
  } catch (const std::exception&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the device has no memory for a program of " + std::to_string(bytes) + " bytes (" +
                            std::to_string(options.lanes) + " lanes)",
                 .where = {}};
  }
}

AtenMachine::AtenMachine(nn::MachineFacts facts, Parts parts, const nn::ProgramOptions& options,
                         const AtenDevice& device)
    : Machine(std::move(facts)),
      options_(options),
      device_(device),
      queue_(std::move(parts.queue)),
      real_(at::TensorOptions(device.device()).dtype(this->facts().kind->is_double() ? at::kDouble : at::kFloat)),
      kind_(this->facts().kind),
      train_(std::move(parts.train)),
      infer_(std::move(parts.infer)),
      compute_(std::move(parts.compute)),
      predict_(std::move(parts.predict)),
      update_(parts.update),
      planned_bytes_(parts.planned_bytes),
      reservation_(std::move(parts.reservation)),
      rows_(std::move(parts.rows)),
      states_(static_cast<std::size_t>(options.lanes)),
      pending_(std::make_unique<Pending>()),
      ahead_(states_.size(), 0),
      at_once_(options.lanes) {
  const graph::Shape& prediction = infer_.types.at(infer_.prediction).shape;
  row_ = prediction.dims.back();
  if (train_ && train_->types.at(train_->target).dtype == graph::DType::kIndex) {
    classes_ = row_;
    positions_ = train_->types.at(train_->target).shape.elements_per_sample();
  }
  const AtenScope scope(*queue_);
  totals_ = at::zeros({kTotals, options.lanes}, real_.dtype(at::kDouble));
}

// Nothing goes before the device is done with it.
AtenMachine::~AtenMachine() {
  const AtenScope scope(*queue_);
  try {
    queue_->synchronise();
  } catch (const c10::Error&) {  // it is lost with all it had
  }
  recorded_.clear();
}

// What throws here will throw again where it is somebody's step.
void AtenMachine::look_at_lanes() {
  if (!train_ || options_.lanes < 2 || !device_.lanes_may_differ()) return;
  try {
    twins_ = lanes_are_twins();
  } catch (const std::exception&) {
    const AtenScope scope(*queue_);
    if (!queue_->is_alive()) lose_device(device_.name());
    ahead_.assign(ahead_.size(), 0);
    rows_.zero_();
    return;
  }
  if (twins_) return;
  device_.news().tell("on device " + std::string(device_.name()) +
                      " equal trials have other bits in other lanes (class " + class_by_lanes() +
                      "): a trial's bits depend on its lane, and a resumed or repeated one agrees to rounding");
}

// Numbers hang on how many lanes a program has where they hang on the lane.
std::string AtenMachine::class_by_lanes() const {
  return std::string(device_.numeric_class()) + "/L" + std::to_string(options_.lanes);
}

// From here on a launch takes half as many.
void AtenMachine::take_fewer(std::int64_t lanes) {
  at_once_ = std::max<std::int64_t>(1, (lanes + 1) / 2);
  device_.news().tell("device " + std::string(device_.name()) + " has no memory for steps of " + std::to_string(lanes) +
                      " lanes; a program of " + std::to_string(options_.lanes) + " lanes takes " +
                      std::to_string(at_once_) + " of them at a time, and is slower");
}

std::int64_t AtenMachine::bytes() const {
  const auto held = std::ranges::count_if(states_, [](const nn::LaneState& state) { return static_cast<bool>(state); });
  return planned_bytes_ + held * kind_->bytes();
}

std::string AtenMachine::describe() const {
  std::string text = std::string(name_of(options_.precision)) + " aten on " + real_.device().str() + ", " +
                     std::to_string(options_.lanes) + " lanes, up to " + std::to_string(options_.max_batch) +
                     " samples, " + std::to_string(bytes()) + " bytes\n";
  if (!twins_) text += "lanes differ: class " + class_by_lanes() + "\n";
  if (at_once_ < options_.lanes) text += "memory for " + std::to_string(at_once_) + " lanes at once\n";
  for (const nn::PlanLine& line : facts().plan) text += line.text() + "\n";
  return text;
}

Result<nn::LaneState> AtenMachine::make_state(std::uint64_t trial_seed) const {
  return nn::LaneState::make(kind_, trial_seed, options_.budget);
}

// The host's memory of a lane's state, as a tensor.
Tensor AtenMachine::row_on_host(std::int64_t lane) const {
  const nn::LaneState& state = states_[static_cast<std::size_t>(lane)];
  void* const bytes = kind_->is_double() ? static_cast<void*>(state.parameters<double>()) : state.parameters<float>();
  return at::from_blob(bytes, {rows_.size(1)}, real_.device(at::kCPU));
}

void AtenMachine::attach(std::int64_t lane, nn::LaneState&& state) {
  const AtenScope scope(*queue_);
  state_of(lane) = std::move(state);
  try {
    // What is written here later may not be anybody else's.
    state_of(lane).make_own();
    rows_.select(0, lane).copy_(row_on_host(lane));
  } catch (...) {
    state = std::move(state_of(lane));
    state_of(lane) = {};
    throw;
  }
}

nn::LaneState AtenMachine::detach(std::int64_t lane) {
  const AtenScope scope(*queue_);
  try {
    if (state_of(lane)) row_on_host(lane).copy_(rows_.select(0, lane));
  } catch (const c10::Error&) {
    lose_device(device_.name());  // the host's memory of it is older than its steps
  }
  return std::exchange(state_of(lane), {});
}

Result<void> AtenMachine::clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) {
  const AtenScope scope(*queue_);
  LANISTA_ASSIGN(nn::LaneState copy, state_of(from).clone(trial_seed));
  try {
    copy.make_own();
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for a state of " + std::to_string(kind_->bytes()) + " bytes",
                 .where = {}};
  }
  state_of(to) = std::move(copy);
  rows_.select(0, to).copy_(rows_.select(0, from));
  return {};
}

std::int64_t AtenMachine::step_count(std::int64_t lane) const {
  const nn::LaneState& state = states_[static_cast<std::size_t>(lane)];
  return state ? state.step_count() : -1;
}

std::vector<lanista::Tensor> AtenMachine::copy_out(std::int64_t lane) const {
  const AtenScope scope(*queue_);
  row_on_host(lane).copy_(rows_.select(0, lane));
  return states_[static_cast<std::size_t>(lane)].extract();
}

Result<nn::LaneGradients> AtenMachine::make_gradients() const {
  return nn::LaneGradients::make(kind_, options_.budget);
}

// Some lanes' part of the state, [lanes, elements]: parameters, buffers, or a slot.
Tensor AtenMachine::part_of(const Lanes& lanes, std::size_t part, std::int64_t elements) const {
  const std::int64_t begin = kind_->part_offset(part) / static_cast<std::int64_t>(element_size(*kind_));
  return rows_.narrow(0, lanes.begin, lanes.count).narrow(1, begin, elements);
}

// A tensor of the state in canonical order: a view of where it lies in `flat` [lanes, parameters or buffers].
Tensor AtenMachine::piece_of(const Tensor& flat, const nn::StateItem& item) const {
  const std::vector<std::int64_t>& dims = item.tensor.shape.dims;
  const std::vector<std::size_t> axes = nn::memory_axes(item.layout, dims.size());
  std::vector<std::int64_t> sizes{flat.size(0)}, order(dims.size() + 1, 0);
  for (std::size_t at = 0; at < axes.size(); ++at) {
    sizes.push_back(dims[axes[at]]);
    order[axes[at] + 1] = static_cast<std::int64_t>(at) + 1;
  }
  return flat.narrow(1, item.range.begin, item.range.count).view(sizes).permute(order);
}

void AtenMachine::bind_state(const Lanes& lanes, const std::vector<step::StateTensor>& state, Values& values) const {
  const nn::StateLayout& layout = kind_->layout();
  const Tensor parameters = part_of(lanes, 0, layout.parameters), buffers = part_of(lanes, 1, layout.buffers);
  for (std::size_t i = 0; i < state.size(); ++i) {
    const nn::StateItem& item = layout.items[i];
    values[{state[i].node, 0}] = piece_of(item.tensor.trained ? parameters : buffers, item);
  }
}

}  // namespace lanista::device
