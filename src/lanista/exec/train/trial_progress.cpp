#include "lanista/exec/train/trial_progress.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <nlohmann/json.hpp>

#include "lanista/base/parse_number.h"

namespace lanista::train {
namespace {

// Reads a fact as a number. Doubles are stored as their bits, so that a resumed sum is exact.
Result<std::uint64_t> read_number(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto it = facts.find(name);
  if (it == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks '" + name + "'", ""};
  if (const auto value = parse_number<std::uint64_t>(it->second)) return *value;
  return Error{Code::kDataLoss, "checkpoint's '" + name + "' is not a number: '" + it->second + "'", ""};
}

// Checks that the state belongs to this trial; another trial's weights may only be a start.
Result<void> check_owner(const std::vector<study::Measurement>& measurements, TrialId trial) {
  const auto other = std::ranges::find_if(measurements, [&](const auto& each) { return each.trial != trial; });
  if (other == measurements.end()) return {};
  return Error{
      Code::kDataLoss,
      "checkpoint is of trial " + std::to_string(other->trial.value) + ", not of trial " + std::to_string(trial.value),
      ""};
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

Result<TrialProgress> TrialProgress::read(const std::map<std::string, std::string>& facts, TrialId trial,
                                          const study::EpochSchedule& epochs) {
  TrialProgress out;
  LANISTA_ASSIGN(const auto step, read_number(facts, "step"));
  LANISTA_ASSIGN(const auto loss_bits, read_number(facts, "loss_sum"));
  LANISTA_ASSIGN(out.measurements_, read_measurements(facts));
  LANISTA_TRY(check_owner(out.measurements_, trial));
  const auto steps = static_cast<std::int64_t>(step);
  if (steps < 0 || std::ssize(out.measurements_) != epochs.epochs_completed(steps)) {
    return Error{Code::kDataLoss,
                 "checkpoint has " + std::to_string(out.measurements_.size()) + " measurements at step " +
                     std::to_string(steps) + " with " + std::to_string(epochs.length) + " steps an epoch",
                 ""};
  }
  out.step_ = steps;
  out.loss_sum_ = std::bit_cast<double>(loss_bits);
  return out;
}

void TrialProgress::write_to(std::map<std::string, std::string>& facts) const {
  auto measurements = nlohmann::json::array();
  for (const auto& measurement : measurements_) measurements.push_back(study::measurement_json(measurement));
  facts["epoch"] = std::to_string(epochs_done());
  facts["step"] = std::to_string(step_);
  facts["loss_sum"] = std::to_string(std::bit_cast<std::uint64_t>(loss_sum_));
  facts["measurements"] = measurements.dump();
}

void TrialProgress::add_steps(std::int64_t steps, double loss_sum) {
  step_ += steps;
  loss_sum_ = loss_sum;
}

void TrialProgress::add_measurement(study::Measurement measurement) {
  measurements_.push_back(std::move(measurement));
  loss_sum_ = 0;
}

void TrialProgress::continue_from(const TrialProgress& copy) {
  step_ = copy.step_;
  loss_sum_ = copy.loss_sum_;
}

TrialProgress TrialProgress::without_measurements() const {
  TrialProgress out;
  out.step_ = step_;
  out.loss_sum_ = loss_sum_;
  return out;
}

}  // namespace lanista::train
