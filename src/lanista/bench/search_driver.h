#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lanista/base/result.h"
#include "lanista/strategy/strategy.h"
#include "lanista/study/trial.h"

namespace lanista::bench {

using Metrics = std::map<std::string, double>;

/// The engine's part of a search that trains nothing: members of groups are taken up as slots get free, each trial under
/// way gets an epoch in turn, trials pause at their budgets and are resumed, stopped and ended as a strategy says.
class SearchDriver {
 public:
  struct Trial {
    TrialId id;
    study::Proposal proposal;
    std::int64_t epoch = 0;   ///< measured last
    std::int64_t budget = 0;  ///< at which it pauses, if its schedule is longer
  };
  /// What a trial measures at `trial.epoch`; nothing: it has failed.
  using Measure = std::function<std::optional<Metrics>(const Trial& trial)>;
  using Ended = std::function<void(const Trial& trial, study::OutcomeKind kind)>;

  /// All outlive this.
  SearchDriver(strategy::Strategy& strategy, std::int64_t slots, Measure measure, Ended ended = {})
      : strategy_(strategy), slots_(slots), measure_(std::move(measure)), ended_(std::move(ended)) {}

  /// Goes on until so many epochs have been spent in all, or the strategy has nothing more. Errors: the strategy's.
  Result<void> run_to(std::int64_t epochs);

  std::int64_t trials() const { return proposed_; }

 private:
  Result<void> fill();
  void take_up(const strategy::Member& member);
  bool advance(TrialId id);
  bool end(TrialId id, study::OutcomeKind kind);

  strategy::Strategy& strategy_;
  std::int64_t slots_;
  Measure measure_;
  Ended ended_;
  std::map<TrialId, Trial> trials_;  ///< that have not ended
  std::deque<TrialId> running_;
  std::deque<strategy::Member> waiting_;  ///< of the group in hand
  bool barrier_ = false;
  std::int64_t paused_ = 0, spent_ = 0, proposed_ = 0;
};

/// A strategy with the halving that its sampler has of its own, or the rule of this name. Errors: the sampler's and the
/// rule's; kInternal (there is no such rule).
Result<std::unique_ptr<strategy::Strategy>> searching(const strategy::Context& context,
                                                      const strategy::StrategyPlugin& plugin, const Options& options,
                                                      const std::string& rule,
                                                      const Options& rule_options = Options::object());

}  // namespace lanista::bench
