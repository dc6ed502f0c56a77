#include "lanista/engine/core/study_follower.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using testing::kFolder;

const std::string kLog = kFolder + "/log/000001.log";

/// All that a page shows of a study.
json view_as_json(const StudyView& view) {
  json trials = json::array(), spans = json::array();
  for (const TrialView& trial : view.trials) {
    json measurements = json::array();
    for (const auto& m : trial.measurements) measurements.push_back(study::measurement_json(m));
    trials.push_back({study::proposal_json(trial.proposal), measurements, trial.parameters, trial.paused, trial.budget,
                      trial.outcome ? study::outcome_json(*trial.outcome) : json()});
  }
  for (const study::Span& span : view.spans) {
    spans.push_back({span.trial.value, span.epoch, span.worker, span.began, span.ended, span.lanes});
  }
  return {view.config_text,
          view.data,
          view.models,
          view.numerics,
          trials,
          spans,
          view.steps,
          view.seconds,
          view.test,
          view.end_reason.value_or("(none)"),
          view.winner ? view.winner->value : 0};
}

TEST(StudyFollower, MatchesFullReadAtEveryMoment) {
  testing::Bench bench;
  ASSERT_TRUE(bench.run(testing::small_study(10), {}).ok());
  const std::string bytes = bench.disk.files().at(kLog);
  std::size_t header = 0;
  while (true) {  // the shortest beginning that is a study
    bench.disk.put(kLog, bytes.substr(0, ++header));
    const auto records = store::read_log(bench.disk, kFolder);
    if (records && !records->empty()) break;
  }
  Rng rng(3);
  auto follower = StudyFollower::open(bench.disk, kFolder);
  ASSERT_TRUE(follower.ok()) << follower.error().text();

  std::size_t changes = 0;
  for (std::size_t written = header; written < bytes.size();) {
    written = std::min<std::size_t>(bytes.size(), written + rng.below(600));
    bench.disk.put(kLog, bytes.substr(0, written));
    const auto changed = follower->refresh();
    ASSERT_TRUE(changed.ok()) << changed.error().text();
    changes += *changed ? 1 : 0;
    EXPECT_EQ(view_as_json(follower->view()), view_as_json(bench.view()))
        << written << " of " << bytes.size() << " bytes";
  }

  EXPECT_GT(changes, 20U);
  EXPECT_TRUE(follower->view().end_reason);
  EXPECT_FALSE(*follower->refresh());
}

TEST(StudyFollower, RefusesOtherFolders) {
  testing::Bench bench;
  EXPECT_EQ(StudyFollower::open(bench.disk, kFolder).error().code, Code::kNotFound);
  bench.disk.put(kLog, "");
  EXPECT_EQ(StudyFollower::open(bench.disk, kFolder).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace lanista::engine
