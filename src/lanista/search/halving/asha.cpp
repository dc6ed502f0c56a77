#include "lanista/search/halving/asha.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/search/halving/brackets.h"
#include "lanista/search/halving/rung.h"
#include "lanista/search/halving/rung_ranking.h"
#include "lanista/search/halving/selected_epoch_events.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

constexpr const char* kStopping = "stopping";
constexpr const char* kPromotion = "promotion";
constexpr const char* kCount = "count";
constexpr const char* kRay = "ray";
constexpr const char* kSyneTune = "syne_tune";
constexpr const char* kOptuna = "optuna";

/// Asynchronous successive halving (Li et al., MLSys'20), stopping variant: a trial that is not promoted at a rung
/// ends.
class StoppingAsha final : public Halving {
 public:
  StoppingAsha(Brackets brackets, std::int64_t eta, RungRule rule, std::int64_t bootstrap, std::vector<study::Goal> on,
               std::vector<study::Constraint> constraints)
      : brackets_(std::move(brackets)),
        eta_(eta),
        bootstrap_(bootstrap),
        on_(std::move(on)),
        constraints_(std::move(constraints)) {
    for (std::size_t b = 0; b < brackets_.count(); ++b) rungs_.emplace_back(brackets_.rungs().size(), Rung(rule));
  }

  void observe(const study::Event& event) override {
    brackets_.observe(event);
    if (const auto* measured = std::get_if<study::Measured>(&event)) judge(measured->measurement);
    if (const auto* ended = std::get_if<study::Ended>(&event)) stopped_.erase(ended->trial);
  }

  TrialVerdict verdict(TrialId trial) const override {
    if (stopped_.contains(trial)) return {study::Verdict::kStop, 0};
    const Brackets::TrialProgress running = brackets_.of(trial);
    const auto next = brackets_.next_rung(running.bracket, running.epoch);
    return next ? TrialVerdict{study::Verdict::kContinue, brackets_.rungs()[*next]} : kContinueToBudget;
  }

 private:
  void judge(const study::Measurement& m) {
    const Brackets::TrialProgress running = brackets_.of(m.trial);
    const auto rung = brackets_.rung_at(running.bracket, m.epoch);
    if (!rung) return;
    const double violation = study::violation(constraints_, m, running.sample);
    Rung& there = rungs_[running.bracket][*rung];
    const bool is_promoted = there.add(study::losses(on_, m), violation, eta_);
    if (!is_promoted || there.num_results() <= bootstrap_) stopped_.insert(m.trial);
  }

  Brackets brackets_;
  std::int64_t eta_;
  std::int64_t bootstrap_;  ///< number of first trials at a rung that are stopped
  std::vector<study::Goal> on_;
  std::vector<study::Constraint> constraints_;
  std::vector<std::vector<Rung>> rungs_;  ///< by bracket, then by index of the rung
  std::set<TrialId> stopped_;             ///< trials to stop that have not ended yet
};

/// Asynchronous successive halving (Li et al., MLSys'20, algorithm 2), promotion variant: every trial pauses at its
/// rungs.
///
/// Whenever a slot is free, the best floor(n / eta) of the n results at a rung are promoted, the highest rung first.
/// The order of arrival does not matter. If no new trials come and no trial has reached the end, the best trial of the
/// highest rung with a paused trial is promoted, also if its rung has fewer than eta results.
class PromotionAsha final : public Halving {
 public:
  PromotionAsha(Brackets brackets, std::int64_t eta, std::int64_t epochs, std::vector<study::Goal> on,
                std::vector<study::Constraint> constraints, bool closes_unfilled)
      : brackets_(std::move(brackets)),
        eta_(eta),
        epochs_(epochs),
        on_(std::move(on)),
        constraints_(std::move(constraints)),
        closes_unfilled_(closes_unfilled) {
    for (std::size_t b = 0; b < brackets_.count(); ++b) rankings_.emplace_back(brackets_.rungs().size());
  }

