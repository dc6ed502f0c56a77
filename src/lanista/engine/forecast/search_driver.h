#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// What StudyEngine does of a search, without a log and with nobody who trains: members of groups are taken up as slots
/// get free, trials measure what a function says, pause at their budgets and are resumed, stopped and ended as a
/// strategy says. For benchmarks and simulations.
class SearchDriver {
 public:
  using Metrics = std::map<std::string, double>;
  struct Trial {
    TrialId id;
    study::Proposal proposal;
    std::int64_t epoch = 0;   ///< measured last
    std::int64_t budget = 0;  ///< at which it pauses, if its schedule is longer
    std::optional<study::Fork> fork = {};  ///< before this epoch it became what another one was
  };
  struct Limits {
    std::int64_t slots = 1;                   ///< trials under way at a time
    std::optional<std::int64_t> trials = {};  ///< that are proposed
    bool skips_duplicates = false;      ///< a proposal that repeats another ends at once, as in a study
  };
  /// What a trial measures at `trial.epoch`; nothing: it has failed.
  using Measure = std::function<std::optional<Metrics>(const Trial& trial)>;
  using Ended = std::function<void(const Trial& trial, study::OutcomeKind kind)>;

  /// All outlive this.
  SearchDriver(strategy::Strategy& strategy, const Limits& limits, Measure measure, Ended ended = {})
      : strategy_(strategy), limits_(limits), measure_(std::move(measure)), ended_(std::move(ended)) {}

  /// Trials under way get an epoch each in turn, until so many epochs have been spent in all, or the strategy has
  /// nothing more. Errors: the strategy's.
  Result<void> run_until(std::int64_t epochs);

  /// By hand: what begins or goes on now, as slots are free. Errors: the strategy's.
  Result<std::vector<TrialId>> fill();
  /// One that is under way, or none.
  const Trial* find_running(TrialId id) const;
  /// An epoch of one that is under way; false: it has given its slot back.
  bool advance(TrialId id);

  std::int64_t num_trials() const { return num_proposed_; }  ///< duplicates included

 private:
  bool is_trial_budget_spent() const { return limits_.trials && num_proposed_ >= *limits_.trials; }
  bool carry_out_member(const strategy::Member& member, std::vector<TrialId>& started_trials);
  bool begin(const study::Proposal& proposal);
  bool end(TrialId id, study::OutcomeKind kind);

  strategy::Strategy& strategy_;
  Limits limits_;
  Measure measure_;
  Ended ended_;
  std::map<TrialId, Trial> trials_;  ///< that have not ended
  std::deque<TrialId> running_;
  std::deque<strategy::Member> waiting_;      ///< of the group in hand
  std::unordered_map<Digest, TrialId> keys_;  ///< by study::run_key; never walked
  bool is_barrier_active_ = false;
  int consecutive_duplicates_ = 0;  ///< in a row
  std::int64_t num_paused_ = 0, spent_epochs_ = 0, num_proposed_ = 0;
};

}  // namespace lanista::engine
