#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/convergence.h"

namespace lanista::study {

// Tuning inside one training (MLtuner: Cui, Ganger, Gibbons, arXiv 1803.07445): branches of the trial's state try
// settings, the best goes on. All decisions here are folds of losses that were told: no clock, no tensor. The paper's
// first trial time is what the searcher took to think; here it is in steps, or numbers would depend on a clock.

/// What may change while a trial trains, in the order in which a marginal search goes through it.
const std::vector<std::string>& tunable_names();
/// Whether a parameter may be tuned inside a trial. Errors: kInvalidArgument naming what can.
Result<void> check_tunable(std::string_view name);

/// The largest batch that a trial of this recipe may come to: its own, or one that train.tune may give it. Programs are
/// made for it.
std::int64_t largest_batch(const Recipe& recipe);
/// Of the batches that train.tune names. Errors: kInvalidArgument (one is no multiple of the recipe's own).
Result<void> check_batches(const Recipe& recipe);
/// What in a study does not go with the batches that such a tuner names. Nullopt: nothing; else why.
std::optional<std::string> batch_tuning_conflict(const StudyConfig& config, const PluginConfig& tune);

/// The kinds of train.tune.
struct TunePlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
};
/// mltuner (searches), schedule (plays back what a search found), adaptive (adaptive_batch_rules.h).
const std::vector<TunePlugin>& builtin_tuners();

/// Whether it changes the learning rate, so that no schedule may.
bool tunes_rate(const PluginConfig& tune);

/// A setting, from the step on that has so many before it.
struct SettingAt {
  std::int64_t step = 0;
  space::Sample setting;
  bool operator==(const SettingAt&) const = default;
};
/// The name of the kind that plays a schedule back.
inline constexpr std::string_view kReplaySchedule = "schedule";
/// The settings that a trial with these measurements went on under, by step: a schedule that can be played back.
std::vector<SettingAt> schedule_of(std::span<const Measurement> measurements);
/// As train.tune's kind kReplaySchedule with its options.
PluginConfig replay_schedule(const std::vector<SettingAt>& schedule);
/// Of the options of that kind. Errors: kInvalidArgument (steps that do not rise, a name that cannot change in
/// training, a value that is no number).
Result<std::vector<SettingAt>> read_schedule(const Options& options);

/// How a trial tunes itself: train.tune's options as values.
struct TuneRules {
  std::string searcher = "random";
  ConvergenceRule trend;
  std::int64_t time = 0;            ///< steps of the first try, at least; never fewer than trend.windows
  double later_search_factor = 1;   ///< with halving, times as long begin later searches: what differs by then is less
  std::int64_t trials = 30;         ///< tries of a search, at most
  std::int64_t parallel_tries = 4;  ///< tries that begin at once
  std::int64_t halving = 0;         ///< one of so many that began together goes on, so many times as long; 0: published
  std::int64_t best = 5;            ///< so many best speeds …
  double speed_tolerance = 0.1;     ///< … that are within this share of the best one end a search
  std::int64_t retune = 4;          ///< epochs without an improvement after which there is another search; 0: never
  double age = 0;                   ///< … and never fewer of them than this share of all epochs so far
  std::string on;                   ///< what is to improve; empty: val_accuracy, or else val_loss
  bool paired = true;               ///< all branches of a search see the same mini-batches
  double sequential = 0;            ///< standard errors at which a try is given up before its time; 0: none is
  double final_round_factor =
      1;                 ///< the two best run so many times their time before one of them is chosen; 1: they do not
  bool progress = true;  ///< what wins the first search has a loss below the one at the start
  double reach = 20;     ///< with halving: times that later searches look from the setting at hand; 0: everywhere
  double sure_standard_errors =
      0;            ///< standard errors by which a race's winner is ahead of the setting at hand; 0: by anything
  double undo = 0;  ///< a race's winner goes on so many times its steps, and is given up if that was no good; 0: no
  std::int64_t steps_per_update = 1;  ///< steps of an update of the largest batch that a setting may have
};
/// But for the batches of the recipe (strides). Errors: kInvalidArgument (train.tune is no mltuner, or lacks options).
Result<TuneRules> tune_rules(const PluginConfig& tune);
/// The same of a recipe that has such a tuner. Errors: tune_rules'; kInvalidArgument (check_batches).
Result<TuneRules> tune_rules(const Recipe& recipe);
/// Returns the rules of one search. Its time is multiplied by `longer` (search_length_factor). In later searches than
/// the trial's first it is also multiplied by later_search_factor, if halving is above 0. It is at least two updates of
/// the largest batch where an update has several steps, because the next update shows what the last one did.
TuneRules rules_for_search(TuneRules rules, bool is_first, std::int64_t longer);

/// The space with its logarithmic ranges cut to what is at most `reach`, above 1, times more or less than the setting
/// at hand. A range that has nothing there stays.
space::SearchSpace narrowed_space(const space::SearchSpace& space, const space::Sample& now, double reach);

