#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/constraint.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// The rule of model selection (train.keep, train.ties): which epoch gives a trial's result and its selected weights.
///
/// Without goals it is the last epoch, else the best one so far. Epochs are ordered as trials in the ranking: first
/// those that satisfy the constraints, then by smaller violation, by the goals in turn, and by train.ties. Of equal
/// epochs the earlier wins. An epoch with NaN in its first goal is worse than all others; if all epochs have NaN, the
/// last wins. No epoch of the trial dominates the selected one.
struct SelectionRule {
  /// Goals that are measured in training, then the goal that breaks ties. Empty: the last epoch.
  std::vector<Goal> goals;
  std::vector<Constraint> constraints;  ///< Constraints that are measured in training.

  /// True if the rule selects the best epoch; false: the last epoch.
  bool selects_best() const { return !goals.empty(); }
};
/// Returns the rule that train.keep, the goals and the constraints give. If no goal is measured in training, it is the
/// last epoch.
SelectionRule selection_rule(const StudyConfig& config);
/// Returns a selection rule as a JSON record: "goals", a list of {"maximize", "metric"}, and "subject_to", the texts of
/// the constraints.
nlohmann::json selection_rule_json(const SelectionRule& rule);
/// Reads the record of a selection rule. Errors: kDataLoss (a field is missing or invalid).
Result<SelectionRule> selection_rule_from_json(const nlohmann::json& json);

/// Applies a selection rule to the measurements of one trial, one after the other. A value type.
class EpochSelector {
 public:
  /// A selector that always selects the last measurement.
  EpochSelector() = default;
  /// A selector with `rule`. `known` holds the values that constraints need and measurements lack: the
  /// hyper-parameters, params and flops.
  EpochSelector(SelectionRule rule, space::Sample known) : rule_(std::move(rule)), known_(std::move(known)) {}

  /// True if the selector selects the best epoch; false: the last epoch.
  bool selects_best() const { return rule_.selects_best(); }
  /// True if `measurement`, as the next one of the trial, would become the selected one. Changes nothing. Always true
  /// if the rule selects the last epoch.
  bool improves(const Measurement& measurement) const;
  /// Adds the next measurement; epochs must ascend, which is not checked. Returns true if it is now the selected one.
  bool observe(const Measurement& measurement);
  /// Removes all measurements and keeps the rule.
  void reset_measurements() { best_.reset(); }

 private:
  /// Order of epochs; smaller is better. `lost` is true if the first goal is NaN.
  struct EpochQuality {
    bool lost = false;
    double violation = 0;
    std::vector<std::pair<bool, double>> losses;
    auto operator<=>(const EpochQuality&) const = default;
  };
  EpochQuality standing(const Measurement& measurement) const;
  bool is_better(const EpochQuality& seen) const;

  SelectionRule rule_;
  space::Sample known_;
  std::optional<EpochQuality> best_;
};

/// Returns the index in `measurements` of the selected one. `measurements` is not empty, and `selector` has not
/// observed them.
std::size_t selected_index(EpochSelector selector, std::span<const Measurement> measurements);
/// Returns one measurement for each of `measurements`, with the metrics of the epoch that was selected by then. Epochs
/// and steps are unchanged. Comparisons at equal fidelity read the result.
std::vector<Measurement> selected_measurements(EpochSelector selector, std::span<const Measurement> measurements);

}  // namespace lanista::study
