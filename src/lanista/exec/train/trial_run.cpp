#include "lanista/exec/train/trial_run.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/train/run_updates.h"

namespace lanista::train {

Result<TrialRun> TrialRun::create(const TrainerInput& input) {
  LANISTA_TRY(check_metrics(input));
  LANISTA_ASSIGN(
      auto selection,
      Selection::make(input.recipe, {.seed = input.trial_seed, .rows = input.data->spec().rows}, input.selectors));
  LANISTA_ASSIGN(auto definition, make_trial_definition(input));
  LANISTA_ASSIGN(auto settings, SettingHistory::make(input));
  TrialRun run(std::make_shared<const TrialDefinition>(std::move(definition)), std::move(settings),
               {input.data_seed, std::move(selection)});
  run.start_ = input.start;
  run.state_ = TrialState(BestEpochWeights(input.keep, input.known));
  return run;
}

study::Recipe TrialRun::recipe() const {
  study::Recipe recipe = input().recipe;
  static_cast<study::StepSettings&>(recipe) = settings_.at(progress_.step_count());
  return recipe;
}

std::map<std::string, std::string> TrialRun::facts() const {
  std::map<std::string, std::string> facts;
  progress_.write_to(facts);
  settings_.write_to(facts);
  write_search(search_, facts);
  return facts;
}

std::string TrialRun::missing_state_message() const {
  return "trial " + std::to_string(input().trial.value) + " has done " + std::to_string(progress_.step_count()) +
         " steps, but its state is not in memory";
}

TrainerState TrialRun::save() const {
  LANISTA_CHECK(state_.is_in_memory() || progress_.step_count() == 0, missing_state_message());
  TrainerState out = state_.save(facts(), progress_.step_count());
  if (!out.tensors.empty()) std::ranges::move(rows_.selection().save(), std::back_inserter(out.tensors));
  return out;
}

Result<void> TrialRun::restore(TrainerState state) {
  LANISTA_ASSIGN(TrialProgress progress, TrialProgress::read(state.facts, input().trial, epochs()));
  const std::int64_t steps = progress.step_count();
  if (state.tensors.empty() && steps > 0) {
    return Error{Code::kDataLoss, "checkpoint has no tensors at step " + std::to_string(steps), ""};
  }
  const auto remembered = std::ranges::stable_partition(state.tensors, std::not_fn(Selection::is_selection_tensor));
  const std::vector<Tensor> selected(remembered.begin(), remembered.end());
  state.tensors.erase(remembered.begin(), remembered.end());
  Selection selection = rows_.selection();
  if (steps > 0) LANISTA_TRY(selection.restore(selected));
  const auto& measurements = progress.measurements();
  LANISTA_ASSIGN(SearchRecord search, read_search(state.facts, *definition_));
  LANISTA_ASSIGN(SettingHistory settings, settings_.restored(*definition_, state.facts, measurements, search));
  LANISTA_TRY(state_.restore(std::move(state), progress.step_count(), measurements));
  progress_ = std::move(progress);
  settings_ = std::move(settings);
  search_ = std::move(search);
  rows_.selection() = std::move(selection);
  rows_.forget_pass();
  return {};
}

void TrialRun::release() {
  state_.release();
  rows_.forget_pass();
}

Result<void> TrialRun::admit(const program::Program& program) {
  // Fresh weights would continue under this trial's name and steps.
  if (!state_.is_in_memory() && progress_.step_count() > 0) {
    return Error{Code::kInternal, missing_state_message(), ""};
  }
  return state_.admit(program, input(), start_.get());
}

Result<TrialRun> TrialRun::copy_with_state() const {
  TrialRun out(definition_, settings_.copy(), rows_.without_pass());
  out.progress_ = progress_.without_measurements();
  out.search_.emplace();  // a copy starts no search
  LANISTA_TRY(state_.copy_to(out.state_, input().trial_seed));
  return out;
}

void TrialRun::adapt_batch() {
  const std::int64_t step = progress_.step_count();
  if (!settings_.adapter() || search_ || epochs().begin(step) != step) return;
  auto change = settings_.adapt_batch(step, input().recipe.lr, epochs().pass_rows(epochs().pass(step)));
  if (change) search_.emplace(1, *std::move(change));
}

void TrialRun::begin_pass(std::span<TrialRun* const> others) {
  const std::int64_t pass = epochs().pass(progress_.step_count());
  if (rows_.has_pass(pass)) return;
  for (const TrialRun* other : others) {
    if (other != this && other->rows_.has_pass(pass) && shares_batch(*this, *other)) {
      return rows_.share_pass(other->rows_);
    }
  }
  rows_.begin_pass(*definition_, pass);
}

void TrialRun::record_gradient_noise(double small_square, double square) {
  settings_.note_gradient_noise(small_square, square, updates().rows_in_next());
}

bool TrialRun::count_steps(const program::LaneResult& end) {
  const std::int64_t steps = updates().steps_of(end.steps);
  const std::int64_t epochs_before = epochs().epochs_completed(progress_.step_count());
  progress_.add_steps(steps, end.loss_sum);
  if (end.steps > 0) {
    start_.reset();  // from now on there is a state to resume from
    if (rows_.selection()) rows_.selection().step_done();
  }
  return epochs().epochs_completed(progress_.step_count()) > epochs_before;
}

void TrialRun::record_measurement(std::map<std::string, double> metrics) {
  const std::int64_t step = progress_.step_count();
  Selection& selection = rows_.selection();
  study::Measurement measurement{input().trial, progress_.epochs_done() + 1, progress_.step_count(),
                                 std::move(metrics)};
  if (search_) measurement.branches = *search_;
  const std::int64_t begin = epochs().steps_through(epochs().epochs_completed(step) - 1);
  const std::int64_t trained =
      selection ? selection.num_trained_rows() : epochs().rows_read(step) - epochs().rows_read(begin);
  if (trained > 0) measurement.metrics["train_loss"] = progress_.loss_sum() / static_cast<double>(trained);
  if (selection) measurement.metrics["trained_rows"] = static_cast<double>(trained);
  state_.observe(measurement);
  progress_.add_measurement(std::move(measurement));
  search_.reset();
  selection.begin_epoch();
  if (step == epochs().pass_begin(epochs().pass(step))) rows_.end_pass();
}

}  // namespace lanista::train
