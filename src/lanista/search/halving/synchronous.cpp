// Synchronous successive halving and Hyperband: a rung waits for all of its trials, and then the best of them are
// promoted.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/search/halving/hyperband.h"
#include "lanista/search/halving/rung_ranking.h"
#include "lanista/search/halving/selected_epoch_events.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
constexpr const char* kTogether = "together";
constexpr const char* kInTurn = "in_turn";

/// Brackets of successive halving (Jamieson and Talwalkar, AISTATS'16), one after the other in a cycle (Hyperband: Li
/// et al., JMLR'18).
///
/// Trials pause at the rungs. When all trials of a rung have arrived or ended, the best floor(n / eta^i) of the n that
/// began are promoted, and the others end. After failures there may be fewer. A trial that fails, is cancelled or has
/// NaN ranks behind all others and keeps its place: no other trial replaces it, and the rung does not wait for it.
///
/// A bracket may get fewer trials than planned, because there is nothing left to try or the budget is spent. It then
/// continues as if it had been planned for the trials that began.
class SynchronousHalving final : public Halving {
 public:
  struct Plan {
    std::vector<Bracket> cycle;
    std::int64_t eta = 3;
    bool together = true;  ///< the next bracket begins while trials of others are under way
    std::int64_t brackets = kEndless;
  };

  SynchronousHalving(Plan plan, std::vector<study::Goal> on, std::vector<study::Constraint> constraints)
      : plan_(std::move(plan)), on_(std::move(on)), constraints_(std::move(constraints)) {
    const auto bound = on_.size() == 1 ? study::best_possible(on_.front().metric) : std::nullopt;
    if (bound) best_loss_ = on_.front().maximize ? -*bound : *bound;
  }

