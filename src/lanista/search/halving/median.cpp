// Median stopping: ends a trial that is worse than the median of complete trials.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

constexpr const char* kVizier = "vizier";
constexpr const char* kOptuna = "optuna";

/// Sorted values of trials at one epoch. NaN is stored as infinity.
using Values = std::vector<double>;

double worst_if_nan(double loss) { return loss == loss ? loss : std::numeric_limits<double>::infinity(); }

/// Returns the median; for an even number of values, the mean of the middle two.
double median(const Values& sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  const double low = sorted[middle - 1], high = sorted[middle];
  return low == high ? low : low / 2 + high / 2;
}

/// A trial ends at an epoch from `first` on if its best loss so far is worse than a median over complete trials.
///
/// The median is of their running averages up to that epoch (Golovin et al., KDD'17, section 3.2.2), or of their losses
/// at that epoch (Optuna). At least `startup` trials must be complete.
class MedianStopping final : public Halving {
 public:
  MedianStopping(study::Goal goal, bool averages, std::int64_t first, std::int64_t startup)
      : goals_{std::move(goal)}, averages_(averages), first_(first), startup_(startup) {}

  void observe(const study::Event& event) override {
    if (const auto* measured = std::get_if<study::Measured>(&event)) judge(measured->measurement);
    const auto* ended = std::get_if<study::Ended>(&event);
    if (ended == nullptr) return;
    if (ended->outcome.kind == study::OutcomeKind::kSucceeded) complete(ended->trial);
    running_.erase(ended->trial);
    stopped_.erase(ended->trial);
  }

  TrialVerdict verdict(TrialId trial) const override {
    return {stopped_.contains(trial) ? study::Verdict::kStop : study::Verdict::kContinue, 0};
  }

 private:
  struct Curve {
    std::map<std::int64_t, double> values;  ///< by epoch: the loss, or the running average
    double sum = 0;
    double best = std::numeric_limits<double>::infinity();
  };

  void judge(const study::Measurement& m) {
    Curve& curve = running_[m.trial];
    const double loss = worst_if_nan(study::losses(goals_, m).front());
    curve.sum += loss;
    curve.best = std::min(curve.best, loss);
    const auto count = static_cast<double>(curve.values.size() + 1);
    curve.values[m.epoch] = averages_ ? worst_if_nan(curve.sum / count) : loss;

    const auto others = completed_.find(m.epoch);
    if (m.epoch < first_ || others == completed_.end() || std::ssize(others->second) < startup_) return;
    if (curve.best > median(others->second)) stopped_.insert(m.trial);
  }

  void complete(TrialId trial) {
    const auto curve = running_.find(trial);
    if (curve == running_.end()) return;
    for (const auto& [epoch, value] : curve->second.values) {
      Values& values = completed_[epoch];
      values.insert(std::upper_bound(values.begin(), values.end(), value), value);
    }
  }

  std::vector<study::Goal> goals_;  ///< exactly one
  bool averages_;
  std::int64_t first_, startup_;
  std::map<TrialId, Curve> running_;
  std::map<std::int64_t, Values> completed_;  ///< by epoch
  std::set<TrialId> stopped_;                 ///< trials to stop that have not ended yet
};

Result<std::unique_ptr<Halving>> make_median(const HalvingContext& judged, const Options& options) {
  if (judged.goals.empty()) return Error{Code::kInvalidArgument, "median needs a goal to compare trials by", "on"};
  const auto on = options.at("on").get<std::string>();
  const auto goal = std::ranges::find(judged.goals, on, &study::Goal::metric);
  if (!on.empty() && goal == judged.goals.end()) {
    return Error{Code::kInvalidArgument, "'" + on + "' is no goal of the study", "on"};
  }
  return std::unique_ptr<Halving>(std::make_unique<MedianStopping>(
      on.empty() ? judged.goals.front() : *goal, options.at("mode").get<std::string>() == kVizier,
      options.at("min").get<std::int64_t>(), options.at("startup").get<std::int64_t>()));
}

}  // namespace

StoppingPlugin median_plugin() {
  return {"median",
          "median stopping: ends a trial if its best value so far is worse than the median of complete trials",
          {count_option("min", 1, 1, "first epoch at which trials are compared"),
           count_option("startup", 5, 1, "number of complete trials before one is stopped"),
           text_option("mode", kVizier,
                       "vizier: median of running averages up to the epoch; optuna: median of values at the epoch",
                       {kVizier, kOptuna}),
           text_option("on", "", "goal to compare by; empty: the first")},
          make_median,
          false,
          {},
          [](const Options& options) { return std::pair(std::string("min"), options.at("min").get<std::int64_t>()); }};
}

}  // namespace lanista::search
