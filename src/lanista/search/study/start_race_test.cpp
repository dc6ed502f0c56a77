#include "lanista/search/study/start_race.h"

#include <gtest/gtest.h>

#include <limits>

namespace lanista::study {
namespace {

Start from(std::uint32_t trial) {
  Start out{TrialId{trial}, 2, "lineage 1 00", "ab"};
  out.is_chosen_by_engine = true;
  out.coverage = 0.5;
  return out;
}

TrialView raced(std::vector<StartCandidate> results) {
  TrialView trial;
  trial.id = TrialId{3};
  trial.proposal.start = from(1);
  trial.proposal.race = StartRace{10, 0.5, {from(2)}};
  trial.measurements.push_back({trial.id, 1, 24, {{"val_loss", 0.5}}, {}, std::move(results)});
  return trial;
}

TEST(StartRace, DescribesWinningStart) {
  const TrialView start = raced({{10, 0.1, true}, {10, 0.2, false}, {10, 0.9, false}});
  EXPECT_EQ(winning_start(start), &*start.proposal.start);
  EXPECT_EQ(start_summary(start), inherited_text(from(1)));
  const TrialView rival = raced({{10, 0.3, false}, {10, 0.2, true}, {10, 0.9, false}});
  EXPECT_EQ(winning_start(rival), &rival.proposal.race->rivals.front());
  EXPECT_EQ(start_summary(rival), inherited_text(from(2)) + ", better after 10 steps than " + inherited_text(from(1)));
  const TrialView random = raced({{10, 0.3, false}, {10, 0.2, false}, {10, 0.1, true}});
  EXPECT_EQ(winning_start(random), nullptr);
  EXPECT_EQ(race_text(random),
            "\n    trial 1 as of epoch 2  10 steps, loss 0.3\n    trial 2 as of epoch 2  10 steps, loss 0.2"
            "\n  > random values  10 steps, loss 0.1");
  TrialView waiting = random;
  waiting.measurements.clear();
  EXPECT_EQ(winning_start(waiting), &*waiting.proposal.start) << "no result is known yet";
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_EQ(winning_start(raced({{0, none, false}, {10, none, false}, {10, none, false}}))->parent, TrialId{1})
      << "all candidates diverged";
  EXPECT_EQ(winning_start(TrialView()), nullptr);
}

TEST(StartRace, CountsDiscardedSteps) {
  StudyView view;
  view.trials = {raced({{10, 0.1, true}, {10, 0.2, false}, {7, 0.9, false}}), TrialView(),
                 raced({{10, 0.3, false}, {10, 0.2, false}, {10, 0.1, true}})};
  view.steps = 74;
  EXPECT_EQ(discarded_race_steps(view), 37);
  EXPECT_EQ(races_text(view),
            "2 start races: 1 won by the chosen start, 0 by another parent, 1 by random values; "
            "37 steps (50 % of all) were discarded");
  EXPECT_EQ(races_text(StudyView()), "");
}

TEST(StartRace, RoundTripsThroughRecords) {
  TrialView trial = raced({{10, 0.1, true}, {10, 0.2, false}, {3, std::numeric_limits<double>::infinity(), false}});
  const auto proposal = proposal_from_json(proposal_json(trial.proposal));
  ASSERT_TRUE(proposal) << proposal.error().text();
  EXPECT_EQ(proposal->race, trial.proposal.race);
  const auto measured = measurement_from_json(measurement_json(trial.measurements.front()));
  ASSERT_TRUE(measured) << measured.error().text();
  EXPECT_EQ(measured->race, trial.measurements.front().race);
  EXPECT_EQ(run_key(*proposal), run_key(Proposal())) << "a start that the engine chose is no decision";
}

TEST(StartRace, RejectsInvalidRecord) {
  const auto text_of = [](const nlohmann::json& json) {
    const auto read = start_race_from_json(json);
    return read ? "" : read.error().message;
  };
  const nlohmann::json good = start_race_json({10, 0.5, {from(2)}});
  EXPECT_EQ(text_of(good), "");
  nlohmann::json bad = good;
  bad["steps"] = 0;
  EXPECT_NE(text_of(bad).find("'steps' is 0"), std::string::npos) << text_of(bad);
  bad = good;
  bad["time"] = -1;
  EXPECT_NE(text_of(bad).find("'time' must be at least 0"), std::string::npos) << text_of(bad);
  bad = good;
  bad["rivals"][0].erase("chosen");
  EXPECT_NE(text_of(bad).find("a rival must be chosen by the engine"), std::string::npos) << text_of(bad);
  Proposal alone;
  alone.race = StartRace{10, 0, {}};
  EXPECT_FALSE(proposal_from_json(proposal_json(alone)));
}

}  // namespace
}  // namespace lanista::study
