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
// settings, and the trial continues from the best one. Decisions depend on losses only, not on clocks or tensors. In
// the paper, the first trial time is the time that the searcher needed; here it is a number of steps, so results do not
// depend on a clock.

/// Returns the names of the hyper-parameters that train.tune may vary, in the order of the searcher `marginal`.
const std::vector<std::string>& tunable_names();
/// Checks that a hyper-parameter may be tuned inside a trial. Errors: kInvalidArgument (any other name; the message
/// lists the tunable ones).
Result<void> check_tunable(std::string_view name);

/// Returns the largest batch, in samples, of a trial with this recipe: its own, or one that train.tune may set.
/// Programs are compiled for it.
std::int64_t largest_batch(const Recipe& recipe);
/// Checks the batches in train.tune. Errors: kInvalidArgument (one is not a multiple of the recipe's batch, or
/// adaptive_batch_rules refuses an adaptive batch).
Result<void> check_batches(const Recipe& recipe);
/// Returns why the batches in `tune` (train.tune or strategy.then) do not fit into the study, as text for people: the
/// space varies "batch" too, or check_batches() refuses one. nullopt: they fit, or `tune` has none.
std::optional<std::string> batch_tuning_conflict(const StudyConfig& config, const PluginConfig& tune);

/// A kind of train.tune with its options.
struct TunePlugin {
  std::string name;                 ///< Name of the kind, as in the study file.
  std::string help;                 ///< One sentence for the reference.
  std::vector<OptionSpec> options;  ///< Options of this kind.
};
/// Returns the kinds: mltuner (searches), schedule (replays settings), adaptive (adaptive_batch_rules.h).
const std::vector<TunePlugin>& builtin_tuners();

/// Returns true if the tuning sets the learning rate, so the schedule must be constant: it searches "lr" or replays
/// settings. False for an adaptive batch, which only multiplies the rate of the schedule.
bool tunes_rate(const PluginConfig& tune);

/// A setting of hyper-parameters that applies from training step `step` on, counted from 0.
struct SettingAt {
  std::int64_t step = 0;  ///< First training step with this setting.
  space::Sample setting;  ///< Values of the hyper-parameters that are set.
  bool operator==(const SettingAt&) const = default;
};
/// Name of the kind that replays settings.
inline constexpr std::string_view kReplaySchedule = "schedule";
/// Returns the settings with which a trial continued after tune searches and batch changes, by rising step. A replay of
/// the trial uses them.
std::vector<SettingAt> schedule_of(std::span<const Measurement> measurements);
/// Returns the value of train.tune of a trial that searches nothing and sets each setting of `schedule` at its training
/// step: the kind kReplaySchedule with the option `settings`.
PluginConfig replay_schedule(const std::vector<SettingAt>& schedule);
/// Reads the schedule from the option `settings` of the kind kReplaySchedule. Errors: kInvalidArgument (steps that do
/// not rise, a name that is not in tunable_names(), a value that is not numeric, or an option `from` that is still
/// set).
Result<std::vector<SettingAt>> read_schedule(const Options& options);

