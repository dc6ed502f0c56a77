#pragma once

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/random_verdicts.h"

namespace lanista::engine::testing {

/// Pauses, resumes and stops trials, and starts others from their states, in groups of any kind. It is a function of
/// its seed and of the events. Some starts name states that are not kept.
class RandomCloneStrategy final : public RandomVerdictStrategy {
 public:
  RandomCloneStrategy(std::unique_ptr<search::Strategy> inner, std::int64_t epochs, std::uint64_t seed)
      : RandomVerdictStrategy(std::move(inner), epochs, Rng(seed).split("breeder"),
                              {.pause_probability = 0.4,
                               .stop_probability = 0.05,
                               .max_epochs_ahead = 2,
                               .forgets_ended_trials = false}) {}
  std::string_view name() const override { return "breeder"; }

  Result<search::Suggestion> suggest(const search::Capacity& capacity) const override {
    Rng rng = suggestion_rng();
    if (capacity.running > 0 && rng.bernoulli(0.2)) return search::Suggestion::wait();
    search::Suggestion out;
    out.group.id = next_group();
    out.group.barrier = rng.bernoulli(0.1);
    std::set<TrialId> used;
    for (std::int64_t count = rng.between(1, 3); count > 0; --count) {
      const double u = rng.uniform();
      const auto it = random_known_trial(rng);
      const bool exists = it != known().end();
      const bool is_paused = exists && it->second.paused && used.insert(it->first).second;
      if (is_paused && u < 0.15) {
        out.group.members.emplace_back(search::ResumeTrial{it->first, rng.between(it->second.epoch + 1, epochs())});
      } else if (is_paused && u < 0.25) {
        out.group.members.emplace_back(search::StopTrial{it->first});
      } else if (exists && it->second.epoch > 0 && u < 0.85 && capacity.new_trials > 0) {
        study::Proposal child = it->second.proposal;
        child.parent = it->first;
        child.start = study::Start{it->first, it->second.epoch, "", ""};
        set_budget(child, rng);
        out.group.members.emplace_back(search::NewTrial{std::move(child)});
      } else if (capacity.new_trials > 0) {
        const auto fresh = inner().suggest({1});
        if (!fresh || fresh->proposals().empty()) continue;
        study::Proposal proposal = fresh->proposals().front();
        set_budget(proposal, rng);
        out.group.members.emplace_back(search::NewTrial{std::move(proposal)});
      }
    }
    if (!out.group.members.empty()) return out;
    return capacity.running > 0 ? search::Suggestion::wait() : search::Suggestion::space_exhausted();
  }
};

/// A study with this strategy, independent of the stopping rule and slots in its file.
inline CustomStudy random_clone_study(study::StudyConfig config, std::uint64_t seed) {
  config.strategy.slots = 1 + static_cast<std::int64_t>(seed % 4);
  config.stop = {"none", Options::object()};
  return {config, [config, seed](const auto& models) {
            return std::make_unique<RandomCloneStrategy>(*make_strategy(config, models), config.train.length.epochs,
                                                         seed);
          }};
}

/// Numbers of trials that started from another trial's state, and of those with a state that was not kept.
struct CloneCounts {
  int children = 0, orphans = 0, grandchildren = 0;
};
inline CloneCounts count_clones(const StudyView& view) {
  CloneCounts out;
  for (const TrialView& trial : view.trials) {
    if (!trial.proposal.start) continue;
    ++(trial.proposal.start->address.empty() ? out.orphans : out.children);
    if (view.trials[trial.proposal.start->parent.value - 1].proposal.start) ++out.grandchildren;
  }
  return out;
}

}  // namespace lanista::engine::testing