  void observe(const study::Event& event) override {
    brackets_.observe(event);
    if (const auto* measured = std::get_if<study::Measured>(&event)) {
      const study::Measurement& m = measured->measurement;
      const Brackets::TrialProgress running = brackets_.of(m.trial);
      if (m.epoch >= epochs_) has_reached_end_ = true;
      const auto rung = brackets_.rung_at(running.bracket, m.epoch);
      if (!rung) return;
      rankings_[running.bracket][*rung].add(m.trial, study::losses(on_, m),
                                            study::violation(constraints_, m, running.sample));
    } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
      waiting_[paused->trial] = paused->epoch;
      training_.erase(paused->trial);
    } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
      waiting_.erase(resumed->trial);
      training_.insert(resumed->trial);
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      waiting_.erase(ended->trial);
      training_.erase(ended->trial);
    } else if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      training_.insert(proposed->trial);
    }
  }

  TrialVerdict verdict(TrialId) const override { return kContinueToBudget; }

  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    const std::vector<std::size_t> brackets = brackets_.upcoming(fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      fresh[i].horizon = study::full_epochs(fresh[i]);
      fresh[i].budget = std::min(next_budget(brackets[i], 0), fresh[i].horizon);
    }
  }

  Promotions advance(std::int64_t count, bool has_new_trials) const override {
    Promotions out = advance_full_rungs(count);
    const bool closes = closes_unfilled_ && !has_new_trials && !has_reached_end_ && training_.empty();
    if (closes && out.members.empty()) {
      if (auto best = best_waiting()) out.members.emplace_back(*std::move(best));
    }
    return out;
  }

 private:
  /// Returns the promotions of rungs with at least eta results.
  Promotions advance_full_rungs(std::int64_t count) const {
    Promotions out;
    if (waiting_.empty()) return out;
    for (std::size_t rung = brackets_.rungs().size(); rung-- > 0;) {
      for (std::size_t bracket = 0; bracket < rankings_.size(); ++bracket) {
        const RungRanking& ranking = rankings_[bracket][rung];
        for (const TrialId trial : ranking.best(ranking.num_results() / eta_)) {
          if (std::ssize(out.members) >= count) return out;
          const auto at = waiting_.find(trial);
          if (at == waiting_.end() || at->second != brackets_.rungs()[rung]) continue;
          out.members.emplace_back(ResumeTrial{trial, next_budget(bracket, at->second)});
        }
      }
    }
    return out;
  }

  /// Returns the promotion of the best paused trial of the highest rung that has one; nullopt if there is none.
  std::optional<ResumeTrial> best_waiting() const {
    for (std::size_t rung = brackets_.rungs().size(); rung-- > 0;) {
      for (std::size_t bracket = 0; bracket < rankings_.size(); ++bracket) {
        const RungRanking& ranking = rankings_[bracket][rung];
        for (const TrialId trial : ranking.best(ranking.num_results())) {
          const auto at = waiting_.find(trial);
          if (at == waiting_.end() || at->second != brackets_.rungs()[rung]) continue;
          return ResumeTrial{trial, next_budget(bracket, at->second)};
        }
      }
    }
    return std::nullopt;
  }

  std::int64_t next_budget(std::size_t bracket, std::int64_t epoch) const {
    const auto rung = brackets_.next_rung(bracket, epoch);
    return rung ? brackets_.rungs()[*rung] : epochs_;
  }

  Brackets brackets_;
  std::int64_t eta_, epochs_;
  std::vector<study::Goal> on_;
  std::vector<study::Constraint> constraints_;
  std::vector<std::vector<RungRanking>> rankings_;  ///< by bracket, then by index of the rung
  std::map<TrialId, std::int64_t> waiting_;         ///< paused trials with their epoch
  std::set<TrialId> training_;                      ///< running trials
  bool has_reached_end_ = false;                    ///< a trial has trained its whole schedule
  bool closes_unfilled_;                            ///< false: the first rules, by which a rung needs eta results
};

