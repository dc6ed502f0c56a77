// The plan that `lanista plan` prints equals the logged plan and the work of workers.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/engine/forecast/study_plan.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::kFolder;

constexpr const char* kSomePrograms = R"yaml(
model: {base: builtin:small-mlp}
space:
  mutate: [widen]
  params: {optimizer: {sgd: {lr: "log(0.01, 0.3)"}, adam: {lr: "log(0.001, 0.03)"}}, batch: "choice(8, 16)"}
train: {epochs: 3}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1"}
strategy: {name: random, slots: 9}
)yaml";

TEST(PlanRun, MatchesThePrintedPlan) {
  for (const std::int64_t workers : {1, 2, 3}) {
    SCOPED_TRACE(workers);
    MemoryFileSystem disk;
    testing::StudyProcess process(disk, {.folder = kFolder, .trials = 14, .workers = workers, .study = kSomePrograms});
    const auto models = engine::make_model_space(process.config(), process.data(), ".", disk);
    ASSERT_TRUE(models) << models.error().text();
    const auto printed = engine::plan_study(process.config(), process.data(), *models, {.machine = process.machine()});
    ASSERT_TRUE(printed) << printed.error().text();
    const auto summary = process.run();
    ASSERT_TRUE(summary) << summary.error().text();

    const auto records = store::read_log(disk, kFolder);
    ASSERT_TRUE(records);
    const auto logged = std::ranges::find(*records, store::RecordType::kPlan, &store::Record::type);
    ASSERT_NE(logged, records->end());
    const auto record = engine::read_plan(logged->body);
    ASSERT_TRUE(record);
    plan::Grouping grouping;
    grouping.apply(record->changes);
    const plan::GroupPlan plan = grouping.plan();
    plan::GroupPlan several = printed->plan;
    std::erase_if(several.groups, [](const plan::Group& group) { return group.trials.size() == 1; });
    EXPECT_EQ(plan, several) << engine::plan_text(*printed, false);

    const auto view = engine::fold(*records);
    ASSERT_TRUE(view);
    const auto group_of = [&](TrialId trial) {
      return std::ranges::find_if(plan.groups,
                                  [&](const plan::Group& g) { return std::ranges::count(g.trials, trial) > 0; });
    };
    std::int64_t most = 0;
    for (const study::Span& span : view->spans) {
      const auto group = group_of(span.trial);
      if (span.epoch > 1 || span.trial.value > std::size(printed->predicted.graph.members)) continue;
      EXPECT_LE(span.lanes, group == plan.groups.end() ? 1 : std::ssize(group->trials)) << span.trial.value;
      most = std::max(most, span.lanes);
    }
    EXPECT_GT(most, 1) << "the study has trials of one program";
    // All trials may start at once, so the first work item is a whole group.
    const auto first = std::ranges::min_element(view->spans, {}, &study::Span::began);
    const auto its = group_of(first->trial);
    EXPECT_EQ(first->lanes, its == plan.groups.end() ? 1 : std::ssize(its->trials)) << first->trial.value;
  }
}

}  // namespace
}  // namespace lanista::runtime
