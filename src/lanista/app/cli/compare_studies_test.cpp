#include "lanista/app/cli/compare_studies.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanista::cli {
namespace {

report::StudyComparison two_studies() {
  report::StudyComparison out;
  out.measures = {{"val_accuracy", true}};
  report::StudyComparison::Study a, b;
  a.name = "a";
  a.ended = "budget";
  a.strategy = "evolution+asha";
  a.trials = 9;
  a.trainings = 8;
  a.failed = 1;
  a.seconds = 125;
  a.test = {{"test_accuracy", 0.875}};
  a.best = {{{1, 5.0, 0.5, TrialId{2}}, {4, 40.0, 0.9, TrialId{3}}}};
  b.name = "b\x1b[31m";
  b.strategy = "random";
  b.trainings = 4;
  b.seconds = 20;
  b.best = {{}};
  out.studies = {a, b};
  out.differences = {{"strategy.name", {"\"evolution\"", ""}},
                     {"space.mutate", {std::string(100, 'x'), "\xE2\x82\xAC" + std::string(50, 'y')}}};
  out.notes = {"Not every study\nhas ended."};
  return out;
}

TEST(ComparisonText, ContainsResultsEffortDifferencesAndNotes) {
  EXPECT_EQ(
      comparison_text(two_studies()),
      std::string(" study   best val_accuracy  trial    test  trials  trained  failed  steps  time  strategy\n"
                  " a                  0.9000     #3  0.8750       9        8       1      0  2:05  evolution+asha\n"
                  " b?[31m                  -                      0        4       0      0  20 s  random          "
                  "not ended\n") +
          "\n"
          " best val_accuracy after  1 trial  2 trials  4 trials     5 s    10 s    20 s\n"
          " a                         0.5000    0.5000    0.9000  0.5000  0.5000  0.5000\n"
          " b?[31m                         -         -         -       -       -       -\n" +
          "\n"
          " setting        a                                     b?[31m\n"
          " strategy.name  \"evolution\"                           -\n"
          " space.mutate   xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...  \xE2\x82\xACyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...\n"
          "\n"
          " Not every study?has ended.\n");
}

TEST(ComparisonText, ReportsWhenNothingIsComparable) {
  report::StudyComparison none = two_studies();
  none.measures.clear();
  none.differences.clear();
  for (auto& of : none.studies) of.best.clear();

  const std::string text = comparison_text(none);

  EXPECT_EQ(text.find("best"), std::string::npos);
  EXPECT_NE(text.find("The study files have equal settings."), std::string::npos);
}

}  // namespace
}  // namespace lanista::cli
