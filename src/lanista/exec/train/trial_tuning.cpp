// The tune search of a trial: its settings by step, its branches, and their part of a state.
#include <algorithm>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

const study::StepSettings& TrialRun::setting_at(std::int64_t step) const {
  const study::StepSettings* numbers = &settings_.front().second;
  for (const auto& [from, setting] : settings_) {
    if (from > step) break;
    numbers = &setting;
  }
  return *numbers;
}

// Adds a setting; values that it does not name stay.
Result<void> TrialRun::add_setting(std::int64_t step, const space::Sample& setting) {
  study::StepSettings numbers = settings_.back().second;
  for (const auto& [name, value] : setting) LANISTA_TRY(study::check_tunable(name));
  LANISTA_TRY(study::apply_sample(numbers, setting));
  if (settings_.back().first == step) settings_.pop_back();
  settings_.emplace_back(step, numbers);
  return {};
}

Result<std::optional<study::TuneRules>> TrialRun::tune_rules_of(const study::Recipe& recipe) {
  const std::string& name = recipe.tune.name;
  if (name.empty()) return std::optional<study::TuneRules>();
  if (!recipe.select.name.empty()) {
    return Error{Code::kInvalidArgument, "a trial that selects its examples cannot tune itself", "train.tune"};
  }
  if (name == study::kAdaptive || name == study::kReplaySchedule) return std::optional<study::TuneRules>();
  auto rules = study::tune_rules(recipe);
  if (!rules) return Error{rules.error().code, rules.error().message, "train.tune"};
  return std::optional(*std::move(rules));
}

Result<void> TrialRun::initialise_settings() {
  const study::Recipe& recipe = input().recipe;
  settings_.assign(1, {0, recipe});
  if (recipe.tune.name == study::kAdaptive) {
    auto adapter = BatchAdapter::make(input().model, *input().step_ops, recipe);
    if (!adapter) return Error{adapter.error().code, adapter.error().message, "data.batch"};
    adapter_ = *std::move(adapter);
    return {};
  }
  if (recipe.tune.name != study::kReplaySchedule) return {};
  if (auto fits = study::check_batches(recipe); !fits)
    return Error{fits.error().code, fits.error().message, "train.tune"};
  LANISTA_ASSIGN(const auto schedule, study::read_schedule(recipe.tune.options));
  for (const study::SettingAt& each : schedule) LANISTA_TRY(add_setting(each.step, each.setting));
  return {};
}

Result<void> TrialRun::restore_settings(const std::map<std::string, std::string>& facts,
                                        std::span<const study::Measurement> measurements) {
  if (!tune_rules() && !adapter_) return {};
  std::optional<BatchAdapter> adapter = adapter_;
  if (adapter) {
    const auto fact = facts.find("noise");
    if (fact == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks 'noise'", ""};
    LANISTA_TRY(adapter->restore(fact->second));
  }
  std::optional<std::vector<study::Branch>> searched;
  if (const auto fact = facts.find("branches"); fact != facts.end()) {
    const auto list = nlohmann::json::parse(fact->second, nullptr, false);
    if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'branches' is not a list", ""};
    searched.emplace();
    for (const auto& item : list) {
      LANISTA_ASSIGN(auto branch, study::branch_from_json(item));
      searched->push_back(std::move(branch));
    }
  }
  const auto before = settings_;
  settings_.assign(1, {0, input().recipe});
  const auto take = [&](const std::vector<study::Branch>& branches) -> Result<void> {
    for (const study::Branch& branch : branches) {
      if (branch.kept) LANISTA_TRY(add_setting(branch.step, branch.setting));
    }
    return {};
  };
  Result<void> taken;
  for (const study::Measurement& measurement : measurements) {
    if (taken) taken = take(measurement.branches);
  }
  if (taken && searched) taken = take(*searched);
  if (!taken) {
    settings_ = before;
    return Error{Code::kDataLoss, taken.error().message, ""};
  }
  search_branches_ = std::move(searched);
  adapter_ = std::move(adapter);
  return {};
}

void TrialRun::adapt_batch() {
  if (!adapter_ || search_branches_ || epochs().begin(step_) != step_) return;
  const auto choice = adapter_->choose(setting().batch, epochs().pass_rows(pass()));
  if (!choice) return;
  const space::Sample next{{"batch", choice->batch}, {"lr", input().recipe.lr * adapter_->lr_factor(choice->batch)}};
  const auto taken = add_setting(step_, next);
  LANISTA_CHECK(taken.ok(), taken ? "" : taken.error().message);
  record_search({{step_, next, 0, std::string(study::kAdapted), choice->goodput_gain, true}}, nullptr);
}

bool TrialRun::is_noise_measured_next() const {
  return adapter_ && adapter_->is_measured(step_, steps_in_next_update(), rows_in_next_update());
}

std::int64_t TrialRun::updates_before_noise_measurement() const {
  return adapter_ ? BatchAdapter::max_updates_in_chunk(step_, steps_per_full_update())
                  : std::numeric_limits<std::int64_t>::max();
}

void TrialRun::record_gradient_noise(double small_square, double square) {
  adapter_->note(small_square, square, rows_in_next_update());
}

bool TrialRun::is_search_due() const {
  if (!tune_rules() || search_branches_) return false;
  return epochs().begin(step_) == step_ && study::is_search_due(*tune_rules(), measurements_);
}

Result<TrialRun> TrialRun::fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed) const {
  if (!state_) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(trial().value) + " cannot branch: there is no state in memory", ""};
  }
  LANISTA_ASSIGN(TrialRun out, copy_with_state());
  out.data_seed_ = data_seed.value_or(data_seed_);
  LANISTA_TRY(out.add_setting(step_, setting));
  return out;
}

Result<TrialRun> TrialRun::copy_with_state() const {
  TrialRun out = copy_without_state();
  LANISTA_ASSIGN(out.state_, state_.clone(trial_seed()));
  return out;
}

// Returns a copy that neither measures nor keeps weights, and has no start.
TrialRun TrialRun::copy_without_state() const {
  TrialRun out(definition_);
  out.data_seed_ = data_seed_;
  out.recalibrate_ = recalibrate_;
  out.selection_ = selection_;
  out.adapter_ = adapter_;
  out.settings_.reserve(settings_.size() + 1);  // a branch adds one
  out.settings_ = settings_;
  out.lane_attr_values_ = lane_attr_values_;
  out.lr_ranges_ = lr_ranges_;
  out.step_ = step_;
  out.branched_at_ = branched_at_;
  out.loss_sum_ = loss_sum_;
  out.search_branches_.emplace();  // a branch has none of its own
  out.select_check_.emplace();
  return out;
}

void TrialRun::record_search(std::vector<study::Branch> branches, TrialRun* winner) {
  search_branches_ = std::move(branches);
  if (winner == nullptr) return;
  settings_ = winner->settings_;
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  start_.reset();
}

std::int64_t TrialRun::rows_in_next_update() const {
  return epochs().rows_read(step_ + steps_in_next_update()) - epochs().rows_read(step_);
}

std::pair<std::int64_t, std::int64_t> TrialRun::search_counts() const {
  std::pair<std::int64_t, std::int64_t> out{0, 0};
  for (const study::Measurement& measurement : measurements_) {
    const auto tries = std::ranges::count_if(measurement.branches, [](const auto& b) { return !b.setting.empty(); });
    if (!measurement.branches.empty()) out = {out.first + 1, tries};
  }
  return out;
}

}  // namespace lanista::train
