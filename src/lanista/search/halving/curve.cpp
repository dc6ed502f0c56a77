// Curve extrapolation: ends a trial if its curve is unlikely to reach the best result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/search/halving/selected_epoch_events.h"
#include "lanista/search/math/extrapolation.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

/// A trial ends at an epoch from `least` on if its curve is unlikely to end below the best result of the complete
/// trials (Domhan et al., IJCAI'15, section 4.2). Unlikely is a probability below `chance`. At least `startup` trials
/// must be complete. A trial with a loss that is not finite is not ended by this rule.
class CurveExtrapolation final : public Halving {
 public:
  CurveExtrapolation(study::Goal goal, std::int64_t least, double chance, std::int64_t startup)
      : goals_{std::move(goal)}, first_epoch_(least), chance_(chance), startup_(startup) {}

  void observe(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      open_[proposed->trial].epochs = study::full_epochs(proposed->proposal);
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      judge(measured->measurement);
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      const auto trial = open_.extract(ended->trial);
      if (!trial || ended->outcome.kind != study::OutcomeKind::kSucceeded || trial.mapped().losses.empty()) return;
      ++complete_;
      if (trial.mapped().losses.back() < best_) best_ = trial.mapped().losses.back();
    }
  }

  TrialVerdict verdict(TrialId id) const override {
    const auto trial = open_.find(id);
    if (trial == open_.end()) return {study::Verdict::kContinue, first_epoch_};
    return {trial->second.hopeless ? study::Verdict::kStop : study::Verdict::kContinue, first_epoch_};
  }

 private:
  struct Trial {
    std::int64_t epochs = 0;
    std::vector<double> losses;  ///< one for each epoch
    bool hopeless = false;
  };

  void judge(const study::Measurement& m) {
    const auto known = open_.find(m.trial);
    if (known == open_.end()) return;
    Trial& trial = known->second;
    trial.losses.push_back(study::losses(goals_, m).front());
    const std::int64_t seen = std::ssize(trial.losses);
    if (seen < first_epoch_ || seen >= trial.epochs || complete_ < startup_) return;
    if (std::any_of(trial.losses.begin(), trial.losses.end(), [](double loss) { return !std::isfinite(loss); })) return;
    trial.hopeless = probability_below(trial.losses, trial.epochs, best_) < chance_;
  }

  std::vector<study::Goal> goals_;  ///< exactly one
  std::int64_t first_epoch_;
  double chance_;
  std::int64_t startup_;
  std::map<TrialId, Trial> open_;
  std::int64_t complete_ = 0;
  double best_ = std::numeric_limits<double>::infinity();  ///< best last loss of complete trials
};

Result<std::unique_ptr<Halving>> make_curve(const HalvingContext& judged, const Options& options) {
  LANISTA_ASSIGN(study::Goal goal, curve_goal(judged, options, "curve"));
  std::unique_ptr<Halving> rule = std::make_unique<CurveExtrapolation>(
      std::move(goal), options.at("min").get<std::int64_t>(), options.at("chance").get<double>(),
      options.at("startup").get<std::int64_t>());
  // Selected results are compared with selected results.
  return with_selected_epochs(std::move(rule), judged.keep);
}

}  // namespace

StoppingPlugin curve_plugin() {
  using Kind = OptionSpec::Kind;
  return {"curve",
          "ends a trial if its extrapolated curve is unlikely to reach the best result",
          {count_option("min", 4, 3, "epoch before which no trial ends"),
           number_option("chance", Kind::kReal, 0.05, 0, 1,
                         "ends a trial with less than this probability to end "
                         "better than the best"),
           count_option("startup", 3, 1, "number of complete trials before one is stopped"),
           text_option("on", "", "metric to extrapolate; empty: the first goal that is measured in training")},
          make_curve,
          false,
          {},
          [](const Options& options) { return std::pair(std::string("min"), options.at("min").get<std::int64_t>()); }};
}

}  // namespace lanista::search
