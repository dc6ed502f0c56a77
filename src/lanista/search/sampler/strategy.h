#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/rules.h"
#include "lanista/search/study/trial.h"

namespace lanista::search {

/// The free slots of the engine and the trials that exist, as input of a suggestion.
struct Capacity {
  std::int64_t free_slots = 1;  ///< Slots without a trial.
  /// New trials that the budget still allows. Resumptions do not count.
  std::int64_t new_trials = std::numeric_limits<std::int64_t>::max();
  std::int64_t running = 0;  ///< Trials that are running.
  std::int64_t paused = 0;   ///< Trials that are paused.
};

/// A member of a group that begins a new trial.
struct NewTrial {
  study::Proposal proposal;  ///< Decisions and budget of the new trial.
};
/// A member of a group that resumes a paused trial and trains it to the epoch `budget`.
///
/// With `fork` it continues from the state of another trial. That trial must be paused at the same epoch and must come
/// later in the group. If its state was deleted, the trial continues from its own.
struct ResumeTrial {
  TrialId trial;                         ///< Paused trial that resumes.
  std::int64_t budget = 0;               ///< Epoch to which it trains.
  std::optional<study::Fork> fork = {};  ///< Source and new sample, without an address.
};
/// A member of a group that ends a running or paused trial. Its result so far counts.
struct StopTrial {
  TrialId trial;  ///< Trial that ends.
};
/// One entry of a trial group: begin, resume or end a trial.
using Member = std::variant<NewTrial, ResumeTrial, StopTrial>;

/// Trials that a strategy suggests together and that may be trained in any order (Fluid, MLSys'21).
///
/// Members begin in their order as slots become free. A group may have more members than there are slots.
struct TrialGroup {
  std::int64_t id = 0;          ///< Number that the strategy gives to the group; 0: none.
  std::vector<Member> members;  ///< Members in the order in which they begin.
  bool barrier = false;         ///< True: the engine asks again only when all members have ended or are paused.
  double priority = 0;          ///< Workers prefer trials of higher priority. It changes no result.
  /// Cost of each member in logical time, when the group was suggested. The engine uses it to order a group of a study
  /// with pruning rules (study/pruning_rules.h). Empty: the given order.
  std::vector<double> costs = {};

  /// Returns the proposals of the members that are new trials, in order.
  std::vector<study::Proposal> proposals() const;
};

/// The answer of a strategy to free slots.
struct Suggestion {
  /// What the engine does next.
  enum class Kind {
    kGroup,           ///< It begins the members of `group`.
    kWait,            ///< It asks again after the next event.
    kSpaceExhausted,  ///< Everything was proposed. It asks again when a slot becomes free.
  };
  Kind kind = Kind::kGroup;
  TrialGroup group;  ///< Empty unless `kind` is kGroup.

  /// Returns a suggestion of kWait.
  static Suggestion wait() { return {Kind::kWait, {}}; }
  /// Returns a suggestion of kSpaceExhausted.
  static Suggestion space_exhausted() { return {Kind::kSpaceExhausted, {}}; }
  /// Returns the proposals of the group's new trials, in order.
  std::vector<study::Proposal> proposals() const { return group.proposals(); }
};

/// The decision of a strategy on a trial after its last measurement.
struct TrialVerdict {
  study::Verdict verdict = study::Verdict::kContinue;
  /// For kContinue: the last epoch for which the verdict is valid. Workers may train to it without asking again. A
  /// value that is not above the last measurement means the next epoch.
  std::int64_t through = 0;
  /// True: a NaN or infinity does not end the trial before its last epoch, because it may continue from the state of
  /// another trial.
  bool tolerates_divergence = false;
  /// Set if this trial can no longer be promoted, because trials with the best possible result that precede it in the
  /// order of numbers take all places: the last of those. At the last rung: the first trial that ended with the best
  /// possible result, so that no other can be better.
  std::optional<TrialId> closed_early_by = {};
};
/// A verdict that is valid until the trial's budget ends.
inline constexpr TrialVerdict kContinueToBudget{study::Verdict::kContinue, std::numeric_limits<std::int64_t>::max()};

/// Decides what a study tries next and how far each trial trains.
///
/// A strategy is a function of the events of the study. It has no clock, no thread and no saved state: observing the
/// events again rebuilds it. `suggest` changes nothing, so the same events give the same answer. Its random stream is
/// keyed by the number of proposals seen.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns the name of the strategy, as in the study file.
  virtual std::string_view name() const = 0;
  /// Returns what to do with the free slots.
  ///
  /// Errors: kResourceExhausted if all samples were rejected in a space that may still have new points. The message has
  /// the number of samples and the most frequent reason.
  virtual Result<Suggestion> suggest(const Capacity& capacity) const = 0;
  virtual void observe(const study::Event& event) = 0;  ///< Processes an event, including its own proposals.
  /// Returns the verdict on a trial. It is asked after each measurement, each proposal and each resumption.
  ///
  /// A trial that reaches its budget pauses, unless its schedule is complete (study::full_epochs) or it is to stop.
  virtual TrialVerdict verdict(TrialId trial) const = 0;
};

