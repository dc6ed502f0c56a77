// Of a trial that tunes itself: its settings by step, its branches, and what a state tells of them.
#include <algorithm>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/train/trial_run.h"

namespace lanista::train {

const study::Recipe& TrialRun::recipe_at(std::int64_t step) const {
  const study::Recipe* recipe = &input_.recipe;
  for (const auto& [from, setting] : settings_) {
    if (from > step) break;
    recipe = &setting;
  }
  return *recipe;
}

// What a setting does not name stays as it was.
Result<void> TrialRun::add_setting(std::int64_t step, const space::Sample& setting) {
  study::Recipe recipe = settings_.empty() ? input_.recipe : settings_.back().second;
  for (const auto& [name, value] : setting) LANISTA_TRY(study::check_tunable(name));
  LANISTA_TRY(study::apply_sample(recipe, setting));
  if (!settings_.empty() && settings_.back().first == step) settings_.pop_back();
  settings_.emplace_back(step, std::move(recipe));
  return {};
}

Result<void> TrialRun::begin_settings() {
  const study::PluginConfig& tune = input_.recipe.tune;
  settings_.clear();
  if (tune.name.empty()) return {};
  if (selection_) {
    return Error{Code::kInvalidArgument, "a trial that selects its examples cannot tune itself", "train.tune"};
  }
  if (tune.name == study::kAdaptive) {
    auto adapter = BatchAdapter::make(input_.model, *input_.step_ops, input_.recipe);
    if (!adapter) return Error{adapter.error().code, adapter.error().message, "data.batch"};
    adapter_ = *std::move(adapter);
    return {};
  }
  const auto of_tune = [](const Error& error) { return Error{error.code, error.message, "train.tune"}; };
  if (tune.name != study::kPlayedBack) {
    auto rules = study::tune_rules(input_.recipe);
    if (!rules) return of_tune(rules.error());
    tune_rules_ = *std::move(rules);
    return {};
  }
  if (auto fits = study::check_batches(input_.recipe); !fits) return of_tune(fits.error());
  LANISTA_ASSIGN(const auto schedule, study::read_schedule(tune.options));
  for (const study::SettingAt& each : schedule) LANISTA_TRY(add_setting(each.step, each.setting));
  return {};
}

Result<void> TrialRun::restore_settings(const std::map<std::string, std::string>& facts,
                                        std::span<const study::Measurement> measurements) {
  if (!tune_rules_ && !adapter_) return {};
  std::optional<BatchAdapter> adapter = adapter_;
  if (adapter) {
    const auto told = facts.find("noise");
    if (told == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks 'noise'", ""};
    LANISTA_TRY(adapter->restore(told->second));
  }
  std::optional<std::vector<study::Branch>> searched;
  if (const auto told = facts.find("branches"); told != facts.end()) {
    const auto list = nlohmann::json::parse(told->second, nullptr, false);
    if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'branches' is not a list", ""};
    searched.emplace();
    for (const auto& item : list) {
      LANISTA_ASSIGN(auto branch, study::branch_from_json(item));
      searched->push_back(std::move(branch));
    }
  }
  const auto before = std::exchange(settings_, {});
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
  searched_ = std::move(searched);
  adapter_ = std::move(adapter);
  return {};
}

void TrialRun::adapt() {
  if (!adapter_ || searched_ || epochs_.begin(step_) != step_) return;
  const auto choice = adapter_->choose(recipe().batch, epochs_.pass_rows(pass()));
  if (!choice) return;
  const space::Sample setting{{"batch", choice->batch},
                              {"lr", input_.recipe.lr * adapter_->rate_factor(choice->batch)}};
  const auto taken = add_setting(step_, setting);
  LANISTA_CHECK(taken.ok(), taken ? "" : taken.error().message);
  note_search({{step_, setting, 0, std::string(study::kAdapted), choice->gain, true}}, nullptr);
}

bool TrialRun::measures_noise() const { return adapter_ && adapter_->measures(step_, stride(), rows_next()); }

std::int64_t TrialRun::updates_before_noise() const {
  return adapter_ ? BatchAdapter::updates_at_once(step_, full_stride()) : std::numeric_limits<std::int64_t>::max();
}

void TrialRun::note_noise(double small_square, double square) { adapter_->note(small_square, square, rows_next()); }

bool TrialRun::wants_search() const {
  if (!tune_rules_ || searched_) return false;
  return epochs_.begin(step_) == step_ && study::wants_search(*tune_rules_, measurements_);
}

Result<TrialRun> TrialRun::fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed) const {
  if (!state_) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(input_.trial.value) + " cannot branch: there is no state in memory", ""};
  }
  TrainerInput input = input_;
  if (data_seed) input.data_seed = *data_seed;
  LANISTA_ASSIGN(TrialRun out, copied(std::move(input)));
  LANISTA_TRY(out.add_setting(step_, setting));
  return out;
}

Result<TrialRun> TrialRun::copied(TrainerInput input) const {
  TrialRun out = once_more(std::move(input));
  LANISTA_ASSIGN(out.state_, state_.clone(input_.trial_seed));
  return out;
}

TrialRun TrialRun::once_more(TrainerInput input) const {
  input.keep = {};
  input.start.reset();
  input.rivals.clear();
  input.race_steps = 0;
  TrialRun out(std::move(input), *this);  // what is checked and derived of the input is the parent's
  out.settings_ = settings_;
  out.numbers_ = numbers_;
  out.rates_ = rates_;
  out.step_ = step_;
  out.branched_at_ = branched_at_;
  out.loss_sum_ = loss_sum_;
  out.searched_.emplace();  // a branch has none of its own
  out.selecting_.emplace();
  return out;
}

void TrialRun::note_search(std::vector<study::Branch> branches, TrialRun* winner) {
  searched_ = std::move(branches);
  if (winner == nullptr) return;
  settings_ = winner->settings_;
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  input_.start.reset();
}

std::int64_t TrialRun::rows_next() const { return epochs_.rows_read(step_ + stride()) - epochs_.rows_read(step_); }

std::pair<std::int64_t, std::int64_t> TrialRun::searched() const {
  std::pair<std::int64_t, std::int64_t> out{0, 0};
  for (const study::Measurement& measurement : measurements_) {
    const auto tries = std::ranges::count_if(measurement.branches, [](const auto& b) { return !b.setting.empty(); });
    if (!measurement.branches.empty()) out = {out.first + 1, tries};
  }
  return out;
}

}  // namespace lanista::train
