#include "lanista/search/study/select_branches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanista::study {
namespace {

Measurement measured(std::uint32_t trial, std::int64_t epoch, std::vector<SelectBranch> selecting) {
  Measurement out{TrialId{trial}, epoch, 10 * epoch, {{"val_loss", 1.0}}};
  out.selecting = std::move(selecting);
  return out;
}

SelectBranch branch(std::int64_t step, bool selects, std::int64_t steps, double value, bool kept) {
  return {step, selects, steps, 0.5 * static_cast<double>(steps), "val_accuracy", value, kept};
}

TEST(SelectBranches, RoundTrip) {
  const Measurement one = measured(
      3, 2, {branch(10, true, 7, 0.5, false), branch(10, false, 6, std::numeric_limits<double>::quiet_NaN(), true)});
  const Measurement back = *measurement_from_json(nlohmann::json::parse(measurement_json(one).dump()));
  ASSERT_EQ(back.selecting.size(), 2U);
  EXPECT_EQ(back.selecting[0], one.selecting[0]);
  EXPECT_TRUE(std::isnan(back.selecting[1].value));
  EXPECT_EQ(measurement_json(measured(3, 1, {})).contains("selecting"), false);
  nlohmann::json broken = measurement_json(one);
  broken["selecting"][0].erase("cost");
  EXPECT_EQ(measurement_from_json(broken).error().code, Code::kDataLoss);
  broken = measurement_json(one);
  broken["selecting"][1]["steps"] = -1;
  EXPECT_EQ(measurement_from_json(broken).error().code, Code::kDataLoss);
}

TEST(SelectBranches, DescribeTrialAndStudy) {
  StudyView view;
  EXPECT_EQ(selection_text(view), "");
  view.trials.resize(2);
  view.trials[0].measurements = {measured(1, 1, {}),
                                 measured(1, 2, {branch(10, true, 8, 0.5, true), branch(10, false, 6, 0.25, false)})};
  view.trials[1].measurements = {measured(2, 1, {branch(0, true, 4, 0.5, false), branch(0, false, 3, 0.5, true)})};
  view.steps = 40;
  EXPECT_EQ(discarded_selection_steps(view), 6 + 4);
  EXPECT_EQ(selection_text(view),
            "chosen examples against all, at equal computation: 2 checks, 1 won by chosen ones; 10 steps (25 % of all) "
            "were discarded");
  EXPECT_EQ(selection_text(view.trials[0]),
            "\nbefore epoch 2, behind step 10: chosen examples or all\n"
            "  > chosen  8 steps at the cost of 4, val_accuracy 0.5\n"
            "    all  6 steps at the cost of 3, val_accuracy 0.25\n");
}

}  // namespace
}  // namespace lanista::study