class Halving;

/// The part of a strategy that decides what to try next. Like a strategy it is a function of the events.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the name of the sampler, as in the study file.
  virtual std::string_view name() const = 0;
  /// Returns a group of at most `count` new trials, or kWait (none now) or kSpaceExhausted (none any more). `count` is
  /// at least 1.
  ///
  /// Their budget is the whole schedule, which Halving::assign_budgets may shorten. Errors: those of Strategy::suggest.
  virtual Result<Suggestion> sample_proposals(std::int64_t count) const = 0;
  /// Processes an event, including its own proposals.
  virtual void observe(const study::Event& event) = 0;
  /// Returns the halving of an algorithm that is both, such as DEHB, or null if any halving can be used.
  ///
  /// The halving shares the state of this sampler, which observes the events for both. It is composed with this sampler
  /// and no other.
  virtual std::unique_ptr<Halving> own_halving() const;
};

/// What a halving decides before new trials begin.
struct Promotions {
  /// Paused trials to resume, the most important one first, and trials to end.
  std::vector<Member> members;
  /// Most new trials that may begin in addition to the members.
  std::int64_t max_new_trials = std::numeric_limits<std::int64_t>::max();
};

/// The part of a strategy that decides how far each trial trains. Like a strategy it is a function of the events.
class Halving {
 public:
  virtual ~Halving() = default;
  /// Processes an event of the study.
  virtual void observe(const study::Event& event) = 0;
  /// Returns the verdict on a trial, as Strategy::verdict.
  virtual TrialVerdict verdict(TrialId trial) const = 0;
  /// Sets how far the proposals train at first, in this order. By default they train their whole schedule.
  ///
  /// It removes proposals that may not begin yet.
  virtual void assign_budgets(std::vector<study::Proposal>& fresh) const { static_cast<void>(fresh); }
  /// Returns the promotions for `count` free slots, and the trials to end. There may be more members than slots.
  ///
  /// If `has_new_trials` is false, no new trials come, so the halving does not wait for them.
  virtual Promotions advance(std::int64_t count, bool has_new_trials) const {
    static_cast<void>(count);
    static_cast<void>(has_new_trials);
    return {};
  }
};

inline std::unique_ptr<Halving> Sampler::own_halving() const { return nullptr; }

/// Returns the strategy of a sampler and a halving, with the name of the sampler. Resumptions come before new trials. A
/// null halving trains every trial to its budget.
///
/// If no member comes and new trials are not waited for, the halving is asked again without new trials.
std::unique_ptr<Strategy> compose(std::unique_ptr<Sampler> sampler, std::unique_ptr<Halving> halving);

/// The input of a sampler: the space, the goals and a random stream.
struct Context {
  std::shared_ptr<const mutate::ModelSpace> models;  ///< Base models, mutators and limits.
  space::SearchSpace params;                         ///< Hyper-parameters and model choices.
  std::vector<study::Goal> goals;                    ///< Goals in order of importance.
  std::int64_t epochs = 1;                           ///< Epochs of the whole schedule of a proposal.
  Rng rng;                                           ///< Source of all random numbers of the sampler.
  /// All constraints of the study: those known before training and those that are measured.
  std::vector<study::Constraint> constraints = {};
  std::int64_t rules = study::kLatestRules;  ///< Rules of the study, by which rungs are filled and closed.
};

