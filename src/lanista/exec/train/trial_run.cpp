#include "lanista/exec/train/trial_run.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <iterator>

#include "lanista/base/check.h"
#include "lanista/exec/train/learning_rate.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/graph/flat_graph.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/state_names.h"

namespace lanista::train {
namespace {

// Reads a fact as a number. Doubles are stored as their bits, so that a resumed sum is exact.
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

// Checks that the state belongs to this trial; another trial's weights may only be a start.
Result<void> check_owner(const std::map<std::string, std::string>& facts,
                         const std::vector<study::Measurement>& measurements, TrialId trial) {
  const auto owner = facts.find("trial");
  std::string other = owner != facts.end() && owner->second != std::to_string(trial.value) ? owner->second : "";
  for (const study::Measurement& measurement : measurements) {
    if (measurement.trial != trial) other = std::to_string(measurement.trial.value);
  }
  if (other.empty()) return {};
  return Error{Code::kDataLoss, "checkpoint is of trial " + other + ", not of trial " + std::to_string(trial.value),
               ""};
}

template <class Item>
std::string list_text(const std::vector<Item>& items, nlohmann::json (*json_of)(const Item&)) {
  auto list = nlohmann::json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list.dump();
}

std::span<const study::Metric> own_metrics(const TrainerInput& input) {
  if (input.own_metrics == nullptr) return {};
  return *input.own_metrics;
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

nn::ProgramOptions program_options_of(const TrainerInput& input) {
  nn::ProgramOptions options = program_options_of(input.recipe);
  options.backend = input.backend;
  options.model = &input.model;
  options.budget = input.budget;
  options.operators = input.operators;
  options.step_ops = input.step_ops;
  return options;
}

Result<void> check_predictions(const nn::Program& program, const data::DataSpec& spec) {
  const std::int64_t wanted = spec.outputs();
  if (program.prediction_size() == wanted) return {};
  return Error{Code::kInvalidArgument,
               "the model gives " + std::to_string(program.prediction_size()) + " numbers a sample, data '" +
                   spec.name + "' needs " + std::to_string(wanted),
               ""};
}

Digest lane_group_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops,
                      const nn::Backend& backend) {
  return Hasher().digest(study::program_key(study::structure_key(model, ops), recipe)).text(backend.name()).finish();
}

TrialRun::TrialRun(std::shared_ptr<const TrialDefinition> definition)
    : definition_(std::move(definition)), data_seed_(input().data_seed), recalibrate_(input().recipe.recalibrate) {}

Evaluation evaluation_of(const TrainerInput& input) {
  const data::DataSpec& spec = input.data->spec();
  return Evaluation(input.recipe.loss, input.metrics, spec.width(), own_metrics(input), target_scaling_of(spec));
}

Result<void> check_metrics(const TrainerInput& input) {
  const auto& spec = input.data->spec();
  const step::Loss* loss = step::find_loss(input.recipe.loss);
  const study::Targets targets = spec.targets();
  if (loss == nullptr || loss->kind != targets.kind) {
    return Error{Code::kInvalidArgument,
                 "loss '" + input.recipe.loss + "' does not fit data '" + spec.name + "' with " +
                     std::string(step::target_kind_name(targets.kind)) + " as targets",
                 "train.loss"};
  }
  for (const auto& name : input.metrics) LANISTA_TRY(study::check_metric(name, targets, own_metrics(input)));
  return {};
}

Result<TrialRun> TrialRun::create(const TrainerInput& input) {
  LANISTA_TRY(check_metrics(input));
  const study::Recipe& recipe = input.recipe;
  LANISTA_ASSIGN(auto augmenter, data::Augmenter::make(recipe.augment, input.data->spec()));
  LANISTA_ASSIGN(auto selection, Selection::make(recipe, input.trial_seed, *input.data));
  LANISTA_ASSIGN(auto selection_comparison, data::selection_comparison(recipe.select, recipe.epochs));
  LANISTA_ASSIGN(auto tune_rules, tune_rules_of(recipe));
  const std::int64_t rows = std::ssize(input.data->rows(data::Part::kTrain));
  auto definition = std::make_shared<TrialDefinition>(
      TrialDefinition{.input = input,
                      .augmenter = std::move(augmenter),
                      .key = lane_group_key(input.model, recipe, *input.step_ops, *input.backend),
                      .augment_text = data::augment_text(recipe.augment),
                      .epochs = study::epoch_schedule_of(recipe, rows),
                      .selection_comparison = std::move(selection_comparison),
                      .tune_rules = std::move(tune_rules)});
  // The run frees these when it no longer needs them.
  auto start = std::exchange(definition->input.start, nullptr);
  auto alternative_starts = std::exchange(definition->input.alternative_starts, {});
  TrialRun run(std::move(definition));
  run.start_ = std::move(start);
  run.alternative_starts_ = std::move(alternative_starts);
  run.race_steps_ = input.race_steps;
  run.best_epoch_ = BestEpochWeights(input.keep, input.known);
  run.selection_ = std::move(selection);
  LANISTA_TRY(run.initialise_settings());
  return run;
}

study::Recipe TrialRun::recipe() const {
  study::Recipe recipe = input().recipe;
  static_cast<study::StepSettings&>(recipe) = setting();
  return recipe;
}

std::int64_t TrialRun::recalibration() const {
  const bool begun = measurements_.empty() && branched_at_ == 0;
  return std::max(selection_.recalibration(), begun ? recalibrate_ : 0);
}

std::int64_t TrialRun::steps_left_in_chunk() const {
  std::int64_t end =
      std::min(epochs().steps_through(epochs().epochs_completed(step_) + 1), epochs().pass_begin(pass() + 1));
  for (const auto& [from, setting] : settings_) {
    if (from > step_) end = std::min(end, from);
  }
  return end - step_;
}

nn::LaneHyper TrialRun::hyper(std::int64_t ahead) const {
  const study::StepSettings& now = setting();  // settings change only between chunks
  nn::LaneHyper h;
  const std::int64_t at = step_ + ahead * steps_per_full_update();
  const std::int64_t clock = selection_ && selection_.counts_trained() ? selection_.num_trained_batches() : at;
  h.lr = learning_rate(input().recipe, now, clock, epochs());
  h.momentum = now.momentum;
  h.nesterov = now.nesterov;
  h.weight_decay = now.weight_decay;
  h.beta1 = now.beta1;
  h.beta2 = now.beta2;
  h.eps = now.eps;
  h.clip_norm = now.clip_norm;
  h.label_smoothing = now.label_smoothing;
  h.lane_attrs = lane_attr_values_;
  h.lr_ranges = lr_ranges_;
  return h;
}

std::map<std::string, std::string> TrialRun::facts() const {
  auto measurements = nlohmann::json::array();
  for (const auto& measurement : measurements_) measurements.push_back(study::measurement_json(measurement));
  std::map<std::string, std::string> facts{{"epoch", std::to_string(epochs_done())},
                                           {"step", std::to_string(step_)},
                                           {"loss_sum", std::to_string(std::bit_cast<std::uint64_t>(loss_sum_))},
                                           {"measurements", measurements.dump()}};
  if (branched_at_ > 0) {
    facts["trial"] = std::to_string(input().trial.value);
    facts["branched_at"] = std::to_string(branched_at_);
  }
  if (search_branches_) facts["branches"] = list_text(*search_branches_, study::branch_json);
  if (adapter_) facts["noise"] = adapter_->text();
  if (start_race_) facts["race"] = list_text(*start_race_, study::start_candidate_json);
  if (select_check_) facts["selecting"] = list_text(*select_check_, study::select_branch_json);
  return facts;
}

std::string TrialRun::missing_state_message() const {
  return "trial " + std::to_string(input().trial.value) + " has done " + std::to_string(step_) +
         " steps, but its state is not in memory";
}

TrainerState TrialRun::save() const {
  const auto kept = [this] { return best_epoch_.weights_to_save(step_ - branched_at_); };
  LANISTA_CHECK(holds_state() || step_ == 0, missing_state_message());
  std::vector<Tensor> tensors = restored_ ? restored_->tensors : state_ ? state_.extract() : std::vector<Tensor>();
  if (!tensors.empty()) std::ranges::move(selection_.save(), std::back_inserter(tensors));
  return {std::move(tensors), restored_ ? restored_->facts : facts(), kept()};
}

Result<void> TrialRun::restore(TrainerState state) {
  LANISTA_ASSIGN(const auto step, read_number(state.facts, "step"));
  LANISTA_ASSIGN(const auto loss_bits, read_number(state.facts, "loss_sum"));
  LANISTA_ASSIGN(auto measurements, read_measurements(state.facts));
  LANISTA_TRY(check_owner(state.facts, measurements, input().trial));
  std::uint64_t branched = 0;
  if (state.facts.contains("branched_at")) {
    LANISTA_ASSIGN(branched, read_number(state.facts, "branched_at"));
  }
  const auto steps = static_cast<std::int64_t>(step), first = static_cast<std::int64_t>(branched);
  const bool in_order = first >= 0 && steps >= first;
  if (!in_order || std::ssize(measurements) != epochs().epochs_completed(steps) - epochs().epochs_completed(first)) {
    const std::string since = first > 0 ? " of a branch at step " + std::to_string(first) : "";
    return Error{Code::kDataLoss,
                 "checkpoint has " + std::to_string(measurements.size()) + " measurements at step " +
                     std::to_string(steps) + since + " with " + std::to_string(steps_per_epoch()) + " steps an epoch",
                 ""};
  }
  if (state.tensors.empty() && steps > 0) {
    return Error{Code::kDataLoss, "checkpoint has no tensors at step " + std::to_string(steps), ""};
  }
  const auto remembered = std::ranges::stable_partition(state.tensors, std::not_fn(Selection::is_selection_tensor));
  const std::vector<Tensor> selected(remembered.begin(), remembered.end());
  state.tensors.erase(remembered.begin(), remembered.end());
  Selection selection = selection_;
  if (steps > 0) LANISTA_TRY(selection.restore(selected));
  std::optional<std::vector<study::SelectBranch>> asked;
  if (definition_->selection_comparison) {
    LANISTA_ASSIGN(auto found, read_selection_changes(state.facts, measurements, asked));
    selection.set_changes(std::move(found));
  }
  LANISTA_ASSIGN(BestEpochWeights::RestoredWeights kept, best_epoch_.find(measurements, steps - first, state));
  LANISTA_TRY(restore_settings(state.facts, measurements));
  LANISTA_TRY(restore_race(state.facts, measurements));
  const bool is_copy = kept.step >= 0 && kept.step != steps - first;
  if (state_ && is_copy) LANISTA_TRY(check_weights(kept.weights, state_.on_host().state_format()));
  if (!state_) {
    restored_.reset();
    state.kept.clear();
    if (!state.tensors.empty()) restored_ = std::move(state);
  } else if (auto inserted = state_.on_host().insert(state.tensors); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  step_ = steps;
  branched_at_ = first;
  loss_sum_ = std::bit_cast<double>(loss_bits);
  measurements_ = std::move(measurements);
  best_epoch_.restore(std::move(kept), measurements_);
  selection_ = std::move(selection);
  select_check_ = std::move(asked);
  order_pass_ = -1;
  prepared_.reset();
  return {};
}

void TrialRun::release() {
  state_.drop();
  restored_.reset();
  best_epoch_.release();
  prepared_.reset();
  order_pass_ = -1;
}

Result<void> TrialRun::prepare_state(const nn::Program& program) {
  lane_attr_values_ = lane_attr_values_of(program.lane_attrs());
  lr_ranges_ = lr_ranges_of(program.state_format().layout());
  if (state_) return best_epoch_.reserve_memory(program.state_format(), input().budget);
  // Fresh weights would continue under this trial's name and steps.
  if (!restored_ && step_ > 0) return Error{Code::kInternal, missing_state_message(), ""};
  LANISTA_ASSIGN(nn::LaneState fresh, program.make_state(input().trial_seed));
  if (!restored_ && start_) {
    LANISTA_TRY(apply_start_weights(fresh));
  } else if (restored_) {
    if (auto inserted = fresh.insert(restored_->tensors); !inserted) {
      return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
    }
  }
  LANISTA_TRY(best_epoch_.reserve_memory(program.state_format(), input().budget));
  restored_.reset();
  state_ = RunState(std::move(fresh));
  return {};
}

Result<void> TrialRun::apply_start_weights(nn::LaneState& fresh) const {
  const StartWeights& start = *start_;
  if (auto assigned = fresh.assign(start.tensors); !assigned) {
    return Error{assigned.error().code, "the start does not fit: " + assigned.error().message, ""};
  }
  if (start.steps > 0) fresh.set_step_count(start.steps);
  if (!start.is_complete) return {};
  for (const nn::StateTensorLayout& item : fresh.state_format().layout().items) {
    if (std::ranges::find(start.tensors, item.tensor.name, &Tensor::name) != start.tensors.end()) continue;
    return Error{Code::kInvalidArgument, "the start has no tensor '" + item.tensor.name + "'", ""};
  }
  return {};
}

Result<TrialRun> TrialRun::branch(const TrainerInput& child) const {
  const std::string error_prefix = "trial " + std::to_string(child.trial.value) + " cannot branch from trial " +
                                   std::to_string(input().trial.value) + ": ";
  LANISTA_ASSIGN(TrialRun branch, create(child));
  if (branch.key() != key()) return Error{Code::kInvalidArgument, error_prefix + "it needs another program", ""};
  if (child.data != input().data) return Error{Code::kInvalidArgument, error_prefix + "it has other data", ""};
  if (child.start) return Error{Code::kInvalidArgument, error_prefix + "it has a start of its own", ""};
  if (!holds_state()) return Error{Code::kFailedPrecondition, error_prefix + "there is no state in memory", ""};
  const bool same_rows = branch.epochs().all_rows_at == epochs().all_rows_at;
  if (!same_rows || branch.epochs().begin(step_) != epochs().begin(step_)) {
    return Error{Code::kInvalidArgument, error_prefix + "its epochs begin at other steps", ""};
  }
  branch.step_ = branch.branched_at_ = step_;
  branch.loss_sum_ = loss_sum_;
  // A branch with another selection begins with an empty memory.
  const study::PluginConfig &own = child.recipe.select, &parents = input().recipe.select;
  if (branch.selection_ && own.name == parents.name && own.options == parents.options) {
    LANISTA_TRY(branch.selection_.restore(selection_.save()));
  }
  if (state_) {
    LANISTA_ASSIGN(branch.state_, state_.clone(child.trial_seed));
    return branch;
  }
  TrainerState state{restored_->tensors, branch.facts()};
  set_state_seed(state.tensors, child.trial_seed);
  branch.restored_ = std::move(state);
  return branch;
}

// Returns the lane attributes in the order of `wanted`. Random values of composed operators are part of the key.
std::vector<double> TrialRun::lane_attr_values_of(std::span<const nn::LaneAttr> wanted) const {
  std::vector<double> numbers;
  for (const nn::LaneAttr& number : wanted) {
    const graph::Node& node = input().model.node(number.node);
    const graph::OpDef* def = input().step_ops->find(node.op);
    const auto spec = std::ranges::find(def->attrs, number.attr, &graph::AttrSpec::name);
    const bool own = spec != def->attrs.end() && spec->per_lane;
    numbers.push_back(own ? graph::OpArgs{{}, node.attrs, *def}.real(number.attr) : number.value);
  }
  return numbers;
}

std::vector<nn::LrRange> TrialRun::lr_ranges_of(const nn::StateLayout& layout) const {
  std::vector<nn::LrRange> out;
  for (const nn::StateTensorLayout& item : layout.items) {
    const auto node = study::node_of(item.tensor.name);
    const auto found = node && item.tensor.trained ? input().recipe.rates.find(*node) : input().recipe.rates.end();
    if (found == input().recipe.rates.end()) continue;
    const nn::Range& range = item.range;
    if (!out.empty() && out.back().begin + out.back().count == range.begin && out.back().factor == found->second) {
      out.back().count += range.count;
    } else {
      out.push_back({range.begin, range.count, found->second});
    }
  }
  return out;
}

bool TrialRun::shares_batch_with(const TrialRun& other) const {
  if (selection_ || other.selection_) return false;
  const std::int64_t strides = steps_per_full_update();
  if (strides != other.steps_per_full_update()) return false;
  // If one of them ends its epoch within a larger batch, the other reads more rows.
  if (strides > 1 && steps_left_in_chunk() != other.steps_left_in_chunk()) return false;
  return step_ == other.step_ && epochs().all_rows_at == other.epochs().all_rows_at && data_seed_ == other.data_seed_ &&
         input().data == other.input().data && definition_->augment_text == other.definition_->augment_text;
}

void TrialRun::begin_pass(std::span<TrialRun* const> others) {
  if (order_pass_ == pass()) return;
  prepared_.reset();
  order_.reset();
  // Runs with the same batch share the order.
  for (const TrialRun* other : others) {
    if (other == this || other->order_pass_ != pass() || !shares_batch_with(*other)) continue;
    order_ = other->order_;
    prepared_ = other->prepared_;
    break;
  }
  if (!order_) {
    const std::int64_t share = epochs().pass_rows(pass());
    const bool all = share == std::ssize(train_rows());
    // Selected rows may be anywhere in the pass.
    if (input().epochs != nullptr && !definition_->augmenter.empty() && !selection_ && all) {
      prepared_ = input().epochs->get(input().recipe.augment, definition_->augmenter, data_seed_, pass());
    }
    const auto order = [&] {
      return data::epoch_order(all ? train_rows() : input().data->training_subset(share, data_seed_), data_seed_,
                               pass());
    };
    order_ = std::make_shared<const std::vector<std::int64_t>>(prepared_ ? prepared_->rows : order());
  }
  order_pass_ = pass();
}

std::span<const std::int64_t> TrialRun::rows(std::int64_t ahead) const {
  const auto batch = static_cast<std::size_t>(input().recipe.batch);
  const std::int64_t done = ahead * steps_per_full_update(), steps = steps_of(ahead + 1) - done;
  const std::size_t begin = static_cast<std::size_t>(step_ - epochs().pass_begin(pass()) + done) * batch;
  return std::span(*order_).subspan(begin, std::min(batch * static_cast<std::size_t>(steps), order_->size() - begin));
}

DataPosition TrialRun::data_position() const {
  return {.step = step_,
          .epoch = epochs().epochs_completed(step_),
          .pass = pass(),
          .ends_pass = step_ + 1 == epochs().pass_begin(pass() + 1)};
}

bool TrialRun::count_steps(const nn::LaneResult& end) {
  loss_sum_ = end.loss_sum;
  const std::int64_t steps = steps_of(end.steps);
  step_ += steps;
  if (end.steps > 0) {
    start_.reset();  // from now on there is a state to resume from
    for (AlternativeStartWeights& alternative : alternative_starts_) alternative.weights.reset();
    if (selection_) selection_.step_done();
  }
  return epochs().epochs_completed(step_) > epochs().epochs_completed(step_ - steps);
}

void TrialRun::record_measurement(std::map<std::string, double> metrics) {
  study::Measurement measurement{input().trial, epochs_done() + 1, step_ - branched_at_, std::move(metrics)};
  if (search_branches_) measurement.branches = *search_branches_;
  if (start_race_) measurement.race = *start_race_;
  if (select_check_) measurement.selecting = *select_check_;
  const std::int64_t begin = epochs().steps_through(epochs().epochs_completed(step_) - 1);
  const std::int64_t trained =
      selection_ ? selection_.num_trained_rows() : epochs().rows_read(step_) - epochs().rows_read(begin);
  if (trained > 0) measurement.metrics["train_loss"] = loss_sum_ / static_cast<double>(trained);
  if (selection_) measurement.metrics["trained_rows"] = static_cast<double>(trained);
  best_epoch_.observe(measurement, state_);
  measurements_.push_back(std::move(measurement));
  loss_sum_ = 0;
  search_branches_.reset();
  start_race_.reset();
  select_check_.reset();
  selection_.begin_epoch();
  if (step_ == epochs().pass_begin(pass())) prepared_.reset();
}

}  // namespace lanista::train
