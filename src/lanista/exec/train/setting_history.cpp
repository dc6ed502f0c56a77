#include "lanista/exec/train/setting_history.h"

#include "lanista/base/check.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {

Result<SettingHistory> SettingHistory::make(const TrainerInput& input) {
  const study::Recipe& recipe = input.recipe;
  SettingHistory out;
  out.settings_.assign(1, {0, recipe});
  if (recipe.tune.name == study::kAdaptive) {
    auto adapter = BatchAdapter::make(input.model, *input.step_ops, recipe);
    if (!adapter) return Error{adapter.error().code, adapter.error().message, "data.batch"};
    out.adapter_ = *std::move(adapter);
    return out;
  }
  if (recipe.tune.name != study::kReplaySchedule) return out;
  if (auto fits = study::check_batches(recipe); !fits)
    return Error{fits.error().code, fits.error().message, "train.tune"};
  LANISTA_ASSIGN(const auto schedule, study::read_schedule(recipe.tune.options));
  for (const study::SettingAt& each : schedule) LANISTA_TRY(out.add(each.step, each.setting));
  return out;
}

const study::StepSettings& SettingHistory::at(std::int64_t step) const {
  const study::StepSettings* numbers = &settings_.front().second;
  for (const auto& [from, setting] : settings_) {
    if (from > step) break;
    numbers = &setting;
  }
  return *numbers;
}

std::int64_t SettingHistory::end_of_setting(std::int64_t step) const {
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const auto& [from, setting] : settings_) {
    if (from > step) end = std::min(end, from);
  }
  return end;
}

Result<void> SettingHistory::add(std::int64_t step, const space::Sample& setting) {
  study::StepSettings numbers = settings_.back().second;
  for (const auto& [name, value] : setting) LANISTA_TRY(study::check_tunable(name));
  LANISTA_TRY(study::apply_sample(numbers, setting));
  if (settings_.back().first == step) settings_.pop_back();
  settings_.emplace_back(step, numbers);
  return {};
}

void SettingHistory::note_gradient_noise(double small_square, double square, std::int64_t rows) {
  adapter_->note(small_square, square, rows);
}

std::optional<study::Branch> SettingHistory::adapt_batch(std::int64_t step, double first_lr, std::int64_t pass_rows) {
  if (!adapter_) return std::nullopt;
  const auto choice = adapter_->choose(at(step).batch, pass_rows);
  if (!choice) return std::nullopt;
  const space::Sample next{{"batch", choice->batch}, {"lr", first_lr * adapter_->lr_factor(choice->batch)}};
  const auto taken = add(step, next);
  LANISTA_CHECK(taken.ok(), taken ? "" : taken.error().message);
  return study::Branch{step, next, 0, std::string(study::kAdapted), choice->goodput_gain, true};
}

SettingHistory SettingHistory::copy() const {
  SettingHistory out;
  out.settings_.reserve(settings_.size() + 1);
  out.settings_ = settings_;
  out.adapter_ = adapter_;
  return out;
}

void SettingHistory::write_to(std::map<std::string, std::string>& facts) const {
  if (adapter_) facts["noise"] = adapter_->text();
}

Result<SettingHistory> SettingHistory::restored(const TrialDefinition& definition,
                                                const std::map<std::string, std::string>& facts,
                                                std::span<const study::Measurement> measurements,
                                                const SearchRecord& search) const {
  SettingHistory out = *this;
  if (!definition.tune_rules && !adapter_) return out;
  if (adapter_) {
    const auto fact = facts.find("noise");
    if (fact == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks 'noise'", ""};
    LANISTA_TRY(out.adapter_->restore(fact->second));
  }
  out.settings_.assign(1, {0, definition.input.recipe});
  const auto take = [&](const std::vector<study::Branch>& branches) -> Result<void> {
    for (const study::Branch& branch : branches) {
      if (branch.kept) LANISTA_TRY(out.add(branch.step, branch.setting));
    }
    return {};
  };
  Result<void> taken;
  for (const study::Measurement& measurement : measurements) {
    if (taken) taken = take(measurement.branches);
  }
  if (taken && search) taken = take(*search);
  if (!taken) return Error{Code::kDataLoss, taken.error().message, ""};
  return out;
}

}  // namespace lanista::train
