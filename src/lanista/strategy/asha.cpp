#include "lanista/strategy/asha.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "lanista/strategy/builtin.h"
#include "lanista/strategy/rung.h"
#include "lanista/study/pareto.h"

namespace lanista::strategy {
namespace {

/// Asynchronous successive halving (Li et al., MLSys'20), stopping variant. Every bracket has rungs of its own; bracket
/// b leaves out the first b of them.
class Asha final : public StoppingRule {
 public:
  Asha(std::vector<std::int64_t> epochs, std::int64_t eta, std::int64_t brackets, std::vector<study::Goal> on,
       std::vector<study::Constraint> constraints)
      : epochs_(std::move(epochs)), eta_(eta), on_(std::move(on)), constraints_(std::move(constraints)) {
    shares_ = bracket_shares(std::ssize(epochs_) + 1, eta, brackets);
    begun_.resize(shares_.size(), 0);
    for (std::size_t b = 0; b < shares_.size(); ++b) rungs_.emplace_back(epochs_.size());
  }

  void observe(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) begin(*proposed);
    if (const auto* measured = std::get_if<study::Measured>(&event)) judge(measured->measurement);
    if (const auto* ended = std::get_if<study::Ended>(&event)) {
      stopped_.erase(ended->trial);
      running_.erase(ended->trial);
    }
  }

  study::Verdict verdict(TrialId trial) const override {
    return stopped_.contains(trial) ? study::Verdict::kStop : study::Verdict::kContinue;
  }

  std::int64_t next_decision(TrialId trial, std::int64_t epoch, std::int64_t budget) const override {
    const auto first = epochs_.begin() + static_cast<std::ptrdiff_t>(bracket_of(trial));
    const auto next = std::upper_bound(first, epochs_.end(), epoch);
    return next == epochs_.end() ? budget : std::min(*next, budget);
  }

 private:
  struct Running {
    std::size_t bracket = 0;
    space::Sample sample;  ///< constraints may speak of it
  };

  /// A trial that was not seen to begin counts as one of bracket 0, which leaves out nothing.
  std::size_t bracket_of(TrialId trial) const {
    const auto it = running_.find(trial);
    return it == running_.end() ? 0 : it->second.bracket;
  }

  /// Trials go to the bracket that is furthest behind its share (D'Hondt): after as many trials as there are shares
  /// every bracket has exactly its own. The trainings of one proposal stay together.
  void begin(const study::Proposed& proposed) {
    running_[proposed.trial] = {0, proposed.proposal.sample};
    if (shares_.size() == 1) return;
    study::Proposal decisions = proposed.proposal;
    decisions.repeat = 0;
    const auto [known, fresh] = bracket_of_decisions_.emplace(study::duplicate_key(decisions), 0);
    if (fresh) known->second = next_bracket();
    running_[proposed.trial].bracket = known->second;
  }

  std::size_t next_bracket() {
    std::size_t next = 0;
    for (std::size_t b = 1; b < shares_.size(); ++b) {
      if ((begun_[b] + 1) * shares_[next] < (begun_[next] + 1) * shares_[b]) next = b;
    }
    ++begun_[next];
    return next;
  }

  void judge(const study::Measurement& m) {
    const auto at = std::lower_bound(epochs_.begin(), epochs_.end(), m.epoch);
    if (at == epochs_.end() || *at != m.epoch) return;
    const auto rung = static_cast<std::size_t>(at - epochs_.begin());
    const std::size_t bracket = bracket_of(m.trial);
    if (rung < bracket) return;
    const auto it = running_.find(m.trial);
    const double violation =
        study::violation(constraints_, m, it == running_.end() ? space::Sample{} : it->second.sample);
    if (!rungs_[bracket][rung].goes_on(study::losses(on_, m), violation, eta_)) stopped_.insert(m.trial);
  }

  std::vector<std::int64_t> epochs_;
  std::int64_t eta_;
  std::vector<study::Goal> on_;
  std::vector<study::Constraint> constraints_;
  std::vector<std::int64_t> shares_, begun_;  ///< of brackets
  std::vector<std::vector<Rung>> rungs_;      ///< by bracket, then as epochs_
  std::map<TrialId, Running> running_;
  std::unordered_map<Digest, std::size_t> bracket_of_decisions_;  ///< only asked, never walked
  std::set<TrialId> stopped_;                                     ///< and not ended yet
};

/// Goals say which way is better; a metric that is no goal is minimised unless its name speaks of accuracy.
std::vector<study::Goal> watched(const std::vector<study::Goal>& goals, const std::string& metric) {
  if (metric.empty()) return goals;
  for (const study::Goal& goal : goals) {
    if (goal.metric == metric) return {goal};
  }
  return {{metric.find("accuracy") != std::string::npos || metric.find("top") != std::string::npos, metric}};
}

Result<std::unique_ptr<StoppingRule>> make_asha(const Judged& judged, const Options& options) {
  const std::int64_t epochs = judged.epochs;
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
  if (judged.goals.empty()) return Error{Code::kInvalidArgument, "asha needs a goal to compare trials by", "on"};
  // At its last epoch a trial ends anyway.
  std::erase_if(rungs, [epochs](std::int64_t rung) { return rung >= epochs; });
  const auto brackets = options.at("brackets").get<std::int64_t>();
  if (brackets > std::ssize(rungs) + 1) {
    return Error{Code::kInvalidArgument,
                 "brackets is " + std::to_string(brackets) + "; with " + std::to_string(rungs.size()) +
                     " rungs below the trial's " + std::to_string(epochs) + " epochs it must be at most " +
                     std::to_string(rungs.size() + 1),
                 "brackets"};
  }
  return std::unique_ptr<StoppingRule>(std::make_unique<Asha>(
      std::move(rungs), eta, brackets, watched(judged.goals, options.at("on").get<std::string>()), judged.constraints));
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

std::vector<std::int64_t> bracket_shares(std::int64_t rungs, std::int64_t eta, std::int64_t brackets) {
  std::vector<std::int64_t> shares;
  std::int64_t power = 1;                       // eta to the number of rungs that a bracket has before the last
  constexpr std::int64_t kLargest = 1'000'000;  // beyond, shares are as good as infinite
  for (std::int64_t s = 0; s < rungs; ++s, power = std::min(power * eta, kLargest)) {
    if (s >= rungs - brackets) shares.insert(shares.begin(), (rungs * power + s) / (s + 1));
  }
  return shares;
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
  on.help = "metric to compare by; empty: the goals, several of them by fronts";
  return {"asha",
          "asynchronous successive halving: at each rung only the best 1/eta of the trials seen there go on",
          {rungs, integer("min", 1, 1, "first rung, where no list is given"),
           integer("eta", 3, 2, "one of this many trials goes on at a rung"),
           integer("max", 0, 0, "last rung, where no list is given; 0: the trial's epochs"),
           integer("brackets", 1, 1, "1: all trials stand at every rung; n: some leave out the first 1 to n - 1 rungs"),
           unit, on},
          make_asha};
}

}  // namespace lanista::strategy
