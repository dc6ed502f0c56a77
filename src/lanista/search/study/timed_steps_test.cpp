#include "lanista/search/study/timed_steps.h"

#include <gtest/gtest.h>

#include "lanista/model/graph/text.h"

namespace lanista::study {
namespace {

constexpr const char* kModel = "%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n";
constexpr const char* kOther = "%0 = input(shape=[4])\n%1 = linear(%0, out=5)\n%2 = output(%1)\n";

/// Returns a study with one model for trials 1 and 2, and another one for trial 3.
StudyView three_trials() {
  StudyView view;
  view.models = nlohmann::json::array({{{"name", "a"}, {"graph", kModel}}, {{"name", "b"}, {"graph", kOther}}});
  view.trials.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    view.trials[i].id = TrialId{i + 1};
    view.trials[i].proposal.base = i == 2 ? 1 : 0;
  }
  return view;
}

void add(StudyView& view, std::uint32_t trial, std::int64_t batch) {
  Span span{TrialId{trial}, 1, 0, 0, 1};
  if (batch > 0) {
    pipeline::TimedStep step;
    step.batch = batch;
    span.timed = std::make_shared<const pipeline::TimedStep>(step);
  }
  view.spans.push_back(std::move(span));
}

TEST(TimedSteps, ReturnOwnStepOrThatOfEqualModel) {
  const graph::OpTable ops = graph::builtin_ops();
  StudyView view = three_trials();
  const auto batch_of = [&](std::size_t trial) -> std::int64_t {
    const auto step = timed_step_of(view, view.trials[trial], ops);
    return step ? step->step->batch : 0;
  };
  add(view, 1, 0);
  EXPECT_TRUE(timed_steps(view).empty());
  EXPECT_EQ(batch_of(0), 0) << "the log has no timed step";
  add(view, 1, 7);
  EXPECT_EQ(batch_of(0), 7);
  EXPECT_EQ(batch_of(1), 7) << "a step of the same model";
  EXPECT_EQ(batch_of(2), 0) << "it has another model";
  EXPECT_EQ(timed_step_of(view, view.trials[1], ops)->trial, TrialId{1});
  add(view, 2, 8);
  add(view, 2, 9);
  EXPECT_EQ(batch_of(0), 7);
  EXPECT_EQ(batch_of(1), 9) << "its own last step";
  EXPECT_EQ(timed_steps(view).size(), 3U);
}

TEST(TimedSteps, AreEmptyForUnreadableModel) {
  const graph::OpTable ops = graph::builtin_ops();
  StudyView view = three_trials();
  add(view, 1, 7);
  view.models = nlohmann::json::array();
  EXPECT_TRUE(timed_step_of(view, view.trials[0], ops).has_value());
  EXPECT_FALSE(timed_step_of(view, view.trials[1], ops).has_value());
  view.spans.back().trial = TrialId{9};
  EXPECT_FALSE(timed_step_of(view, view.trials[1], ops).has_value());
}

}  // namespace
}  // namespace lanista::study