/// Rules of the tune searches of a trial: the options of train.tune as values.
struct TuneRules {
  std::string searcher = "random";  ///< Name of the sampler of settings.
  ConvergenceRule trend;            ///< Thresholds for loss traces.
  /// Least number of steps of the first tries. Without halving, at least trend.windows steps.
  std::int64_t time = 0;
  double later_search_factor = 1;   ///< With halving: factor of `time` in searches after the first.
  std::int64_t trials = 30;         ///< Most tries of one search.
  std::int64_t parallel_tries = 4;  ///< Tries that begin together.
  /// One of this many tries continues in each round, which is this many times as long. 0: the published search, without
  /// rounds.
  std::int64_t halving = 0;
  std::int64_t best = 5;         ///< Without halving: a search ends if this many best speeds are similar.
  double speed_tolerance = 0.1;  ///< Largest relative difference of speeds that count as similar.
  std::int64_t retune = 4;       ///< Epochs without an improvement after which the trial searches again; 0: never.
  /// Least wait for the next search, as a share of the epochs so far; the larger of it and `retune` counts.
  double age = 0;
  std::string on;      ///< Metric that must improve; empty: val_accuracy, else val_loss.
  bool paired = true;  ///< True: all branches of a search read the same mini-batches.
  /// Without halving: a try that falls behind the best by this many standard errors is discarded early; 0: never.
  double sequential = 0;
  /// Without halving: the two best tries run this factor of the trial time before the choice. 1: no final round.
  double final_round_factor = 1;
  bool progress = true;  ///< True: the winner of the first search needs a loss below the one at the start.
  /// With halving: largest factor between the current setting and those of later searches, for real parameters with a
  /// logarithmic range; up to 1: no limit.
  double reach = 20;
  /// With halving: standard errors by which the winner must be ahead of the current setting; 0: any difference.
  double sure_standard_errors = 0;
  /// With halving: the winner trains this factor of its steps on probation, and is discarded if its loss is worse; 0:
  /// no probation.
  double undo = 0;
  std::int64_t steps_per_update = 1;  ///< Steps of one update with the largest batch of a setting.
};
/// Returns the rules in the options of `tune`; steps_per_update keeps its default. Options that are left out have the
/// defaults of builtin_tuners(), not those of TuneRules. `tune` is mltuner, which runs a race if its option `halving`
/// is above 0. Errors: kInvalidArgument (`tune` is another plug-in; an option is missing, unknown or invalid; halving
/// is 1).
Result<TuneRules> tune_rules(const PluginConfig& tune);
/// Returns the rules of a recipe with the tuning mltuner, with steps_per_update. Errors: those of tune_rules(tune) and
/// of check_batches.
Result<TuneRules> tune_rules(const Recipe& recipe);
/// Returns the rules of one search. TuneRules::time is multiplied by `longer` (search_length_factor). In later searches
/// than the trial's first it is also multiplied by later_search_factor, if halving is above 0. In later searches, with
/// or without halving, it is at least two updates of the largest batch, if an update has several steps: the next update
/// shows what the last one did.
TuneRules rules_for_search(TuneRules rules, bool is_first, std::int64_t longer);

/// Returns `space` with its logarithmic ranges of real numbers limited to at most `reach` times more or less than the
/// current setting `now`, which must have these parameters as real numbers. `reach` is above 1. A range without values
/// there is unchanged, as are all other domains.
space::SearchSpace narrowed_space(const space::SearchSpace& space, const space::Sample& now, double reach);

/// One try of a tune search with its state.
struct Try {
  space::Sample setting;       ///< Hyper-parameters that the try trains with.
  std::vector<double> losses;  ///< One loss a step.
  Convergence seen;            ///< Class and speed of its losses so far.
  bool is_alive = true;        ///< True: its branch still exists.
  bool failed = false;         ///< True: it ended by an exception or a loss that is not finite.
  bool undone = false;         ///< True: it won, and was discarded after its probation.
};

/// A searcher: returns the next setting of a search with these tries so far. nullopt: there is no further setting.
using ProposeSetting = std::function<std::optional<space::Sample>(std::span<const Try> tries)>;

/// Returns a searcher that changes one hyper-parameter at a time, each in turn, to a random value. It starts from the
/// best setting so far, or else from `now`, which has all hyper-parameters of the space.
ProposeSetting propose_one_parameter(space::SearchSpace space, space::Sample now, Rng rng);

