#include "lanista/exec/train/tuning.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "lanista/exec/train/branch_point.h"

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
    const auto width = static_cast<std::size_t>(group_.lanes()), steps = static_cast<std::size_t>(round.steps);
    branches_.resize(search.tries().size());
    for (std::size_t first = 0; first < round.branches.size(); first += width) {
      const auto indices = std::span(round.branches).subspan(first, std::min(width, round.branches.size() - first));
      std::vector<TrialBranch*> lanes;
      for (const std::size_t i : indices) {
        lanes.push_back(&branches_[i]);
        if (branches_[i].run) continue;
        LANISTA_ASSIGN(TrialRun fork, BranchPoint(run_).fork(search.tries()[i].setting));
        branches_[i].run.emplace(std::move(fork));
      }
      if (!train_together(lanes, steps)) return false;
      for (const std::size_t i : indices) {
        const std::span<const double> losses(branches_[i].losses);
        search.add_losses(i, losses.first(std::min(losses.size(), steps)).subspan(search.tries()[i].losses.size()));
        if (!branches_[i].failure.empty()) search.mark_failed(i);
      }
    }
    search.end_round();
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      if (!search.tries()[i].is_alive) branches_[i].run.reset();  // frees its memory
    }
    return true;
  }

  TrialRun& at(std::size_t i) { return *branches_[i].run; }
  /// Returns the steps of a branch. Its last update may have more of them than the search needed.
  std::int64_t num_steps(std::size_t i) const { return std::ssize(branches_[i].losses); }

 private:
  struct TrialBranch {
    std::optional<TrialRun> run;  // none: not begun, or freed
    std::vector<double> losses;   // mean loss over the rows of each step; steps of one update share a value
    std::string failure;          // why it stopped early; empty: it did not
  };

  /// Trains branches until each has `steps` losses, or failed. The last update may exceed that number. There are at
  /// most as many branches as lanes. Returns false if stopped.
  bool train_together(std::span<TrialBranch* const> lanes, std::size_t steps) {
    while (true) {
      // The branches with the fewest steps are next: an update of a larger batch is several steps.
      std::size_t fewest_steps = steps;
      for (const TrialBranch* lane : lanes) {
        if (lane->failure.empty()) fewest_steps = std::min(fewest_steps, lane->losses.size());
      }
      if (fewest_steps == steps) return true;
      std::vector<TrialBranch*> next;
      std::ranges::copy_if(lanes, std::back_inserter(next), [&](const TrialBranch* lane) {
        return lane->failure.empty() && lane->losses.size() == fewest_steps;
      });
      if (should_stop_()) return false;
      struct Update {
        std::size_t steps;
        double rows, loss_before;
      };
      std::vector<Update> updates;
      std::vector<TrialRun*> runs;
      for (TrialBranch* lane : next) {
        const UpdatePlan plan = lane->run->updates();
        runs.push_back(&*lane->run);
        updates.push_back({static_cast<std::size_t>(plan.steps_in_next()), static_cast<double>(plan.rows_in_next()),
                           lane->run->progress().loss_sum()});
      }
      std::vector<StepResult> results(runs.size());
      group_.step(runs, results);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        next[i]->failure = results[i].failure;
        if (!results[i].failure.empty()) continue;
        const double loss = (runs[i]->progress().loss_sum() - updates[i].loss_before) / updates[i].rows;
        next[i]->losses.insert(next[i]->losses.end(), updates[i].steps, loss);
      }
    }
  }

  LaneGroup& group_;
  TrialRun& run_;
  const std::function<bool()>& should_stop_;
  std::deque<TrialBranch> branches_;  // of each try
};

std::vector<study::Branch> branch_records(const study::TuneSearch& search, const SearchBranches& branches,
                                          std::int64_t step) {
  std::vector<study::Branch> out{{step, {}, 0, "start", search.start_loss(), false}};
  for (std::size_t i = 0; i < search.tries().size(); ++i) {
    const study::Try& tried = search.tries()[i];
    out.push_back({step, tried.setting, branches.num_steps(i),
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
