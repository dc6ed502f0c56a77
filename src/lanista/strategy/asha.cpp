#include "lanista/strategy/asha.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/strategy/builtin.h"

namespace lanista::strategy {
namespace {

/// Results of a rung, split into the best max(1, floor(n / eta)) and the rest. O(log n) an insertion.
class Rung {
 public:
  /// Whether the new result belongs to the best.
  bool add(double loss, std::int64_t eta) {
    const bool lost = std::isnan(loss);
    const Key key{lost, lost ? 0 : loss, count_++};
    const std::int64_t room = std::max<std::int64_t>(1, count_ / eta);
    best_.insert(key);
    while (static_cast<std::int64_t>(best_.size()) > room) {
      rest_.insert(best_.extract(std::prev(best_.end())));
    }
    while (static_cast<std::int64_t>(best_.size()) < room && !rest_.empty()) {
      best_.insert(rest_.extract(rest_.begin()));
    }
    // What left the best by this insertion may stand before others of the rest, never the other way round.
    while (!rest_.empty() && *rest_.begin() < *std::prev(best_.end())) {
      auto up = rest_.extract(rest_.begin());
      rest_.insert(best_.extract(std::prev(best_.end())));
      best_.insert(std::move(up));
    }
    return best_.contains(key);
  }

 private:
  using Key = std::tuple<bool, double, std::int64_t>;  ///< NaN last; ties by who came first
  std::set<Key> best_, rest_;
  std::int64_t count_ = 0;
};

/// Asynchronous successive halving (Li et al., MLSys'20), stopping variant: a trial that reaches a rung goes on if its
/// value is among the best max(1, floor(n / eta)) of the n values recorded there so far, its own included; otherwise it
/// is stopped for good.
class Asha final : public StoppingRule {
 public:
  Asha(std::vector<std::int64_t> rungs, std::int64_t eta, study::Goal on)
      : epochs_(std::move(rungs)), rungs_(epochs_.size()), eta_(eta), on_(std::move(on)) {}

  void observe(const study::Event& event) override {
    if (const auto* ended = std::get_if<study::Ended>(&event)) stopped_.erase(ended->trial);
    const auto* measured = std::get_if<study::Measured>(&event);
    if (measured == nullptr) return;
    const study::Measurement& m = measured->measurement;
    const auto rung = std::lower_bound(epochs_.begin(), epochs_.end(), m.epoch);
    if (rung == epochs_.end() || *rung != m.epoch) return;
    const auto it = m.metrics.find(on_.metric);
    const double value = it == m.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : it->second;
    const auto index = static_cast<std::size_t>(rung - epochs_.begin());
    if (!rungs_[index].add(on_.maximize ? -value : value, eta_)) stopped_.insert(m.trial);
  }

  study::Verdict verdict(TrialId trial) const override {
    return stopped_.contains(trial) ? study::Verdict::kStop : study::Verdict::kContinue;
  }

  std::int64_t next_decision(TrialId, std::int64_t epoch, std::int64_t budget) const override {
    const auto next = std::upper_bound(epochs_.begin(), epochs_.end(), epoch);
    return next == epochs_.end() ? budget : std::min(*next, budget);
  }

 private:
  std::vector<std::int64_t> epochs_;
  std::vector<Rung> rungs_;
  std::int64_t eta_;
  study::Goal on_;
  std::set<TrialId> stopped_;  ///< and not ended yet
};

/// Goals say which way is better; a metric that is no goal is minimised unless its name speaks of accuracy.
study::Goal watched(const std::vector<study::Goal>& goals, const std::string& metric) {
  if (metric.empty()) return goals.front();
  for (const study::Goal& goal : goals) {
    if (goal.metric == metric) return goal;
  }
  return {metric.find("accuracy") != std::string::npos || metric.find("top") != std::string::npos, metric};
}

Result<std::unique_ptr<StoppingRule>> make_asha(const std::vector<study::Goal>& goals, std::int64_t epochs,
                                                const Options& options) {
  const auto eta = options.at("eta").get<std::int64_t>();
  auto rungs = options.at("rungs").get<std::vector<std::int64_t>>();
  if (rungs.empty()) {
    const auto min = options.at("min").get<std::int64_t>();
    const auto max = options.at("max").get<std::int64_t>() == 0 ? epochs : options.at("max").get<std::int64_t>();
    if (min > max) {
      return Error{
          Code::kInvalidArgument,
          "min is " + std::to_string(min) + "; it must be at most the " + std::to_string(max) + " epochs of max",
          "min"};
    }
    rungs = geometric_rungs(min, eta, max);
  }
  if (std::adjacent_find(rungs.begin(), rungs.end(), std::greater_equal<>()) != rungs.end()) {
    return Error{Code::kInvalidArgument,
                 "rungs is " + options.at("rungs").dump() + "; every rung must be larger than the one before", "rungs"};
  }
  if (goals.empty()) return Error{Code::kInvalidArgument, "asha needs a goal to compare trials by", "on"};
  // At its last epoch a trial ends anyway.
  std::erase_if(rungs, [epochs](std::int64_t rung) { return rung >= epochs; });
  return std::unique_ptr<StoppingRule>(
      std::make_unique<Asha>(std::move(rungs), eta, watched(goals, options.at("on").get<std::string>())));
}

OptionSpec integer(const char* name, std::int64_t value, double min, const char* help) {
  OptionSpec spec;
  spec.name = name;
  spec.kind = OptionSpec::Kind::kInt;
  spec.default_value = value;
  spec.min = min;
  spec.max = 1e9;
  spec.help = help;
  return spec;
}

}  // namespace

std::vector<std::int64_t> geometric_rungs(std::int64_t min, std::int64_t eta, std::int64_t max) {
  LANISTA_CHECK(1 <= min && min <= max && eta >= 2, "rungs need 1 <= min <= max and eta >= 2");
  std::vector<std::int64_t> rungs;
  for (std::int64_t rung = min; rung < max; rung *= eta) {
    rungs.push_back(rung);
    if (rung > max / eta) break;  // the next one is beyond max, perhaps beyond 64 bits
  }
  rungs.push_back(max);
  return rungs;
}

StoppingPlugin asha_plugin() {
  OptionSpec rungs;
  rungs.name = "rungs";
  rungs.kind = OptionSpec::Kind::kIntList;
  rungs.default_value = nlohmann::json::array();
  rungs.min = 1;
  rungs.max = 1e9;
  rungs.help = "epochs at which trials are compared; empty: min, min*eta, ..., max";
  OptionSpec unit;
  unit.name = "unit";
  unit.kind = OptionSpec::Kind::kText;
  unit.default_value = "epochs";
  unit.allowed = {"epochs"};
  unit.help = "what rungs count";
  OptionSpec on;
  on.name = "on";
  on.kind = OptionSpec::Kind::kText;
  on.default_value = "";
  on.help = "metric to compare by; empty: the first goal's";
  return {"asha",
          "asynchronous successive halving: at each rung only the best 1/eta of the trials seen there go on",
          {rungs, integer("min", 1, 1, "first rung, where no list is given"),
           integer("eta", 3, 2, "one of this many trials goes on at a rung"),
           integer("max", 0, 0, "last rung, where no list is given; 0: the trial's epochs"), unit, on},
          make_asha};
}

}  // namespace lanista::strategy