  void observe(const study::Event& event) override {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) join(*proposed);
    if (const auto* measured = std::get_if<study::Measured>(&event)) measure(measured->measurement);
    if (const auto* paused = std::get_if<study::Paused>(&event)) rest(*paused);
    if (const auto* resumed = std::get_if<study::Resumed>(&event)) resume(resumed->trial);
    if (const auto* ended = std::get_if<study::Ended>(&event)) leave(*ended);
  }

  TrialVerdict verdict(TrialId trial) const override {
    TrialVerdict out = kContinueToBudget;
    const auto member = members_.find(trial);
    const auto run = member == members_.end() ? open_.end() : open_.find(member->second.number);
    if (run == open_.end()) return out;
    const std::vector<TrialId>& chosen = run->second.chosen;
    const bool is_in =
        run->second.training.contains(trial) || std::find(chosen.begin(), chosen.end(), trial) != chosen.end();
    if (!is_in) return out;
    const bool is_last = run->second.rung + 1 == bracket(run->first).rungs.size();
    if (run->second.decided && (is_last || *run->second.decided < trial)) out.closed_early_by = run->second.decided;
    return out;
  }

  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    fresh.resize(static_cast<std::size_t>(std::min(std::ssize(fresh), free_places())));
    std::int64_t number = filling_.value_or(next_);
    std::int64_t places = places_left(number);
    for (study::Proposal& proposal : fresh) {
      if (places == 0) places = places_left(++number);
      --places;
      proposal.horizon = study::full_epochs(proposal);
      proposal.budget = std::min(bracket(number).rungs.front(), proposal.horizon);
    }
  }

  Promotions advance(std::int64_t, bool has_new_trials) const override {
    Promotions out{{}, free_places()};
    std::vector<TrialId> ended{out_.begin(), out_.end()};
    for (const auto& [number, run] : open_) {
      const bool closes_early = !has_new_trials && number == filling_ && run.training.empty();
      const std::size_t rung = run.rung + (closes_early ? 1 : 0);
      if (rung == bracket(number).rungs.size()) continue;
      const std::vector<TrialId> best = closes_early ? best_of(run) : run.chosen;
      for (const TrialId trial : best) {
        out.members.emplace_back(ResumeTrial{trial, bracket(number).rungs[rung]});
      }
      if (!closes_early || best.empty()) continue;
      for (const auto& [trial, result] : run.arrived) {
        if (std::find(best.begin(), best.end(), trial) == best.end()) ended.push_back(trial);
      }
    }
    for (const TrialId trial : ended) out.members.emplace_back(StopTrial{trial});
    return out;
  }

 private:
  struct Result {
    std::vector<double> losses;
    double violation = 0;
  };
  /// A bracket that is under way. Each of its trials is in one of the three sets.
  struct BracketRun {
    std::int64_t begun = 0;
    std::size_t rung = 0;               ///< rung to which its trials train
    std::set<TrialId> training;         ///< trials that train to that rung
    std::map<TrialId, Result> arrived;  ///< trials that are paused there, with their results
    /// Trials promoted to that rung that are still paused at the one before; the best first.
    std::vector<TrialId> chosen;
    /// Set when the rung is closed early. Below the last rung: the last trial that is promoted, of those with the best
    /// possible result; later trials are not promoted. At the last rung: the first trial that ended with the best
    /// possible result.
    std::optional<TrialId> decided = {};
  };
  struct BracketMember {
    std::int64_t number = 0;  ///< number of its bracket
    space::Sample sample;     ///< hyper-parameters, for constraints on them
    Result result;            ///< last measurement
  };

  const Bracket& bracket(std::int64_t number) const {
    return plan_.cycle[static_cast<std::size_t>(number % std::ssize(plan_.cycle))];
  }
  /// Returns the number of trials that a filling or future bracket still needs.
  std::int64_t places_left(std::int64_t number) const {
    const auto run = open_.find(number);
    return bracket(number).trials - (run == open_.end() ? 0 : run->second.begun);
  }

  /// Returns the number of new trials that may begin.
  std::int64_t free_places() const {
    std::int64_t places = filling_ ? places_left(*filling_) : 0;
    if (!plan_.together) return open_.empty() && next_ < plan_.brackets ? bracket(next_).trials : places;
    if (plan_.brackets == kEndless) return kEndless;
    const std::int64_t behind = next_ + std::ssize(plan_.cycle);  // one cycle ahead is enough
    for (std::int64_t b = next_; b < std::min(plan_.brackets, behind); ++b) places += bracket(b).trials;
    return places;
  }

  void join(const study::Proposed& proposed) {
    if (!filling_) filling_ = next_++;
    const std::int64_t number = *filling_;
    BracketRun& run = open_[number];
    run.training.insert(proposed.trial);
    members_[proposed.trial] = {number, proposed.proposal.sample, {}};
    if (++run.begun == bracket(number).trials) filling_.reset();
  }

  void measure(const study::Measurement& m) {
    const auto member = members_.find(m.trial);
    if (member == members_.end()) return;
    member->second.result = {study::losses(on_, m), study::violation(constraints_, m, member->second.sample)};
  }

  void rest(const study::Paused& paused) {
    const auto member = members_.find(paused.trial);
    if (member == members_.end()) return;
    const auto run = open_.find(member->second.number);
    if (run == open_.end() || run->second.training.erase(paused.trial) == 0) return;
    if (paused.epoch == bracket(run->first).rungs[run->second.rung]) {
      run->second.arrived[paused.trial] = member->second.result;
      record_early_closing(run->first, run->second);
    } else {
      out_.insert(paused.trial);  // paused elsewhere than at its rung, so no trial is comparable
    }
    close_if_all_arrived(run->first);
  }

  void resume(TrialId trial) {
    const auto member = members_.find(trial);
    const auto run = member == members_.end() ? open_.end() : open_.find(member->second.number);
    if (run != open_.end()) {
      if (run->second.arrived.contains(trial)) close(run->first, run->second);  // no other trial will arrive
      std::erase(run->second.chosen, trial);
      run->second.training.insert(trial);
    }
    out_.erase(trial);
  }

  void leave(const study::Ended& ended) {
    out_.erase(ended.trial);
    const auto member = members_.extract(ended.trial);
    if (!member) return;
    const auto run = open_.find(member.mapped().number);
    if (run == open_.end()) return;
    const bool trained = run->second.training.erase(ended.trial) > 0;
    if (run->second.arrived.erase(ended.trial) > 0) record_early_closing(run->first, run->second);
    const bool is_last = run->second.rung + 1 == bracket(run->first).rungs.size();
    if (is_last && ended.outcome.kind == study::OutcomeKind::kSucceeded && is_best_possible(member.mapped().result)) {
      run->second.decided = std::min(ended.trial, run->second.decided.value_or(ended.trial));
    }
    std::erase(run->second.chosen, ended.trial);
    // A duplicate has its result elsewhere, so another trial gets its place.
    if (trained && ended.outcome.kind == study::OutcomeKind::kDuplicate && run->second.rung == 0) {
      if (!filling_) filling_ = run->first;
      if (filling_ == run->first) --run->second.begun;
    }
    close_if_all_arrived(run->first);
  }

  bool is_best_possible(const Result& result) const {
    if (!best_loss_ || result.losses.size() != 1) return false;
    return result.violation <= 0 && result.losses.front() <= *best_loss_;
  }

  /// Sets `decided`. Equal results are promoted in the order of trials. A bracket that is still filling counts as full.
  void record_early_closing(std::int64_t number, BracketRun& run) const {
    run.decided.reset();
    if (!best_loss_ || run.rung + 1 >= bracket(number).rungs.size()) return;
    const std::int64_t begin = run.rung == 0 ? bracket(number).trials : run.begun;
    std::int64_t places = trials_at_rung(begin, plan_.eta, run.rung + 1);
    for (const auto& [trial, result] : run.arrived) {
      if (!is_best_possible(result) || --places > 0) continue;
      run.decided = trial;
      return;
    }
  }

  void close_if_all_arrived(std::int64_t number) {
    const auto run = open_.find(number);
    if (number == filling_ || !run->second.training.empty() || !run->second.chosen.empty()) return;
    close(number, run->second);
    if (run->second.chosen.empty()) open_.erase(run);
  }

  void close(std::int64_t number, BracketRun& run) {
    if (number == filling_) filling_.reset();
    run.chosen = run.rung + 1 < bracket(number).rungs.size() ? best_of(run) : std::vector<TrialId>();
    for (const TrialId trial : run.chosen) run.arrived.erase(trial);
    for (const auto& [trial, result] : run.arrived) out_.insert(trial);
    run.arrived.clear();
    run.decided.reset();
    ++run.rung;
  }

  std::vector<TrialId> best_of(const BracketRun& run) const {
    if (run.begun == 0) return {};
    RungRanking ranking;
    for (const auto& [trial, result] : run.arrived) ranking.add(trial, result.losses, result.violation);
    return ranking.best(trials_at_rung(run.begun, plan_.eta, run.rung + 1));
  }

  Plan plan_;
  std::vector<study::Goal> on_;
  std::vector<study::Constraint> constraints_;
  std::optional<double> best_loss_;           ///< Best possible loss, with one goal that has a bound.
  std::map<std::int64_t, BracketRun> open_;   ///< By number, from the beginning of the study.
  std::optional<std::int64_t> filling_;       ///< The bracket that new trials join.
  std::int64_t next_ = 0;                     ///< Number of the bracket that begins next.
  std::map<TrialId, BracketMember> members_;  ///< Trials that have not ended.
  std::set<TrialId> out_;                     ///< Members that are paused and will not be promoted.
};

