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
#include "lanista/search/study/trial.h"

namespace lanista::strategy {

/// What the engine has room for, and what there is.
struct Capacity {
  std::int64_t free_slots = 1;
  /// Trials that may still be proposed; resumptions are free of it.
  std::int64_t new_trials = std::numeric_limits<std::int64_t>::max();
  std::int64_t running = 0;
  std::int64_t paused = 0;
};

// What a group may ask for.
struct NewTrial {
  study::Proposal proposal;
};
/// A paused trial goes on, through the epoch `budget`; with `fork` from the state of another trial that is paused at
/// the same epoch and stands behind it in the group (where that is kept no more, from its own).
struct ResumeTrial {
  TrialId trial;
  std::int64_t budget = 0;
  std::optional<study::Fork> fork = {};  ///< without an address
};
/// A running or paused trial ends; what it stands for by then counts.
struct StopTrial {
  TrialId trial;
};
using Member = std::variant<NewTrial, ResumeTrial, StopTrial>;

/// Trials that may be trained together, in any order (Fluid, MLSys'21). Members are taken up in their order as slots
/// get free: a group may have more of them than there are slots.
struct TrialGroup {
  std::int64_t id = 0;  ///< the strategy's own; 0: it gives none
  std::vector<Member> members;
  bool barrier = false;  ///< nothing more is asked for before all members have ended or are paused
  double priority = 0;   ///< workers prefer higher ones; changes no number
  /// Of its members, in logical time, as of when they were asked for: by them the engine orders a group of a study with
  /// rules (study/implied.h). Empty: taken up as given.
  std::vector<double> costs = {};

  /// Of the members that are new.
  std::vector<study::Proposal> proposals() const;
};

/// An answer to "what next?". Nothing may come yet: whoever says kWait is asked again after the next event. Or nothing
/// is left (kSpaceExhausted): what there is was proposed; the question comes again when a slot gets free.
struct Suggestion {
  enum class Kind { kGroup, kWait, kSpaceExhausted };
  Kind kind = Kind::kGroup;
  TrialGroup group;

  static Suggestion wait() { return {Kind::kWait, {}}; }
  static Suggestion space_exhausted() { return {Kind::kSpaceExhausted, {}}; }
  std::vector<study::Proposal> proposals() const { return group.proposals(); }
};

/// What is to become of a trial, as of its last measurement.
struct TrialVerdict {
  study::Verdict verdict = study::Verdict::kContinue;
  /// Of kContinue: it stands through this epoch, that is, before the trial has measured it there is no other verdict,
  /// and workers may train ahead so far. What is no later than the last measurement means the next epoch.
  std::int64_t through = 0;
  /// Numbers that have left the numbers do not end the trial before its last epoch: it may yet go on from another's
  /// state.
  bool tolerates_divergence = false;
  /// Whoever goes on from the trial's rung is known, whatever it will measure there; by this trial's result, which
  /// nothing can be better than. Of the last rung, from which nobody goes on: no trial of it can be better.
  std::optional<TrialId> closed_early_by = {};
};
/// Stands as long as the trial's budget lasts.
inline constexpr TrialVerdict kContinueToBudget{study::Verdict::kContinue, std::numeric_limits<std::int64_t>::max()};

/// What to try next: a fold over the log. No clock, no thread, no save or load; replaying the events rebuilds it.
/// `suggest` changes nothing: the same history gives the same answer (its Rng is keyed by the number of proposals
/// seen).
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// Errors: kResourceExhausted when bad luck found nothing new in a space that may well hold more (the message says
  /// how often it drew and what stood against most draws).
  virtual Result<Suggestion> suggest(const Capacity& capacity) const = 0;
  virtual void observe(const study::Event& event) = 0;  ///< incl. its own proposals
  /// Asked after each measurement, and after a proposal and a resumption for how long it stands. A trial that reaches
  /// its budget pauses, unless that is all of its schedule (study::full_epochs) or it is to stop.
  virtual TrialVerdict verdict(TrialId trial) const = 0;
};

class Halving;

