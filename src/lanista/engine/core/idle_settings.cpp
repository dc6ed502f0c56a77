#include "lanista/engine/core/idle_settings.h"

#include <algorithm>
#include <optional>

#include "lanista/model/autodiff/optimizer.h"

namespace lanista::engine {
namespace {

/// The values that a hyper-parameter may have in the space: those of its lists and whole ranges, and the bounds of
/// other ranges. Empty: the space does not vary it.
std::vector<space::Value> values_of(const study::StudyConfig& config, const std::string& name) {
  std::vector<space::Value> values;
  constexpr std::int64_t kMostListed = 1000;
  for (const space::Parameter& parameter : config.space.params.parameters()) {
    if (parameter.name != name) continue;
    const std::int64_t count = space::domain_size(parameter.domain).value_or(2);
    for (std::int64_t i = 0; i < std::min(count, kMostListed); ++i) {
      values.push_back(space::domain_value(parameter.domain, i, count));
    }
  }
  return values;
}

bool contains(const std::vector<space::Value>& values, const std::string& text) {
  return std::ranges::any_of(values, [&](const space::Value& value) { return space::value_text(value) == text; });
}

std::string epochs_text(std::int64_t epochs) { return std::to_string(epochs) + (epochs == 1 ? " epoch" : " epochs"); }

double number_of(const space::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

void add_warmup(const study::StudyConfig& config, std::vector<std::string>& out) {
  const std::vector<space::Value> sampled = values_of(config, "warmup_epochs");
  double least = sampled.empty() ? config.train.schedule.warmup_epochs : number_of(sampled.front());
  for (const space::Value& value : sampled) least = std::min(least, number_of(value));
  const std::int64_t epochs = config.train.length.epochs;
  if (least <= 0 || least < static_cast<double>(epochs)) return;
  out.push_back((sampled.empty() ? "train" : "space.params") + std::string(".warmup_epochs is ") +
                space::value_text(least) + (sampled.empty() ? "" : " or more") + ", and trials have " +
                epochs_text(epochs) + ", so the learning rate never reaches lr before their end; lower it, or raise " +
                "train.epochs");
}

void add_step_schedule(const study::StudyConfig& config, std::vector<std::string>& out) {
  std::vector<space::Value> schedules = values_of(config, "schedule");
  const bool is_sampled = !schedules.empty();
  if (!is_sampled) schedules.emplace_back(config.train.schedule.name);
  const study::ScheduleConfig& schedule = config.train.schedule;
  const bool is_late = schedule.step_every >= config.train.length.epochs;
  if (!contains(schedules, "step") || (!is_late && schedule.step_factor != 1)) return;
  out.push_back("schedule step never lowers the learning rate, since " +
                (is_late ? "train.step_every is " + std::to_string(schedule.step_every) + " and trials have " +
                               epochs_text(config.train.length.epochs)
                         : std::string("train.step_factor is 1")) +
                (contains(schedules, "constant") ? "; it is equal to constant, which space.params lists too" : "") +
                (is_late ? "; lower train.step_every, or raise train.epochs" : ""));
}

/// Adds settings of section train that no optimiser of the study reads.
void add_unread_numbers(const study::StudyConfig& config, std::vector<std::string>& out) {
  std::vector<space::Value> optimizers = values_of(config, "optimizer");
  if (optimizers.empty()) optimizers.emplace_back(config.train.optimizer.name);
  std::string names;
  for (const space::Value& each : optimizers) names += (names.empty() ? "" : ", ") + space::value_text(each);
  const study::OptimizerConfig& set = config.train.optimizer;
  const std::pair<const char*, bool> numbers[] = {{"momentum", set.momentum.has_value()},
                                                  {"nesterov", set.nesterov},
                                                  {"beta1", set.beta1.has_value()},
                                                  {"beta2", set.beta2.has_value()},
                                                  {"eps", set.eps.has_value()}};
  for (const auto& [name, is_set] : numbers) {
    const auto is_read = [&](const space::Value& value) {
      const autodiff::Optimizer* optimizer = autodiff::find_optimizer(space::value_text(value));
      return optimizer == nullptr || optimizer->reads(name);
    };
    if (!is_set || std::ranges::any_of(optimizers, is_read)) continue;
    out.push_back("train." + std::string(name) + " has no effect on " + names + "; it is a number of " +
                  autodiff::optimizers_reading(name));
  }
  const bool is_zero = values_of(config, "momentum").empty() && set.momentum == 0.0;
  if (set.nesterov && is_zero) out.emplace_back("train.nesterov has no effect, because train.momentum is 0");
}

}  // namespace

std::vector<std::string> idle_settings(const study::StudyConfig& config) {
  std::vector<std::string> out;
  add_warmup(config, out);
  add_step_schedule(config, out);
  add_unread_numbers(config, out);
  return out;
}

void erase_unread_numbers(nlohmann::json& settings, const std::string& optimizer) {
  const autodiff::Optimizer* own = autodiff::find_optimizer(optimizer);
  if (own == nullptr || !settings.is_object()) return;
  for (const autodiff::Optimizer& other : autodiff::optimizers()) {
    for (const autodiff::Optimizer::Number& number : other.numbers) {
      if (!own->reads(number.name)) settings.erase(number.name);
    }
  }
}

}  // namespace lanista::engine
