#include "lanista/train/trial_run.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>

#include "lanista/base/check.h"
#include "lanista/graph/flat.h"
#include "lanista/study/metric.h"
#include "lanista/train/evaluation.h"
#include "lanista/train/schedule.h"

namespace lanista::train {
namespace {

// A fact is text; doubles travel as their bits, so that a resumed sum goes on exactly.
Result<std::uint64_t> read_number(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto it = facts.find(name);
  if (it == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks '" + name + "'", ""};
  std::uint64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto parsed = std::from_chars(it->second.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Error{Code::kDataLoss, "checkpoint's '" + name + "' is not a number: '" + it->second + "'", ""};
  }
  return value;
}

}  // namespace

Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts) {
  const auto it = facts.find("measurements");
  if (it == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks 'measurements'", ""};
  const auto json = nlohmann::json::parse(it->second, nullptr, false);
  if (!json.is_array()) return Error{Code::kDataLoss, "checkpoint's 'measurements' is not a list", ""};
  std::vector<study::Measurement> out;
  for (const auto& item : json) {
    LANISTA_ASSIGN(auto measurement, study::measurement_from_json(item));
    out.push_back(std::move(measurement));
  }
  return out;
}

Digest program_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops) {
  Hasher hasher;
  for (const auto& node : model.nodes()) {
    hasher.number(static_cast<std::int64_t>(node->id.value)).text(node->op);
    const graph::Attrs attrs = graph::without_lane_numbers(*node, ops).attrs;
    hasher.number(std::distance(attrs.begin(), attrs.end()));
    for (const auto& [name, value] : attrs) hasher.text(name).text(graph::attr_text(value));
    hasher.number(static_cast<std::int64_t>(node->inputs.size()));
    for (const graph::Port& port : node->inputs)
      hasher.number(static_cast<std::int64_t>(port.node.value)).number(port.slot);
  }
  return hasher.text(recipe.loss).text(recipe.optimizer).text(recipe.precision).number(recipe.batch).finish();
}

TrialRun::TrialRun(const TrainerInput& input, data::Augmenter augmenter)
    : input_(input),
      augmenter_(std::move(augmenter)),
      key_(program_key(input.model, input.recipe, *input.step_ops)),
      augment_text_(data::augment_text(input.recipe.augment)) {}

Result<TrialRun> TrialRun::create(const TrainerInput& input) {
  const auto& spec = input.data->spec();
  if ((loss_of(input.recipe) == step::Loss::kCrossEntropy) != (spec.classes > 0)) {
    return Error{Code::kInvalidArgument,
                 "loss '" + input.recipe.loss + "' does not fit data '" + spec.name + "' with " +
                     (spec.classes > 0 ? "classes" : "numbers") + " as targets",
                 "train.loss"};
  }
  for (const auto& name : input.metrics) LANISTA_TRY(study::check_metric(name, spec.classes));
  LANISTA_ASSIGN(auto augmenter, data::Augmenter::make(input.recipe.augment, spec));
  return TrialRun(input, std::move(augmenter));
}

std::int64_t TrialRun::steps_per_epoch() const {
  const auto rows = static_cast<std::int64_t>(train_rows().size());
  return (rows + input_.recipe.batch - 1) / input_.recipe.batch;
}

nn::LaneHyper TrialRun::hyper() const {
  const auto& r = input_.recipe;
  nn::LaneHyper h;
  h.lr = learning_rate(r, step_, steps_per_epoch());
  h.momentum = r.momentum;
  h.nesterov = r.nesterov;
  h.weight_decay = r.weight_decay;
  h.beta1 = r.beta1;
  h.beta2 = r.beta2;
  h.eps = r.eps;
  h.clip_norm = r.clip_norm;
  h.label_smoothing = r.label_smoothing;
  h.numbers = numbers_;
  return h;
}

std::map<std::string, std::string> TrialRun::facts() const {
  auto measurements = nlohmann::json::array();
  for (const auto& measurement : measurements_) measurements.push_back(study::measurement_json(measurement));
  return {{"epoch", std::to_string(epochs_done())},
          {"step", std::to_string(step_)},
          {"loss_sum", std::to_string(std::bit_cast<std::uint64_t>(loss_sum_))},
          {"measurements", measurements.dump()}};
}

std::string TrialRun::without_state() const {
  return "trial " + std::to_string(input_.trial.value) + " has done " + std::to_string(step_) +
         " steps, but its state is not here";
}

TrainerState TrialRun::save() const {
  if (restored_) return *restored_;
  LANISTA_CHECK(holds_state() || step_ == 0, without_state());
  return {state_ ? state_.extract() : std::vector<Tensor>(), facts()};
}

Result<void> TrialRun::restore(TrainerState state) {
  LANISTA_ASSIGN(const auto step, read_number(state.facts, "step"));
  LANISTA_ASSIGN(const auto loss_bits, read_number(state.facts, "loss_sum"));
  LANISTA_ASSIGN(auto measurements, read_measurements(state.facts));
  const auto steps = static_cast<std::int64_t>(step);
  if (steps < 0 || static_cast<std::int64_t>(measurements.size()) != steps / steps_per_epoch()) {
    return Error{Code::kDataLoss,
                 "checkpoint has " + std::to_string(measurements.size()) + " measurements at step " +
                     std::to_string(steps) + " with " + std::to_string(steps_per_epoch()) + " steps an epoch",
                 ""};
  }
  if (state.tensors.empty() && steps > 0) {
    return Error{Code::kDataLoss, "checkpoint has no tensors at step " + std::to_string(steps), ""};
  }
  if (!state_) {
    restored_.reset();
    if (!state.tensors.empty()) restored_ = std::move(state);
  } else if (auto inserted = state_.insert(state.tensors); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  step_ = steps;
  loss_sum_ = std::bit_cast<double>(loss_bits);
  measurements_ = std::move(measurements);
  order_epoch_ = -1;
  prepared_.reset();
  return {};
}

void TrialRun::release() {
  state_ = {};
  restored_.reset();
  prepared_.reset();
  order_epoch_ = -1;
}

Result<void> TrialRun::settle(const nn::Program& program) {
  numbers_ = own_numbers(program.lane_numbers());
  if (state_) return {};
  // Fresh weights would go on under this trial's name and steps.
  if (!restored_ && step_ > 0) return Error{Code::kInternal, without_state(), ""};
  LANISTA_ASSIGN(nn::LaneState fresh, program.make_state(input_.trial_seed));
  if (restored_) {
    if (auto inserted = fresh.insert(restored_->tensors); !inserted) {
      return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
    }
    restored_.reset();
  }
  state_ = std::move(fresh);
  return {};
}

// What attention and other composed operators draw with is not of a node that has the attribute: it is in the key.
std::vector<double> TrialRun::own_numbers(std::span<const nn::LaneNumber> wanted) const {
  std::vector<double> numbers;
  for (const nn::LaneNumber& number : wanted) {
    const graph::Node& node = input_.model.node(number.node);
    const graph::OpDef* def = input_.step_ops->find(node.op);
    const auto spec = std::ranges::find(def->attrs, number.attr, &graph::AttrSpec::name);
    const bool own = spec != def->attrs.end() && spec->per_lane;
    numbers.push_back(own ? graph::OpArgs{{}, node.attrs, *def}.real(number.attr) : number.value);
  }
  return numbers;
}

bool TrialRun::reads_with(const TrialRun& other) const {
  return step_ == other.step_ && input_.data_seed == other.input_.data_seed && input_.data == other.input_.data &&
         augment_text_ == other.augment_text_;
}

void TrialRun::begin_epoch(std::span<TrialRun* const> others) {
  if (order_epoch_ == epoch()) return;
  prepared_.reset();
  order_.reset();
  // Who reads the same batch has the same order.
  for (const TrialRun* other : others) {
    if (other == this || other->order_epoch_ != epoch() || !reads_with(*other)) continue;
    order_ = other->order_;
    prepared_ = other->prepared_;
    break;
  }
  if (!order_) {
    if (input_.epochs != nullptr && !augmenter_.empty()) {
      prepared_ = input_.epochs->get(input_.recipe.augment, augmenter_, input_.data_seed, epoch());
    }
    order_ = std::make_shared<const std::vector<std::int64_t>>(
        prepared_ ? prepared_->rows : data::epoch_order(train_rows(), input_.data_seed, epoch()));
  }
  order_epoch_ = epoch();
}

std::span<const std::int64_t> TrialRun::next_rows() const {
  const auto batch = static_cast<std::size_t>(input_.recipe.batch);
  const std::size_t begin = static_cast<std::size_t>(step_ % steps_per_epoch()) * batch;
  return std::span(*order_).subspan(begin, std::min(batch, order_->size() - begin));
}

bool TrialRun::count_step(double loss, std::size_t samples) {
  loss_sum_ += loss * static_cast<double>(samples);
  ++step_;
  return step_ % steps_per_epoch() == 0;
}

}  // namespace lanista::train