/// What to try: the part of a strategy that draws. A fold like it.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual std::string_view name() const = 0;
  /// Returns at most `count` new trials, or that none comes now or ever. Their budget is the whole schedule;
  /// Halving::assign_budgets may then shorten it. Errors: those of Strategy::suggest.
  virtual Result<Suggestion> sample_proposals(std::int64_t count) const = 0;
  virtual void observe(const study::Event& event) = 0;
  /// The halving of an algorithm that is both, over the same state: to be composed with this sampler, which hears of
  /// the events for it, and with no other. Null: any halving goes with it.
  virtual std::unique_ptr<Halving> own_halving() const;
};

/// What a halving has to say before new trials begin.
struct Promotions {
  /// Paused trials that deserve to go on, the best reason first; and any that are to end.
  std::vector<Member> members;
  /// New trials that may begin now, beside these.
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
};

/// How far to train what was drawn: the part of a strategy that says when a trial goes on. A fold like it.
class Halving {
 public:
  virtual ~Halving() = default;
  virtual void observe(const study::Event& event) = 0;
  virtual TrialVerdict verdict(TrialId trial) const = 0;
  /// Says how far proposals, the next ones in this order, train at first. All of it, unless it says otherwise. Those
  /// for which there is no room it takes out.
  virtual void assign_budgets(std::vector<study::Proposal>& fresh) const { static_cast<void>(fresh); }
  /// Asked where `count` slots are free. More members than that wait for theirs as a group. `has_new_trials` false:
  /// there is nothing new to try, so that whoever waits for newcomers waits for nothing.
  virtual Promotions advance(std::int64_t count, bool has_new_trials) const {
    static_cast<void>(count);
    static_cast<void>(has_new_trials);
    return {};
  }
};

inline std::unique_ptr<Halving> Sampler::own_halving() const { return nullptr; }

/// The strategy of any sampler and any halving: what deserves to go on goes before what is new.
std::unique_ptr<Strategy> compose(std::unique_ptr<Sampler> sampler, std::unique_ptr<Halving> halving);

/// What a sampler is made from.
struct Context {
  std::shared_ptr<const mutate::ModelSpace> models;
  space::SearchSpace params;
  std::vector<study::Goal> goals;
  std::int64_t epochs = 1;  ///< the whole schedule of a proposal
  Rng rng;
  std::vector<study::Constraint> constraints = {};  ///< on what is known before training and on what is measured
};

struct StrategyPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<Sampler>>(const Context&, const Options&)> make;
  bool has_own_halving =
      false;           ///< it says how far to train, too (Sampler::own_halving): no stopping rule goes with it
  bool forks = false;  ///< trials go on from each other's states: they stand for their last epoch, and what a state is
                       ///< made for is fixed
  bool learns_from_results = true;  ///< what it proposes depends on results; else many may be asked for at a time
};
/// What a halving is made from.
struct HalvingContext {
  std::vector<study::Goal> goals;
  std::int64_t epochs = 1;                          ///< that a trial trains at most
  std::vector<study::Constraint> constraints = {};  ///< those that are measured count
  study::SelectionRule keep = {};                   ///< which of its epochs a trial stands for
};
struct StoppingPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  std::function<Result<std::unique_ptr<Halving>>(const HalvingContext&, const Options&)> make;
  bool judges_whole_rungs =
      false;  ///< a rung is judged when all of its trials are there, so that it may be decided before
};
/// What in a study does not go with a strategy that halves (StrategyPlugin::halves): a stopping rule, and several
/// trainings of a proposal; with one that forks, also another epoch than the last, and what cannot change while a trial
/// trains. Nullopt: nothing; else the message, at its key.
std::optional<Error> own_halving_conflict(const StrategyPlugin& plugin, const study::StudyConfig& config);
/// Why rungs of this study are never decided early (study::kWhenRungDecided), or could not be without another outcome.
/// Nullopt: they may be; else the message, at its key.
std::optional<Error> early_closing_conflict(const study::StudyConfig& config);
/// Whether this is random search that begins a space of which all was drawn once more.
bool repeats_exhausted_space(const study::StrategyConfig& strategy);
/// The same of such a search: what else trains a proposal several times. Nullopt: it may be.
std::optional<Error> repeated_space_conflict(const study::StudyConfig& config);
std::vector<StrategyPlugin> builtin_strategies();      ///< samplers; the room's README says what each does
std::vector<StoppingPlugin> builtin_stopping_rules();  ///< halvings; the room's README says what each does

}  // namespace lanista::strategy
