#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/search/study/trial.h"

namespace lanista::strategy {

/// What every form of successive halving must know of trials under way: how far they got, and their bracket. Every
/// bracket has rungs of its own; bracket b leaves out the first b of them.
class Brackets {
 public:
  struct TrialProgress {
    std::size_t bracket = 0;
    std::int64_t epoch = 0;  ///< measured last
    space::Sample sample;    ///< constraints may speak of it
  };

  /// `rungs` ascending, without the end of the schedule; needs 1 <= brackets <= rungs + 1.
  Brackets(std::vector<std::int64_t> rungs, std::int64_t eta, std::int64_t brackets);

  /// Notes an event: a proposal puts its trial into the bracket that is furthest behind its share, a measurement sets
  /// the trial's epoch, an end removes the trial. It decides no promotion.
  void observe(const study::Event& event);
  /// A trial that was not seen to begin counts as one of bracket 0, which leaves out nothing.
  TrialProgress of(TrialId trial) const;
  /// The brackets that proposals would go to, if they were the next ones in this order.
  std::vector<std::size_t> upcoming(const std::vector<study::Proposal>& fresh) const;
  /// The first rung of a bracket that lies behind an epoch; nullopt: none, the next place is the end of the schedule.
  std::optional<std::size_t> next_rung(std::size_t bracket, std::int64_t epoch) const;
  /// The rung of a bracket at this epoch, if there is one.
  std::optional<std::size_t> rung_at(std::size_t bracket, std::int64_t epoch) const;

  std::size_t count() const { return shares_.size(); }
  const std::vector<std::int64_t>& rungs() const { return rungs_; }

 private:
  static std::size_t next_bracket(const std::vector<std::int64_t>& shares, std::vector<std::int64_t>& begun);

  std::vector<std::int64_t> rungs_;
  std::vector<std::int64_t> shares_, begun_;  ///< of brackets
  std::map<TrialId, TrialProgress> running_;
  std::unordered_map<Digest, std::size_t> bracket_of_decisions_;  ///< only asked, never walked
};

}  // namespace lanista::strategy
