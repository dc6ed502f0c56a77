#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

// Tuning inside one training (MLtuner: Cui, Ganger, Gibbons, arXiv 1803.07445): branches of the trial's state try
// settings, and the trial continues from the best one. Decisions depend on losses only, not on clocks or tensors. In
// the paper, the first trial time is the time that the searcher needed; here it is a number of steps, so results do not
// depend on a clock.

/// Returns the names of the hyper-parameters that train.tune may vary.
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
  double diverged = 10;      ///< A try has diverged if its mean loss is above this factor times that at the start.
  std::int64_t time = 0;     ///< Least number of steps of the first tries.
  std::int64_t trials = 30;  ///< Most tries of one search.
  std::int64_t parallel_tries = 4;  ///< Tries that begin together.
  std::int64_t halving = 2;  ///< One of this many tries continues in each round, which is this many times as long.
  std::int64_t retune = 4;   ///< Epochs without an improvement after which the trial searches again; 0: never.
  /// Least wait for the next search, as a share of the epochs so far; the larger of it and `retune` counts.
  double age = 0;
  std::string on;  ///< Metric that must improve; empty: val_accuracy, else val_loss.
  /// Largest factor between the current setting and those of later searches, for real parameters with a logarithmic
  /// range; up to 1: no limit.
  double reach = 20;
  std::int64_t steps_per_update = 1;  ///< Steps of one update with the largest batch of a setting.
};
/// Returns the rules in the options of `tune`; steps_per_update keeps its default. Options that are left out have the
/// defaults of builtin_tuners(), not those of TuneRules. Errors: kInvalidArgument (`tune` is another plug-in than
/// mltuner; an option is missing, unknown or invalid).
Result<TuneRules> tune_rules(const PluginConfig& tune);
/// Returns the rules of a recipe with the tuning mltuner, with steps_per_update. Errors: those of tune_rules(tune) and
/// of check_batches.
Result<TuneRules> tune_rules(const Recipe& recipe);
/// Returns the rules of one search. TuneRules::time is multiplied by `longer` (search_length_factor). In later searches
/// than the trial's first it is at least two updates of the largest batch, if an update has several steps: the next
/// update shows what the last one did.
TuneRules rules_for_search(TuneRules rules, bool is_first, std::int64_t longer);

/// Returns `space` with its logarithmic ranges of real numbers limited to at most `reach` times more or less than the
/// current setting `now`, which must have these parameters as real numbers. `reach` is above 1. A range without values
/// there is unchanged, as are all other domains.
space::SearchSpace narrowed_space(const space::SearchSpace& space, const space::Sample& now, double reach);

/// Trends of branches in records: a branch that could have continued, and one with a loss that is far above that at the
/// start or not finite. Old records also have "unstable" and "undone".
inline constexpr std::string_view kConverging = "converging", kDiverged = "diverged";

/// One try of a tune search with its state.
struct Try {
  space::Sample setting;       ///< Hyper-parameters that the try trains with.
  std::vector<double> losses;  ///< One loss a step.
  /// Mean over the later half of its losses, minus the loss at the start, per step; 0 if it failed.
  double slope = 0;
  double speed = 0;       ///< Fall of the loss per step: -slope, at least 0.
  bool is_alive = true;   ///< True: its branch still exists.
  bool failed = false;    ///< True: it ended by an exception or a loss that is not finite.
  bool diverged = false;  ///< True: it failed, or its losses are far above those at the start.
};

/// A searcher: returns the next setting of a search with these tries so far. nullopt: there is no further setting.
using ProposeSetting = std::function<std::optional<space::Sample>(std::span<const Try> tries)>;

/// One tune search of a running trial as a function of the losses of its branches. It trains nothing: it decides which
/// settings are tried and for how many steps, and which one wins. A setting has the tuned hyper-parameters.
///
/// A search is a race: tries that begin together are compared after each round by their losses. Those with the lower
/// losses continue, longer, until one is left (successive halving, Jamieson and Talwalkar 2016, of states instead of
/// trainings). If all diverge, further tries begin.
class TuneSearch {
 public:
  /// Starts a search with its first round. Branches run for at most `longest` steps, and there are at most `trials`
  /// tries; both are at least 1. With `includes_current` the first setting that `propose` returns must be the current
  /// one.
  TuneSearch(TuneRules rules, std::int64_t longest, std::int64_t trials, ProposeSetting propose,
             bool includes_current = false);

  /// Returns the loss at the start: the mean of the first losses of the branches, which share one state. It is NaN
  /// before the first round ends.
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
  /// Returns the index into tries() of the winner of a search that is over. nullopt: all tries diverged, or the only
  /// one has a loss that did not fall.
  std::optional<std::size_t> winner() const { return best_; }
  /// Returns the number of training steps of all branches so far.
  std::int64_t steps() const;

 private:
  void begin_race();
  void rate(Try& tried) const;
  double first_loss() const;

  TuneRules rules_;
  std::int64_t longest_, trials_;
  ProposeSetting propose_;
  bool includes_current_ = false;  ///< The first try is the current setting.
  double start_loss_ = 0;
  Round round_;
  std::vector<Try> tries_;
  std::optional<std::size_t> best_;
};

/// Returns the factor of the steps of branches and of the wait for the next search. It doubles with each search that
/// leaves the setting unchanged, up to 4, and is 1 after one that changed it.
std::int64_t search_length_factor(std::span<const Measurement> measurements);

/// Returns true if a trial with these measurements searches before its next epoch. It does so before its first epoch.
/// Later it waits after its best epoch and after its last search. The wait is rules.retune times search_length_factor
/// epochs, or rules.age of the epochs so far if that is more. With a rules.retune of 0 it never searches again.
bool is_search_due(const TuneRules& rules, std::span<const Measurement> measurements);

}  // namespace lanista::study