/// One tune search of a running trial as a function of the losses of its branches. It trains nothing: it decides which
/// settings are tried and for how many steps, and which one wins. A setting has the tuned hyper-parameters.
///
/// Published search: the trial time doubles until a branch converges, and is fixed then. Converging branches are better
/// than unstable ones, then the higher speed is better, then the earlier try.
///
/// Race (rules.halving): tries that begin together are compared after each round by their losses. Those with the lower
/// losses continue, longer, until one is left (successive halving, Jamieson and Talwalkar 2016, of states instead of
/// trainings).
///
/// Probation (rules.undo): the winner of a race trains further. It is discarded if its mean loss on these steps is
/// above that of the current setting, or above the loss at the start if there is no current setting. The trial then
/// returns to its state from before the search; without a current setting, new tries begin.
class TuneSearch {
 public:
  /// Starts a search. Branches run for at most `longest` steps, and there are at most `trials` tries; both are at least
  /// 1.
  ///
  /// With `includes_current` and rules.halving, the first setting that `propose` returns must be the current one. A try
  /// that beats it wins, even if its loss does not fall. With rules.sure_standard_errors it stays in the race to the
  /// end. Once one other try is left, the race ends when that try is ahead of it, or behind it, by that many standard
  /// errors. At the end of the epoch the current setting wins.
  TuneSearch(TuneRules rules, std::int64_t longest, std::int64_t trials, ProposeSetting propose,
             bool includes_current = false);

  /// Returns the steps of the branch that updates nothing and measures the loss at the start. It depends on the rules
  /// and the longest trial time alone, so it is the same at any time. It is 0 with
  /// rules.halving: there the first losses of the branches, which share one state, give that loss.
  std::int64_t start_steps() const;
  /// Sets the loss at the start, which is the mean loss of the branch of start_steps(), and begins the first round.
  /// NaN: there is no such branch.
  void set_start_loss(double loss);
  /// Returns the loss at the start: that of set_start_loss(). If that is NaN, it is known after the first round of a
  /// race.
  double start_loss() const { return start_loss_; }

  /// Branches to train next, as indices into tries(). Each trains until it has `steps` steps in all. Empty: the search
  /// is over.
  struct Round {
    std::vector<std::size_t> branches;  ///< Indices into tries(), ascending.
    std::int64_t steps = 0;             ///< Steps of each branch at the end of the round.
  };
  /// Returns the branches to train next. The reference stays valid; its content changes with end_round().
  const Round& round() const { return round_; }
  /// Adds the losses of further steps, one a step, of a branch. `branch` is one of round().branches: an index into all
  /// tries of the search.
  void add_losses(std::size_t branch, std::span<const double> losses);
  /// Records that a branch of the round failed, by an exception or a loss that is not finite: it cannot continue or
  /// win. `branch` is one of round().branches: an index into all tries of the search.
  void mark_failed(std::size_t branch);
  /// Ends the round after the losses of all its branches: branches that lost are no longer alive, and the next round
  /// begins. round() is empty if the search is over; then winner() has its result.
  void end_round();

  /// Returns all tries of the search so far, in the order in which they were proposed.
  const std::vector<Try>& tries() const { return tries_; }
  /// Returns the index into tries() of the winner of a search that is over. nullopt: no branch makes progress, because
  /// the training has converged.
  std::optional<std::size_t> winner() const { return best_; }
  /// Returns the number of training steps of all branches so far, with start_steps().
  std::int64_t steps() const;

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
  bool includes_current_ = false;  ///< The first try is the current setting.
  double start_loss_ = 0;
  Stage stage_ = Stage::kTime;
  std::int64_t time_ = 0;  ///< Steps of a try.
  std::int64_t look_ = 0;  ///< Checks of the current tries so far.
  bool exhausted_ = false;
  Round round_;
  std::vector<Try> tries_;
  std::vector<std::size_t> full_;  ///< Tries that ran the whole trial time.
  std::optional<std::size_t> best_;
  std::int64_t won_after_ = 0;  ///< Steps after which the winner on probation had won.
};

/// Returns the factor of the steps of branches and of the wait for the next search. It doubles with each search that
/// leaves the setting unchanged, up to 4, and is 1 after one that changed it. Without rules.halving it is 1.
std::int64_t search_length_factor(const TuneRules& rules, std::span<const Measurement> measurements);

/// Returns true if a trial with these measurements searches before its next epoch. It does so before its first epoch.
/// Later it waits after its best epoch and after its last search. The wait is rules.retune times search_length_factor
/// epochs, or rules.age of the epochs so far if that is more. With a rules.retune of 0 it never searches again.
bool is_search_due(const TuneRules& rules, std::span<const Measurement> measurements);

}  // namespace lanista::study
