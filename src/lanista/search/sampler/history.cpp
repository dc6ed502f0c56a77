#include "lanista/search/sampler/history.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

namespace lanista::search {
namespace {

/// Returns dense ranks: equal keys get equal numbers, without gaps.
template <class Key>
std::vector<std::int64_t> dense(const std::vector<Key>& keys) {
  std::vector<Key> distinct = keys;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::int64_t> out;
  for (const Key& key : keys) {
    out.push_back(std::lower_bound(distinct.begin(), distinct.end(), key) - distinct.begin());
  }
  return out;
}

/// Trials with their ranks.
struct Ranked {
  std::vector<const Observation*> trials;
  std::vector<std::int64_t> rank;
};

/// Returns the ranking of the trials that trained beyond `epoch` together with those that ended there.
Ranked joined(const Ranked& further, const std::vector<const Observation*>& ended, std::int64_t epoch,
              const RankOrder& order) {
  std::vector<EpochLosses> epoch_losses_of_trials;
  std::vector<bool> was_measured;
  for (const Observation* trial : further.trials) {
    auto epoch_losses = losses_at(*trial, epoch);
    was_measured.push_back(epoch_losses.has_value());
    if (epoch_losses) epoch_losses_of_trials.push_back(*std::move(epoch_losses));
  }
  for (const Observation* trial : ended) epoch_losses_of_trials.push_back({epoch, trial->losses, trial->violation});
  const std::vector<std::int64_t> ranking_keys = order(epoch_losses_of_trials);

  // For each rank the best result at this epoch among its trials and all behind them. A trial without a result here
  // counts as not worse.
  const std::int64_t levels =
      further.rank.empty() ? 0 : *std::max_element(further.rank.begin(), further.rank.end()) + 1;
  std::vector<std::int64_t> best(static_cast<std::size_t>(levels), std::numeric_limits<std::int64_t>::max());
  auto next_key = ranking_keys.begin();
  for (std::size_t i = 0; i < was_measured.size(); ++i) {
    std::int64_t& level = best[static_cast<std::size_t>(further.rank[i])];
    level = std::min(level, was_measured[i] ? *next_key++ : -1);
  }
  for (std::size_t level = best.size(); level-- > 1;) best[level - 1] = std::min(best[level - 1], best[level]);

  Ranked out = further;
  std::vector<std::tuple<std::int64_t, bool, std::int64_t>> keys;
  for (const std::int64_t rank : further.rank) keys.emplace_back(rank, true, 0);
  for (const Observation* trial : ended) {
    const std::int64_t level = std::upper_bound(best.begin(), best.end(), *next_key) - best.begin();
    keys.emplace_back(level, false, *next_key++);
    out.trials.push_back(trial);
  }
  out.rank = dense(keys);
  return out;
}

}  // namespace

std::vector<std::int64_t> rank_by_fronts(const std::vector<EpochLosses>& epoch_losses_of_trials) {
  std::vector<std::vector<double>> points;
  std::vector<double> violations;
  for (const EpochLosses& epoch_losses : epoch_losses_of_trials) {
    points.push_back(epoch_losses.losses);
    violations.push_back(epoch_losses.violation);
  }
  return study::non_dominated_ranks(points, violations);
}

std::vector<std::int64_t> rank_by_goals_in_order(const std::vector<EpochLosses>& epoch_losses_of_trials) {
  std::vector<std::tuple<bool, double, std::vector<std::pair<bool, double>>>> keys;
  for (const EpochLosses& epoch_losses : epoch_losses_of_trials) {
    const bool lost = epoch_losses.losses.empty() || std::isnan(epoch_losses.losses[0]);
    auto& [last, violation, values] = keys.emplace_back(lost, lost ? 0 : epoch_losses.violation, 0);
    if (lost) continue;
    for (const double loss : epoch_losses.losses) values.emplace_back(std::isnan(loss), std::isnan(loss) ? 0 : loss);
  }
  return dense(keys);
}

std::vector<std::int64_t> ranks_at_equal_fidelity(const std::vector<const Observation*>& trials,
                                                  const RankOrder& order) {
  std::map<std::int64_t, std::vector<const Observation*>, std::greater<>> ended;  // By epoch, the largest first.
  for (const Observation* trial : trials) {
    if (!trial->losses.empty()) ended[trial->epoch].push_back(trial);
  }
  Ranked all;
  for (const auto& [epoch, there] : ended) all = joined(all, there, epoch, order);
  std::map<const Observation*, std::int64_t> rank_of;  // Never iterated.
  std::int64_t worst = 0;
  for (std::size_t i = 0; i < all.trials.size(); ++i) {
    rank_of[all.trials[i]] = all.rank[i];
    worst = std::max(worst, all.rank[i] + 1);
  }
  std::vector<std::int64_t> out;
  for (const Observation* trial : trials) {
    const auto it = rank_of.find(trial);
    out.push_back(it == rank_of.end() ? worst : it->second);
  }
  return out;
}

std::optional<EpochLosses> losses_at(const Observation& trial, std::int64_t epoch) {
  if (trial.losses.empty()) return std::nullopt;
  if (trial.epoch == epoch) return EpochLosses{epoch, trial.losses, trial.violation};
  const auto it = std::lower_bound(
      trial.earlier_epochs.begin(), trial.earlier_epochs.end(), epoch,
      [](const EpochLosses& epoch_losses, std::int64_t wanted) { return epoch_losses.epoch < wanted; });
  if (it == trial.earlier_epochs.end() || it->epoch != epoch) return std::nullopt;
  return *it;
}

std::int64_t modelled_epoch(const std::vector<const Observation*>& trials, std::size_t enough) {
  std::map<std::int64_t, std::size_t> count;
  for (const Observation* trial : trials) {
    if (trial->losses.empty()) continue;
    ++count[trial->epoch];
    for (const EpochLosses& epoch_losses : trial->earlier_epochs) ++count[epoch_losses.epoch];
  }
  std::int64_t most = 0;
  for (const auto& [epoch, n] : count) {
    if (n >= std::min(enough, most == 0 ? n : count.at(most))) most = epoch;
  }
  return most;
}

std::optional<Observation> History::observe(const study::Event& event) {
  const auto find = [&](TrialId trial) -> Observation* {
    auto it = running_.find(trial);
    if (it != running_.end()) return &it->second;
    it = paused_trials_.find(trial);
    return it == paused_trials_.end() ? nullptr : &it->second;
  };
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    running_[proposed->trial] = {proposed->trial, proposed->proposal, {}, 0, {}, 0, {}};
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    Observation* seen = find(measured->measurement.trial);
    if (seen == nullptr) return std::nullopt;
    if (seen->epoch > 0) seen->earlier_epochs.push_back({seen->epoch, std::move(seen->losses), seen->violation});
    seen->losses = study::losses(goals_, measured->measurement);
    seen->violation = study::violation(constraints_, measured->measurement, seen->proposal.sample);
    seen->epoch = measured->measurement.epoch;
  } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
    auto node = running_.extract(paused->trial);
    const bool is_update = !node;
    if (node) paused_trials_.insert(std::move(node));
    const auto seen = paused_trials_.find(paused->trial);
    if (seen == paused_trials_.end()) return std::nullopt;
    Observation out = seen->second;
    out.outcome = study::OutcomeKind::kStopped;
    out.is_update = is_update;
    return out;
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    Observation* found = find(ended->trial);
    if (found == nullptr) return std::nullopt;
    Observation seen = std::move(*found);
    seen.is_update = running_.erase(ended->trial) == 0;
    paused_trials_.erase(ended->trial);
    using study::OutcomeKind;
    const OutcomeKind kind = seen.outcome = study::kind_for_strategy(ended->outcome);
    if (kind == OutcomeKind::kDuplicate) return std::nullopt;
    if (kind == OutcomeKind::kFailed || kind == OutcomeKind::kCancelled) seen.losses.clear();
    return seen;
  }
  return std::nullopt;
}

}  // namespace lanista::search