/// An entry of the table of samplers.
struct StrategyPlugin {
  std::string name;                 ///< Value of strategy.name.
  std::string help;                 ///< One sentence for the reference.
  std::vector<OptionSpec> options;  ///< Options next to strategy.name.
  /// Makes a new sampler. Errors: kInvalidArgument (the value of an option, which the error names).
  std::function<Result<std::unique_ptr<Sampler>>(const Context&, const Options&)> make;
  bool has_own_halving = false;  ///< True: the sampler has an own_halving, so no stopping rule may be set.
  /// True: trials continue from the states of other trials. Then the last epoch gives a trial's result, and settings on
  /// which its state depends must not vary.
  bool forks = false;
  bool learns_from_results = true;  ///< True: results change its proposals. False: many may be requested at once.
};
/// The input of a halving.
struct HalvingContext {
  std::vector<study::Goal> goals;                   ///< Goals in order of importance.
  std::int64_t epochs = 1;                          ///< Most epochs of a trial.
  std::vector<study::Constraint> constraints = {};  ///< Only those that are measured count.
  study::SelectionRule keep = {};                   ///< Selection of the epoch that gives a trial's result.
  std::int64_t rules = study::kLatestRules;         ///< Rules of the study, by which rungs are filled and closed.
};
/// An entry of the table of stopping rules, which are halvings.
struct StoppingPlugin {
  std::string name;                 ///< Value of stop.rule.
  std::string help;                 ///< One sentence for the reference.
  std::vector<OptionSpec> options;  ///< Options next to stop.rule.
  /// Makes a new halving. Errors: kInvalidArgument (the value of an option, which the error names).
  std::function<Result<std::unique_ptr<Halving>>(const HalvingContext&, const Options&)> make;
  /// True: a rung is decided only when all of its trials have reached it. So it can be closed early: its other trials
  /// may end as soon as none of them can be promoted any more (study::kWhenRungDecided).
  bool judges_whole_rungs = false;
  /// True for options with which trials pause at rungs and may be promoted later. Null: never.
  std::function<bool(const Options&)> pauses_at_rungs = {};
  /// Returns the first epoch at which a trial may pause or end, with the option that sets it. Null: `make` checks it.
  std::function<std::pair<std::string, std::int64_t>(const Options&)> first_epoch = {};
};
/// Returns an error if a setting of the study cannot be used with a strategy that has its own halving, or nullopt.
///
/// Such settings are a stopping rule and several trainings per proposal (strategy.repeat, strategy.retry, data.folds).
/// With a strategy that forks they are also selection of another epoch than the last, and train.tune. Unless
/// strategy.fixed is `keep`, so are several models, mutations and parameters that cannot change in training. The
/// location of the error is the key. The result is nullopt if the plug-in has no own halving.
std::optional<Error> own_halving_conflict(const StrategyPlugin& plugin, const study::StudyConfig& config);
/// Returns an error at "implied[i].when" if the study has the rule study::kWhenRungDecided and early closing could
/// change its outcome. Returns nullopt otherwise.
///
/// The rule needs a stopping rule that judges whole rungs, train.keep at the best epoch, and one training per proposal.
/// It also needs no keep.ensemble, and one goal with a best possible value, by which rungs are judged as well. Ties
/// must go to the earlier trial. Goals are not checked while the study has none.
std::optional<Error> early_closing_conflict(const study::StudyConfig& config);
/// Returns an error at "stop.OPTION" if the stopping rule can never pause or end a trial. The first epoch at which it
/// acts is then not below those of a trial. Returns nullopt otherwise, with the first rules and with train.tune. An
/// option with its default is no error, because the study file does not state it.
std::optional<Error> idle_stopping_rule(const study::StudyConfig& config);
/// True if the strategy is random search with the option `again`, which samples an exhausted space again with other
/// seeds.
bool repeats_exhausted_space(const study::StrategyConfig& strategy);
/// Returns an error at "strategy.again" if repeats_exhausted_space holds and another option trains a proposal several
/// times: data.folds, strategy.repeat or strategy.retry. Returns nullopt otherwise.
std::optional<Error> repeated_space_conflict(const study::StudyConfig& config);
/// Returns all samplers. Each has the option `enqueue` as its last one. The README describes each of them.
std::vector<StrategyPlugin> builtin_strategies();
std::vector<StoppingPlugin> builtin_stopping_rules();  ///< Returns all stopping rules. The README describes each one.

}  // namespace lanista::search