Error refused(const std::string& what, const std::string& where) { return {Code::kInvalidArgument, what, where}; }

Result<std::unique_ptr<Halving>> make_rule(const HalvingContext& judged, const Options& options,
                                           std::vector<Bracket> cycle, const std::string& name) {
  if (judged.goals.empty()) return refused(name + " needs a goal to compare trials by", "on");
  const auto cycles = options.at("cycles").get<std::int64_t>();
  SynchronousHalving::Plan plan{std::move(cycle), options.at("eta").get<std::int64_t>(),
                                options.at("brackets").get<std::string>() == kTogether, kEndless};
  if (cycles > 0) plan.brackets = cycles * std::ssize(plan.cycle);
  std::unique_ptr<Halving> rule = std::make_unique<SynchronousHalving>(
      std::move(plan), comparison_goals(judged.goals, options.at("on").get<std::string>()), judged.constraints);
  // The result at a rung is the selected one up to its epoch.
  return with_selected_epochs(std::move(rule), judged.keep);
}

std::string epochs_text(std::int64_t epochs) { return "the trial's " + std::to_string(epochs) + " epochs"; }

/// Checks that a rung lies below the end of a trial's schedule.
Result<void> check_first_rung(std::int64_t min, std::int64_t eta, std::int64_t epochs) {
  if (min <= epochs / eta) return {};
  const std::string there = "min is " + std::to_string(min) + "; with eta " + std::to_string(eta);
  if (epochs / eta == 0) {
    return refused(
        there + " trials need at least " + std::to_string(eta) + " epochs, these have " + std::to_string(epochs),
        "min");
  }
  return refused(there + " and " + epochs_text(epochs) + " it must be at most " + std::to_string(epochs / eta) +
                     ", so that a rung lies below them",
                 "min");
}

Result<std::unique_ptr<Halving>> make_hyperband(const HalvingContext& judged, const Options& options) {
  const auto eta = options.at("eta").get<std::int64_t>(), min = options.at("min").get<std::int64_t>();
  LANISTA_TRY(check_first_rung(min, eta, judged.epochs));
  const auto variant = options.at("variant").get<std::string>();
  const BracketSize size = variant == "floor_ratio"  ? BracketSize::kFloorRatio
                           : variant == "ceil_ratio" ? BracketSize::kCeilRatio
                                                     : BracketSize::kCeil;
  return make_rule(judged, options, hyperband_brackets(min, eta, judged.epochs, size), "hyperband");
}

