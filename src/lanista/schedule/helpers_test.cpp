#include "lanista/schedule/helpers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::schedule {
namespace {

using Assigned = std::map<std::size_t, TrialId>;

TEST(Helpers, GoWhereFewestAre) {
  const std::vector<Widenable> trials{{TrialId{1}, 2}, {TrialId{2}, 1}};
  const std::vector<std::size_t> idle{3, 4, 5, 6};
  EXPECT_EQ(assign_helpers(trials, idle, {}), (Assigned{{3, TrialId{1}}, {4, TrialId{2}}, {5, TrialId{1}}}));
}

TEST(Helpers, StayUnlessOthersHaveWork) {
  const std::vector<std::size_t> idle{7};
  const Assigned present{{7, TrialId{2}}};
  EXPECT_EQ(assign_helpers(std::vector<Widenable>{{TrialId{1}, 1}, {TrialId{2}, 1}}, idle, present), present);
  EXPECT_EQ(assign_helpers(std::vector<Widenable>{{TrialId{2}, 1, false}}, idle, present), present);
  EXPECT_EQ(assign_helpers(std::vector<Widenable>{{TrialId{1}, 1}, {TrialId{2}, 1, false}}, idle, present),
            (Assigned{{7, TrialId{1}}}));
  EXPECT_EQ(assign_helpers(std::vector<Widenable>{{TrialId{3}, 1, false}}, idle, present), Assigned{});
}

// Whatever is drawn: only idle workers, no trial has too many, and nobody is idle where a trial with work wants more.
TEST(Helpers, AreNeitherTooManyNorMissing) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<Widenable> trials;
    for (std::uint32_t id = 1; id <= rng.below(5); ++id) trials.push_back({TrialId{id}, rng.between(0, 3), rng.below(2) == 0});
    std::vector<std::size_t> idle;
    Assigned present;
    for (std::size_t worker = 0; worker < 6; ++worker) {
      if (rng.below(2) == 0) idle.push_back(worker);
      if (rng.below(2) == 0) present[worker] = TrialId{static_cast<std::uint32_t>(rng.between(1, 6))};
    }
    const Assigned seen = assign_helpers(trials, idle, present);
    std::map<TrialId, std::int64_t> helpers;
    for (const auto& [worker, trial] : seen) {
      EXPECT_TRUE(std::set(idle.begin(), idle.end()).contains(worker));
      ++helpers[trial];
    }
    for (const Widenable& trial : trials) {
      EXPECT_LE(helpers[trial.trial], trial.most);
      if (trial.has_work && helpers[trial.trial] < trial.most) {
        EXPECT_EQ(seen.size(), idle.size());
      }
      helpers.erase(trial.trial);
    }
    EXPECT_TRUE(helpers.empty());
  }
}

}  // namespace
}  // namespace lanista::schedule
