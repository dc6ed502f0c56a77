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
    bool passes_over_duplicates = false;      ///< a proposal that repeats another ends at once, as in a study
  };
  /// What a trial measures at `trial.epoch`; nothing: it has failed.
  using Measure = std::function<std::optional<Metrics>(const Trial& trial)>;
  using Ended = std::function<void(const Trial& trial, study::OutcomeKind kind)>;

  /// All outlive this.
  SearchDriver(strategy::Strategy& strategy, const Limits& limits, Measure measure, Ended ended = {})
      : strategy_(strategy), limits_(limits), measure_(std::move(measure)), ended_(std::move(ended)) {}

  /// Trials under way get an epoch each in turn, until so many epochs have been spent in all, or the strategy has
  /// nothing more. Errors: the strategy's.
  Result<void> run_to(std::int64_t epochs);

  /// By hand: what begins or goes on now, as slots are free. Errors: the strategy's.
  Result<std::vector<TrialId>> fill();
  /// One that is under way, or none.
  const Trial* under_way(TrialId id) const;
  /// An epoch of one that is under way; false: it has given its slot back.
  bool advance(TrialId id);

  std::int64_t trials() const { return proposed_; }  ///< duplicates included

 private:
  bool spent() const { return limits_.trials && proposed_ >= *limits_.trials; }
  bool take_up(const strategy::Member& member, std::vector<TrialId>& begun);
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
  bool barrier_ = false;
  int duplicates_ = 0;  ///< in a row
  std::int64_t paused_ = 0, spent_ = 0, proposed_ = 0;
};

}  // namespace lanista::engine