Result<std::vector<std::int64_t>> given_or_geometric(const HalvingContext& judged, const Options& options) {
  const auto eta = options.at("eta").get<std::int64_t>(), min = options.at("min").get<std::int64_t>();
  auto rungs = options.at("rungs").get<std::vector<std::int64_t>>();
  if (rungs.empty()) {
    LANISTA_TRY(check_first_rung(min, eta, judged.epochs));
    return halving_rungs(min, eta, judged.epochs);
  }
  const std::string there = "rungs is " + options.at("rungs").dump();
  if (std::adjacent_find(rungs.begin(), rungs.end(), std::greater_equal<>()) != rungs.end()) {
    return refused(there + "; every rung must be larger than the one before", "rungs");
  }
  if (rungs.back() >= judged.epochs) {
    return refused(there + "; the last must be below " + epochs_text(judged.epochs) + ", to which the best train",
                   "rungs");
  }
  rungs.push_back(judged.epochs);
  return rungs;
}

Result<std::unique_ptr<Halving>> make_successive_halving(const HalvingContext& judged, const Options& options) {
  LANISTA_ASSIGN(std::vector<std::int64_t> rungs, given_or_geometric(judged, options));
  const auto eta = options.at("eta").get<std::int64_t>();
  std::int64_t least = 1;  // least number of trials with which one reaches the last rung
  constexpr std::int64_t kMost = 1'000'000'000;
  for (std::size_t i = 1; i < rungs.size() && least <= kMost; ++i) least *= eta;
  if (least > kMost) {
    return refused("with " + std::to_string(rungs.size()) + " rungs, the end of training included, and eta " +
                       std::to_string(eta) + " more than " + std::to_string(kMost) +
                       " trials would have to begin for one to reach the end",
                   "rungs");
  }
  const auto trials = options.at("trials").get<std::int64_t>();
  if (trials > 0 && trials < least) {
    return refused("trials is " + std::to_string(trials) + "; with " + std::to_string(rungs.size()) +
                       " rungs, the end of training included, and eta " + std::to_string(eta) +
                       " it must be at least " + std::to_string(least) + ", so that one reaches the end (0 means that)",
                   "trials");
  }
  return make_rule(judged, options, {{trials > 0 ? trials : least, std::move(rungs)}}, "successive_halving");
}

/// Returns `own` and the options that both rules have.
std::vector<OptionSpec> with_common_options(std::vector<OptionSpec> own) {
  own.push_back(count_option("eta", 3, 2, "one of eta trials continues at a rung"));
  own.push_back(text_option("brackets", kTogether,
                            "start of the next bracket; together: as soon as a slot is free; in_turn: when all "
                            "trials of the previous one have ended",
                            {kTogether, kInTurn}));
  own.push_back(count_option("cycles", 0, 0, "number of cycles; 0: as many as the budget allows"));
  own.push_back(text_option("on", "", "metric to compare by; empty: the goals, several of them by Pareto fronts"));
  return own;
}

}  // namespace

StoppingPlugin successive_halving_plugin() {
  return {"successive_halving",
          "trials pause at rungs; when all of a rung have arrived, the best 1/eta continue and the others end",
          with_common_options(
              {count_option("trials", 0, 0,
                            "trials that start together; 0: as few as let one reach the end "
                            "of training"),
               count_option("min", 1, 1, "first rung in epochs, without a list of rungs; then min*eta, ..."),
               number_option("rungs", OptionSpec::Kind::kIntList, nlohmann::json::array(), 1, 1e9,
                             "epochs at which trials are compared, without the end of training")}),
          make_successive_halving,
          true,
          [](const Options&) { return true; }};
}

StoppingPlugin hyperband_plugin() {
  return {"hyperband",
          "successive halvings that start with many short trials, then fewer and longer ones",
          with_common_options({count_option("min", 1, 1, "epoch before which no trial is stopped"),
                               text_option("variant", "ceil",
                                           "trials that start in bracket s of m; ceil: ceil(m eta^s / (s+1)); "
                                           "floor_ratio: floor(m / (s+1)) eta^s; ceil_ratio: ceil(m / (s+1)) eta^s",
                                           {"ceil", "floor_ratio", "ceil_ratio"})}),
          make_hyperband,
          true,
          [](const Options&) { return true; }};
}

}  // namespace lanista::search
