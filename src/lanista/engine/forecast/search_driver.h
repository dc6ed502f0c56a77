#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/last_rung.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// Runs a search like StudyEngine, without a log and without training, for benchmarks and simulations. It starts group
/// members as slots become free. A function gives the trials' metrics. Trials pause at their budgets and end at a
/// verdict of stop; a verdict of pause before the budget has no effect. Not thread-safe.
class SearchDriver {
 public:
  /// Values by metric name.
  using Metrics = std::map<std::string, double>;
  /// A trial of the search without an outcome.
  struct Trial {
    TrialId id;                ///< Number of the trial.
    study::Proposal proposal;  ///< Its decisions.
    std::int64_t epoch = 0;    ///< Last measured epoch; 0: none.
    std::int64_t budget = 0;   ///< Epoch at which it pauses; at the last epoch of its schedule it ends instead.
    std::optional<study::Fork> fork = {};  ///< The fork directly before this epoch; absent: none.
  };
  /// Limits of the search.
  struct Limits {
    std::int64_t slots = 1;                   ///< Number of trials that may be active at a time.
    std::optional<std::int64_t> trials = {};  ///< Largest number of proposals; absent: no limit.
    bool skips_duplicates = false;            ///< True: a repeated proposal ends at once as a duplicate, as in a study.
    /// If set, the best paused trial trains to the end when nothing else can start, as in a study.
    std::optional<LastRung> last_rung = {};
    std::optional<std::int64_t> steps = {};  ///< Largest number of training steps; absent: no limit.
    /// Returns the steps of a trial's epochs `from` + 1 to `to`. Needed if `steps` is set.
    std::function<std::int64_t(const study::Proposal&, std::int64_t from, std::int64_t to)> steps_between = {};
  };
  /// Returns the metrics of a trial at `trial.epoch`; nullopt: it failed.
  using Measure = std::function<std::optional<Metrics>(const Trial& trial)>;
  /// Receives each trial that ends, except duplicates, with its outcome.
  using Ended = std::function<void(const Trial& trial, study::OutcomeKind kind)>;

  /// `strategy` outlives this. An empty `ended` is not called.
  SearchDriver(search::Strategy& strategy, Limits limits, Measure measure, Ended ended = {})
      : strategy_(strategy), limits_(std::move(limits)), measure_(std::move(measure)), ended_(std::move(ended)) {}

  /// Gives active trials one epoch each in turn, until all calls of run_until() together ran `epochs` epochs, or until
  /// no trial is active and none can start. Errors: those of the strategy, except kResourceExhausted: it proposes none.
  Result<void> run_until(std::int64_t epochs);

  /// Manual mode: fills the free slots. Returns the trials that start or resume, in order; empty: none. Errors: those
  /// of the strategy.
  Result<std::vector<TrialId>> fill();
  /// The active trial with this id, or null. The pointer is valid until the trial ends.
  const Trial* find_running(TrialId id) const;
  /// Manual mode: runs one epoch of a trial, which must be active. Returns true if it stays active, false if it ended
  /// or paused.
  bool advance(TrialId id);

  /// Number of proposals so far, duplicates included.
  std::int64_t num_trials() const { return num_proposed_; }

 private:
  bool is_trial_budget_spent() const { return limits_.trials && num_proposed_ >= *limits_.trials; }
  void observe(const study::Event& event);
  Result<void> fill_slots(std::vector<TrialId>& started_trials);
  /// Returns false if the limits do not allow the member.
  bool fits_budget(const search::Member& member) const;
  /// Resumes the best paused trial to the end, if no trial trains. Returns false if there is none.
  bool finish_best_trial(std::vector<TrialId>& started_trials);
  bool carry_out_member(const search::Member& member, std::vector<TrialId>& started_trials);
  bool begin(const study::Proposal& proposal);
  bool end(TrialId id, study::OutcomeKind kind);

  search::Strategy& strategy_;
  Limits limits_;
  Measure measure_;
  Ended ended_;
  std::map<TrialId, Trial> trials_;  ///< Trials without an outcome.
  std::deque<TrialId> running_;
  std::deque<search::Member> waiting_;  ///< Members of the current group.
  DuplicateIndex duplicates_;           ///< Empty unless duplicates are skipped.
  bool is_barrier_active_ = false;
  int consecutive_duplicates_ = 0;
  std::int64_t spent_steps_ = 0;  ///< Of finished epochs.
  std::int64_t num_paused_ = 0, spent_epochs_ = 0, num_proposed_ = 0;
};

}  // namespace lanista::engine
