#include "lanista/exec/train/tuning.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/branches.h"

namespace lanista::train {
namespace {

/// The branches of one search, in the lanes of a group.
class SearchBranches {
 public:
  SearchBranches(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop)
      : group_(group), run_(run), should_stop_(should_stop) {}

  /// Trains the branches of a round. Returns false if stopped.
  Result<bool> train_round(study::TuneSearch& search) {
    const study::TuneSearch::Round& round = search.round();
    const auto width = static_cast<std::size_t>(group_.lanes());
    for (std::size_t first = 0; first < round.branches.size(); first += width) {
      const auto indices = std::span(round.branches).subspan(first, std::min(width, round.branches.size() - first));
      // All branches of a round have equal numbers of steps.
      const std::int64_t steps = round.steps - std::ssize(search.tries()[indices.front()].losses);
      std::vector<BranchLane> lanes;
      for (const std::size_t i : indices) {
        LANISTA_ASSIGN(TrialRun * branch, branch_of(search, i));
        lanes.push_back({branch, std::exchange(unreported_losses_[i], {}), ""});
      }
      if (!train_branches(group_, lanes, steps, should_stop_)) return false;
      for (std::size_t k = 0; k < lanes.size(); ++k) {
        const std::span<const double> losses(lanes[k].losses);
        const std::span<const double> due = losses.first(std::min(losses.size(), static_cast<std::size_t>(steps)));
        search.add_losses(indices[k], due);
        unreported_losses_[indices[k]].assign(losses.begin() + std::ssize(due), losses.end());
        if (!lanes[k].failure.empty()) search.mark_failed(indices[k]);
      }
    }
    search.end_round();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!search.tries()[i].is_alive) runs_[i].reset();  // frees its memory
    }
    return true;
  }

  TrialRun& at(std::size_t i) { return *runs_[i]; }
  /// Returns the steps of a branch with losses that were not yet reported: those of its last update.
  std::int64_t num_unreported_steps(std::size_t i) const {
    return i < unreported_losses_.size() ? std::ssize(unreported_losses_[i]) : 0;
  }

 private:
  Result<TrialRun*> branch_of(const study::TuneSearch& search, std::size_t i) {
    if (runs_.size() <= i) {
      runs_.resize(i + 1);
      unreported_losses_.resize(i + 1);
    }
    if (!runs_[i]) {
      LANISTA_ASSIGN(TrialRun branch, BranchPoint(run_).fork(search.tries()[i].setting));
      runs_[i].emplace(std::move(branch));
    }
    return &*runs_[i];
  }

  LaneGroup& group_;
  TrialRun& run_;
  const std::function<bool()>& should_stop_;
  std::deque<std::optional<TrialRun>> runs_;            // of each try; none: not begun, or freed
  std::vector<std::vector<double>> unreported_losses_;  // of each try: losses not yet given to the search
};

std::vector<study::Branch> branch_records(const study::TuneSearch& search, const SearchBranches& branches,
                                          std::int64_t step) {
  std::vector<study::Branch> out{{step, {}, 0, "start", search.start_loss(), false}};
  for (std::size_t i = 0; i < search.tries().size(); ++i) {
    const study::Try& tried = search.tries()[i];
    out.push_back({step, tried.setting, std::ssize(tried.losses) + branches.num_unreported_steps(i),
                   std::string(tried.diverged ? study::kDiverged : study::kConverging), tried.speed,
                   search.winner() == i});
  }
  return out;
}

}  // namespace

bool is_search_due(const TrialRun& run) {
  const TrialDefinition& trial = run.definition();
  if (!trial.tune_rules || run.search()) return false;
  const std::int64_t step = run.progress().step_count();
  return trial.epochs.begin(step) == step && study::is_search_due(*trial.tune_rules, run.progress().measurements());
}

PastSearches past_searches(std::span<const study::Measurement> measurements) {
  PastSearches out;
  for (const study::Measurement& measurement : measurements) {
    if (measurement.branches.empty()) continue;
    ++out.count;
    out.last_tries = std::ranges::count_if(measurement.branches, [](const auto& b) { return !b.setting.empty(); });
  }
  return out;
}

Result<bool> search_setting(LaneGroup& group, TrialRun& run, const MakeSearcher& make,
                            const std::function<bool()>& should_stop) {
  const study::TuneRules& rules = *run.definition().tune_rules;
  // The last update of a branch may have more steps than needed, and must not end the epoch.
  const std::int64_t longest = run.updates().steps_left_in_epoch() - rules.steps_per_update;
  if (longest < 1) {
    BranchPoint(run).record_search({}, nullptr);
    return true;
  }
  const auto [searches, last_tries] = past_searches(run.progress().measurements());
  const std::int64_t trials =
      searches == 0 ? rules.trials : std::min(rules.trials, std::max<std::int64_t>(last_tries, 1));
  LANISTA_ASSIGN(study::ProposeSetting propose, make(run));
  const study::TuneRules now =
      study::rules_for_search(rules, searches == 0, study::search_length_factor(run.progress().measurements()));
  study::TuneSearch search(now, longest, trials, std::move(propose), searches > 0);
  SearchBranches branches(group, run, should_stop);
  while (!search.round().branches.empty()) {
    LANISTA_ASSIGN(const bool done, branches.train_round(search));
    if (!done) return false;
  }
  const auto winner = search.winner();
  BranchPoint(run).record_search(branch_records(search, branches, run.progress().step_count()),
                                 winner ? &branches.at(*winner) : nullptr);
  return true;
}

}  // namespace lanista::train
