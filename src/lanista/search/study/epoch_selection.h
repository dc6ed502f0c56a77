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

/// Which of its epochs a trial stands for, with its measurement and its weights: the last one (no goals), or the best
/// so far. Best is what the study's own ranking puts first: what keeps to the constraints, then the smaller violation,
/// then the goals in turn, then what train.ties says; of equal epochs the earlier. No other epoch of the trial
/// dominates it, whatever the goals. An epoch whose first goal is not a number is worse than all that have one; where
/// none has one, the last counts.
struct SelectionRule {
  /// Measured in training, for others do not tell epochs apart; the tie goal is the last of them. None: the last epoch.
  std::vector<Goal> goals;
  std::vector<Constraint> constraints;  ///< measured in training

  bool selects_best() const { return !goals.empty(); }
};
/// What train.keep says: the last epoch also where no goal is measured in training.
SelectionRule selection_rule(const StudyConfig& config);
nlohmann::json selection_rule_json(const SelectionRule& rule);
/// The inverse. Errors: kDataLoss.
Result<SelectionRule> selection_rule_from_json(const nlohmann::json& json);

/// Follows the measurements of one trial and says which of them it stands for. A value.
class EpochSelector {
 public:
  EpochSelector() = default;  ///< always the last one
  /// `known`: the trial's hyper-parameters, and params and flops where constraints speak of them and measurements do
  /// not hold them.
  EpochSelector(SelectionRule rule, space::Sample known) : rule_(std::move(rule)), known_(std::move(known)) {}

  bool selects_best() const { return rule_.selects_best(); }
  /// Whether the trial would stand for this measurement, were it the next.
  bool improves(const Measurement& measurement) const;
  /// Takes up the next measurement, epochs ascending. True: from here on the trial stands for it.
  bool observe(const Measurement& measurement);
  /// Forgets all measurements, not the rule.
  void reset_measurements() { best_.reset(); }

 private:
  /// Smaller is better: without a number, violation, goals.
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

/// The place of the measurement that the trial stands for. Needs one.
std::size_t selected_index(EpochSelector kept, std::span<const Measurement> measurements);
/// What the trial stood for at the end of each of its epochs: a list as long, of the same epochs and steps, with the
/// metrics of what was kept by then. Results at equal fidelity are read from it.
std::vector<Measurement> selected_measurements(EpochSelector kept, std::span<const Measurement> measurements);

}  // namespace lanista::study
