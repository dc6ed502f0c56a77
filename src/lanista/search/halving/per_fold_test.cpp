#include "lanista/search/halving/per_fold.h"

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

/// Stops trials below the best result so far, begins trials with two epochs, and resumes paused ones.
class BelowTheBest final : public Halving {
 public:
  void observe(const study::Event& event) override {
    if (const auto* measured = std::get_if<study::Measured>(&event)) {
      const double value = measured->measurement.metrics.at("acc");
      values_[measured->measurement.trial] = value;
      best_ = std::max(best_, value);
    }
    if (const auto* paused = std::get_if<study::Paused>(&event)) paused_.push_back(paused->trial);
  }
  TrialVerdict verdict(TrialId trial) const override {
    return {values_.at(trial) < best_ ? study::Verdict::kStop : study::Verdict::kContinue, 0};
  }
  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i].budget = static_cast<std::int64_t>(i) + 1;
  }
  Promotions advance(std::int64_t count, bool) const override {
    Promotions out;
    for (const TrialId trial : paused_) {
      if (std::ssize(out.members) < count) out.members.emplace_back(ResumeTrial{trial, 9});
    }
    return out;
  }

 private:
  std::map<TrialId, double> values_;
  std::vector<TrialId> paused_;
  double best_ = 0;
};

std::unique_ptr<Halving> three_folds() {
  std::vector<std::unique_ptr<Halving>> rules;
  for (int fold = 0; fold < 3; ++fold) rules.push_back(std::make_unique<BelowTheBest>());
  return halving_per_fold(std::move(rules));
}

study::Proposal of_fold(std::int64_t fold) {
  study::Proposal proposal;
  proposal.fold = fold;
  return proposal;
}

TEST(PerFold, ComparesOnlyTrainingsOfOneFold) {
  auto rule = three_folds();
  for (std::uint32_t id = 1; id <= 6; ++id) {
    rule->observe(study::Proposed{TrialId{id}, of_fold((id - 1) % 3)});
    // The second fold is the hard one; the second proposal (trials 4 to 6) is a little worse on all.
    const double value = (id % 3 == 2 ? 0.3 : 0.9) - (id > 3 ? 0.01 : 0);
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", value}}}});
  }
  for (std::uint32_t id = 1; id <= 6; ++id) {
    EXPECT_EQ(rule->verdict(TrialId{id}).verdict, id <= 3 ? study::Verdict::kContinue : study::Verdict::kStop) << id;
  }
}

TEST(PerFold, AssignsBudgetsAndResumesPerFold) {
  auto rule = three_folds();
  std::vector<study::Proposal> fresh{of_fold(1), of_fold(0), of_fold(1), of_fold(2), of_fold(1)};
  rule->assign_budgets(fresh);
  std::vector<std::int64_t> budgets, folds;
  for (const study::Proposal& proposal : fresh) {
    budgets.push_back(proposal.budget);
    folds.push_back(*proposal.fold);
  }
  EXPECT_EQ(budgets, (std::vector<std::int64_t>{1, 1, 2, 1, 3}));
  EXPECT_EQ(folds, (std::vector<std::int64_t>{1, 0, 1, 2, 1}));

  for (std::uint32_t id = 1; id <= 4; ++id) {
    rule->observe(study::Proposed{TrialId{id}, of_fold((id - 1) % 2)});
    rule->observe(study::Paused{TrialId{id}, 1});
  }
  std::vector<std::uint32_t> resumed;
  const Promotions next = rule->advance(3, true);
  for (const Member& member : next.members) resumed.push_back(std::get<ResumeTrial>(member).trial.value);
  EXPECT_EQ(resumed, (std::vector<std::uint32_t>{1, 3, 2}));
}

}  // namespace
}  // namespace lanista::search