Result<std::unique_ptr<Halving>> make_asha(const HalvingContext& judged, const Options& options) {
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
  // At its last epoch a trial ends in any case.
  std::erase_if(rungs, [epochs](std::int64_t rung) { return rung >= epochs; });
  const auto brackets = options.at("brackets").get<std::int64_t>();
  if (brackets > std::ssize(rungs) + 1) {
    return Error{Code::kInvalidArgument,
                 "brackets is " + std::to_string(brackets) + "; with " + std::to_string(rungs.size()) +
                     " rungs below the trial's " + std::to_string(epochs) + " epochs it must be at most " +
                     std::to_string(rungs.size() + 1),
                 "brackets"};
  }
  const auto on = comparison_goals(judged.goals, options.at("on").get<std::string>());
  Brackets assigned(std::move(rungs), eta, brackets);
  std::unique_ptr<Halving> rule;
  const std::string mode = options.value("mode", kCount);
  const auto bootstrap = options.value("bootstrap", std::int64_t{0});
  const bool promotes = options.value("type", kStopping) == kPromotion;
  if (promotes && (mode != kCount || bootstrap > 0)) {
    const std::string given = mode != kCount ? "mode is " + mode : "bootstrap is " + std::to_string(bootstrap);
    return Error{Code::kInvalidArgument, given + "; that is for type: stopping, promotion has one rule",
                 mode != kCount ? "mode" : "bootstrap"};
  }
  if ((mode == kRay || mode == kSyneTune) && on.size() > 1) {
    return Error{Code::kInvalidArgument,
                 "mode is " + mode + ", which compares by one number, and there are " + std::to_string(on.size()) +
                     " goals; name one of them with on, or leave mode at count",
                 "mode"};
  }
  if (promotes) {
    rule = std::make_unique<PromotionAsha>(std::move(assigned), eta, epochs, on, judged.constraints,
                                           judged.rules > study::kFirstRules);
  } else {
    const RungRule by = mode == kRay ? RungRule::kRay : mode == kSyneTune ? RungRule::kSyneTune : RungRule::kCount;
    rule = std::make_unique<StoppingAsha>(std::move(assigned), eta, by, bootstrap, on, judged.constraints);
  }
  // The result at a rung is the selected one up to its epoch.
  return with_selected_epochs(std::move(rule), judged.keep);
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
  std::int64_t power = 1;                       // eta to the power of the number of rungs before the bracket's last one
  constexpr std::int64_t kLargest = 1'000'000;  // larger shares count as equal
  for (std::int64_t s = 0; s < rungs; ++s, power = std::min(power * eta, kLargest)) {
    if (s >= rungs - brackets) shares.insert(shares.begin(), (rungs * power + s) / (s + 1));
  }
  return shares;
}

StoppingPlugin asha_plugin() {
  OptionSpec type =
      text_option("type", kStopping,
                  "stopping: a trial that is not good enough at a rung ends; promotion: trials pause there, and the "
                  "best continue",
                  {kStopping, kPromotion});
  OptionSpec mode =
      text_option("mode", kCount,
                  "condition to continue at a rung with n trials; count, optuna: fewer than max(1, floor(n/eta)) are "
                  "better; ray: no worse than the quantile of the others; syne_tune: at most n/eta are better",
                  {kCount, kRay, kSyneTune, kOptuna});
  OptionSpec bootstrap = count_option("bootstrap", 0, 0, "number of first trials at a rung that are stopped (Optuna)");
  // Studies that do not set these options keep their stored bytes.
  for (OptionSpec* spec : {&type, &mode, &bootstrap}) spec->omits_default = true;
  return {"asha",
          "asynchronous successive halving: at each rung the best 1/eta of the trials so far continue",
          {number_option("rungs", OptionSpec::Kind::kIntList, nlohmann::json::array(), 1, 1e9,
                         "epochs at which trials are compared; empty: min, min*eta, ..., max"),
           count_option("min", 1, 1, "first rung, without a list of rungs"),
           count_option("eta", 3, 2, "one of eta trials continues at a rung"),
           count_option("max", 0, 0, "last rung, without a list of rungs; 0: the trial's epochs"),
           count_option("brackets", 1, 1,
                        "1: all trials are compared at each rung; n: some skip the first 1 to n - 1 rungs"),
           text_option("unit", "epochs", "unit of rungs", {"epochs"}),
           text_option("on", "", "metric to compare by; empty: the goals, several of them by Pareto fronts"), type,
           mode, bootstrap},
          make_asha,
          false,
          [](const Options& options) { return options.value("type", kStopping) == kPromotion; },
          [](const Options& options) {
            const auto rungs = options.at("rungs").get<std::vector<std::int64_t>>();
            return rungs.empty() ? std::pair(std::string("min"), options.at("min").get<std::int64_t>())
                                 : std::pair(std::string("rungs"), rungs.front());
          }};
}

}  // namespace lanista::search
