// Patience: ends a trial that no longer improves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/constraint.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

/// A trial ends at the first epoch from `least` on that is `epochs` epochs after its last improvement (early stopping
/// of Keras and PyTorch Lightning).
///
/// An improvement is a loss that is smaller than that of the last improvement by more than `min_delta`; the first
/// number is one. The rule reads measured losses, not selected ones: it compares a trial only with itself, and the best
/// loss so far never gets worse.
class Patience final : public Halving {
 public:
  Patience(study::Goal goal, std::int64_t epochs, double min_delta, std::int64_t least)
      : goals_{std::move(goal)}, epochs_(epochs), min_delta_(min_delta), first_epoch_(least) {}

  void observe(const study::Event& event) override {
    if (const auto* measured = std::get_if<study::Measured>(&event)) judge(measured->measurement);
    if (const auto* ended = std::get_if<study::Ended>(&event)) open_.erase(ended->trial);
  }

  TrialVerdict verdict(TrialId id) const override {
    const auto found = open_.find(id);
    const Trial trial = found == open_.end() ? Trial{} : found->second;
    const std::int64_t end = std::max(first_epoch_, trial.improved + epochs_);
    if (trial.epoch >= end) return {study::Verdict::kStop, 0};
    return {study::Verdict::kContinue, end};
  }

 private:
  struct Trial {
    double best = std::numeric_limits<double>::quiet_NaN();  ///< loss of the last improvement
    std::int64_t improved = 0;                               ///< epoch of the last improvement
    std::int64_t epoch = 0;                                  ///< last measured epoch
  };

  void judge(const study::Measurement& m) {
    Trial& trial = open_[m.trial];
    trial.epoch = m.epoch;
    const double loss = study::losses(goals_, m).front();
    const bool improves = std::isnan(trial.best) ? !std::isnan(loss) : loss < trial.best - min_delta_;
    if (!improves) return;
    trial.best = loss;
    trial.improved = m.epoch;
  }

  std::vector<study::Goal> goals_;  ///< exactly one
  std::int64_t epochs_;
  double min_delta_;
  std::int64_t first_epoch_;
  std::map<TrialId, Trial> open_;
};

Result<std::unique_ptr<Halving>> make_patience(const HalvingContext& judged, const Options& options) {
  LANISTA_ASSIGN(study::Goal goal, curve_goal(judged, options, "patience"));
  return std::unique_ptr<Halving>(std::make_unique<Patience>(std::move(goal), options.at("epochs").get<std::int64_t>(),
                                                             options.at("min_delta").get<double>(),
                                                             options.at("min").get<std::int64_t>()));
}

}  // namespace

StoppingPlugin patience_plugin() {
  using Kind = OptionSpec::Kind;
  return {"patience",
          "ends a trial that has not improved for some epochs",
          {count_option("epochs", 5, 1, "epochs without an improvement after which a trial ends"),
           number_option("min_delta", Kind::kReal, 0.0, 0, 1e300, "least improvement that counts"),
           count_option("min", 1, 1, "epoch before which no trial ends"),
           text_option("on", "", "metric that must improve; empty: the first goal that is measured in training")},
          make_patience,
          false,
          {},
          [](const Options& options) {
            const auto epochs = options.at("epochs").get<std::int64_t>(), min = options.at("min").get<std::int64_t>();
            return epochs >= min ? std::pair(std::string("epochs"), epochs) : std::pair(std::string("min"), min);
          }};
}

}  // namespace lanista::search
