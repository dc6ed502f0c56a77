#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/search/study/trial.h"

namespace lanista::search {

/// Assigns trials to brackets and follows their progress, for every form of successive halving. Each bracket has its
/// own rungs; bracket b leaves out the first b of them.
class Brackets {
 public:
  /// Bracket and progress of one trial.
  struct TrialProgress {
    std::size_t bracket = 0;  ///< Index of the bracket, from 0.
    std::int64_t epoch = 0;   ///< Last measured epoch; 0: none.
    space::Sample sample;     ///< Hyper-parameters of the trial, for constraints on them.
  };

  /// Brackets with these rungs, in epochs, which ascend and leave out the end of the schedule. `eta` gives the shares
  /// of the brackets (bracket_shares). Needs 1 <= brackets <= rungs + 1.
  Brackets(std::vector<std::int64_t> rungs, std::int64_t eta, std::int64_t brackets);

  /// Updates the state by an event. A proposal assigns its trial to the bracket that is furthest behind its share. A
  /// further training of the same decisions goes to the bracket of the first one. A measurement sets the epoch of its
  /// trial, and an end removes the trial.
  void observe(const study::Event& event);
  /// Returns the bracket and progress of a running or paused trial. An unknown or ended trial is in bracket 0, which
  /// has all rungs, at epoch 0.
  TrialProgress of(TrialId trial) const;
  /// Returns the bracket index of each of `fresh`, if these proposals come next in this order. Changes nothing.
  std::vector<std::size_t> upcoming(const std::vector<study::Proposal>& fresh) const;
  /// Returns the index in rungs() of the first rung of a bracket after `epoch`; nullopt: only the end of the schedule
  /// follows.
  std::optional<std::size_t> next_rung(std::size_t bracket, std::int64_t epoch) const;
  /// Returns the index in rungs() of the bracket's rung at `epoch`; nullopt: there is none.
  std::optional<std::size_t> rung_at(std::size_t bracket, std::int64_t epoch) const;

  /// Returns the number of brackets.
  std::size_t count() const { return shares_.size(); }
  /// Returns the rungs of bracket 0, in epochs.
  const std::vector<std::int64_t>& rungs() const { return rungs_; }

 private:
  static std::size_t next_bracket(const std::vector<std::int64_t>& shares, std::vector<std::int64_t>& begun);

  std::vector<std::int64_t> rungs_;
  std::vector<std::int64_t> shares_, begun_;  ///< By bracket.
  std::map<TrialId, TrialProgress> running_;
  /// Only searched, never iterated: its order has no effect.
  std::unordered_map<Digest, std::size_t> bracket_of_decisions_;
};

}  // namespace lanista::search
