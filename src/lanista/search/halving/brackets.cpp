#include "lanista/search/halving/brackets.h"

#include <algorithm>
#include <utility>

#include "lanista/search/halving/asha.h"

namespace lanista::search {

Brackets::Brackets(std::vector<std::int64_t> rungs, std::int64_t eta, std::int64_t brackets)
    : rungs_(std::move(rungs)), shares_(bracket_shares(std::ssize(rungs_) + 1, eta, brackets)) {
  begun_.resize(shares_.size(), 0);
}

/// Trials go to the bracket that is furthest behind its share (D'Hondt): after as many trials as the sum of the shares,
/// every bracket has exactly its share. The trainings of one proposal are in one bracket.
void Brackets::observe(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    TrialProgress& trial = running_[proposed->trial] = {0, 0, proposed->proposal.sample};
    if (shares_.size() == 1) return;
    const auto [known, fresh] = bracket_of_decisions_.emplace(study::decisions_key(proposed->proposal), 0);
    if (fresh) known->second = next_bracket(shares_, begun_);
    trial.bracket = known->second;
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    running_[measured->measurement.trial].epoch = measured->measurement.epoch;
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    running_.erase(ended->trial);
  }
}

Brackets::TrialProgress Brackets::of(TrialId trial) const {
  const auto it = running_.find(trial);
  return it == running_.end() ? TrialProgress{} : it->second;
}

std::size_t Brackets::next_bracket(const std::vector<std::int64_t>& shares, std::vector<std::int64_t>& begun) {
  std::size_t next = 0;
  for (std::size_t b = 1; b < shares.size(); ++b) {
    if ((begun[b] + 1) * shares[next] < (begun[next] + 1) * shares[b]) next = b;
  }
  ++begun[next];
  return next;
}

std::vector<std::size_t> Brackets::upcoming(const std::vector<study::Proposal>& fresh) const {
  std::vector<std::size_t> out;
  std::vector<std::int64_t> begun = begun_;
  std::map<Digest, std::size_t> met;
  for (const study::Proposal& proposal : fresh) {
    if (shares_.size() == 1) {
      out.push_back(0);
      continue;
    }
    const Digest key = study::decisions_key(proposal);
    const auto known = bracket_of_decisions_.find(key);
    if (known != bracket_of_decisions_.end()) {
      out.push_back(known->second);
      continue;
    }
    const auto [bracket, first] = met.emplace(key, 0);
    if (first) bracket->second = next_bracket(shares_, begun);
    out.push_back(bracket->second);
  }
  return out;
}

std::optional<std::size_t> Brackets::next_rung(std::size_t bracket, std::int64_t epoch) const {
  const auto first = rungs_.begin() + static_cast<std::ptrdiff_t>(bracket);
  const auto next = std::upper_bound(first, rungs_.end(), epoch);
  if (next == rungs_.end()) return std::nullopt;
  return static_cast<std::size_t>(next - rungs_.begin());
}

std::optional<std::size_t> Brackets::rung_at(std::size_t bracket, std::int64_t epoch) const {
  const auto at = std::lower_bound(rungs_.begin(), rungs_.end(), epoch);
  if (at == rungs_.end() || *at != epoch) return std::nullopt;
  const auto rung = static_cast<std::size_t>(at - rungs_.begin());
  if (rung < bracket) return std::nullopt;
  return rung;
}

}  // namespace lanista::search