/// A try of a search, and what is known of it.
struct Try {
  space::Sample setting;
  std::vector<double> losses;  ///< one a step
  Convergence seen;            ///< at the length it has
  bool is_alive = true;        ///< its branch is there
  bool failed = false;         ///< it threw, or a loss was no number
  bool undone = false;         ///< it won, and came to nothing good in the steps behind that
};

/// The next setting, of a search that has tried these; nullopt: there is none.
using ProposeSetting = std::function<std::optional<space::Sample>(std::span<const Try> tries)>;

/// Settings that differ from the best so far, or else from `now`, in one parameter at a time, which is drawn; they take
/// turns. `now` has all parameters of the space.
ProposeSetting propose_one_parameter(space::SearchSpace space, space::Sample now, Rng rng);

/// One search, told what its branches saw. As published the trial time doubles until a branch converges, and is fixed
/// then. Best is: converging before unstable, then the higher speed, then the earlier. With rules.halving those that
/// begin together race instead: at a look those whose losses have come to less than those of most others go on, longer,
/// until one is left (successive halving, Jamieson and Talwalkar 2016, of states in place of trainings). With
/// rules.undo that one goes on for a while; if its mean loss over these steps is above what the setting at hand had
/// come to, or the loss at the start where there is none, it is undone: the trial goes back to its state before the
/// search and on under the setting at hand, or others begin where there is none.
class TuneSearch {
 public:
  /// Branches run `longest` steps at most, at least 1; there are `trials` tries at most, at least 1.
  /// `includes_current`: with rules.halving the first try is the setting at hand, and what beats it wins even if its
  /// loss does not fall. With rules.sure it stays in the race to the end, which comes when the best of the others is
  /// ahead of it, or behind it, by so many standard errors of the differences of their losses; at the epoch's end it
  /// has won.
  TuneSearch(TuneRules rules, std::int64_t longest, std::int64_t trials, ProposeSetting propose,
             bool includes_current = false);

  /// Steps of the branch that updates nothing, by which the loss at the start is told. 0 with rules.halving: branches
  /// tell it by their first loss, which is of the state that they have in common.
  std::int64_t start_steps() const;
  /// Mean loss of that branch, not-a-number if there is none; the first round begins.
  void tell_start(double loss);
  double start_loss() const { return start_loss_; }

  /// Branches to train next, each until it has done so many steps. Empty: the search is over.
  struct Round {
    std::vector<std::size_t> branches;
    std::int64_t steps = 0;
  };
  const Round& round() const { return round_; }
  /// Losses of further steps of a branch of the round.
  void tell(std::size_t branch, std::span<const double> losses);
  void tell_failed(std::size_t branch);
  /// All were told: branches that are not wanted any more are no longer alive, and the next round stands.
  void end_round();

  const std::vector<Try>& tries() const { return tries_; }
  /// Of a search that is over. nullopt: no branch makes progress, the training has converged.
  std::optional<std::size_t> winner() const { return best_; }
  std::int64_t steps() const;  ///< trained in all, those for the loss at the start included

 private:
  enum class Stage { kTime, kTries, kFinalRound, kRace, kProbation, kOver };
  bool better(std::size_t a, std::size_t b) const;
  std::vector<std::size_t> propose(std::int64_t count);
  void find_time();
  void race();
  void race_current_setting(std::vector<std::size_t> order, std::size_t stay);
  void restart_race();
  bool begin_probation();
  void probation();
  double first_loss() const;
  Convergence level_of(std::span<const double> losses) const;
  void next_tries();
  void look();
  void compare();
  void end_tries();
  void finish();
  void retain_best(std::size_t count);
  bool has_similar_speeds() const;

  TuneRules rules_;
  std::int64_t longest_, trials_;
  ProposeSetting propose_;
  bool from_now_ = false;
  double start_loss_ = 0;
  Stage stage_ = Stage::kTime;
  std::int64_t time_ = 0;  ///< of a try
  std::int64_t look_ = 0;  ///< of the tries at hand that were looked at
  bool exhausted_ = false;
  Round round_;
  std::vector<Try> tries_;
  std::vector<std::size_t> full_;  ///< tries that ran the whole trial time
  std::optional<std::size_t> best_;
  std::int64_t won_after_ = 0;  ///< steps of the race that it won, on probation
};

/// With rules.halving: how many times as long as rules say branches run and a trial waits for its next search. Each
/// search that leaves the setting as it is doubles that, up to kMaxLengthFactor; 1 again where one was found.
std::int64_t search_length_factor(const TuneRules& rules, std::span<const Measurement> measurements);

/// Whether a trial searches before its next epoch: at its beginning, and once rules.retune epochs have passed since its
/// best one and since the last search, or rules.age of all its epochs where that is more.
bool is_search_due(const TuneRules& rules, std::span<const Measurement> measurements);

}  // namespace lanista::study
