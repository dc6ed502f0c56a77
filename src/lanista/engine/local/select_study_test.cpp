// Studies with selection comparisons and real training. They are equal on any workers, in any lanes and with kills at
// every record. Replaying the findings of a trial gives the trial.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/io/data/selection_comparison.h"
#include "support/engine/local/study_runs.h"

namespace lanista::runtime {
namespace {

using engine::testing::CustomStudy;
using engine::testing::kFolder;
using testing::canonical;

constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.01, 0.3)}}
train: {epochs: 4, steps_per_epoch: 12, select: {auto: {beta: 2, steps: 6, every: 2, on: val_loss}}}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: random, slots: 3}
keep: {top: 4, checkpoint_every: 0s}
budget: {trials: 5}
)yaml";

class SelectStudy : public testing::BlobStudy {
 protected:
  CustomStudy study(const char* text = kStudy) { return testing::as_configured(configured(text, 5)); }
};

TEST_F(SelectStudy, IsTheSameOnAnyWorkersAndLanesAndAfterKills) {
  const bool whole = std::getenv("LANISTA_WHOLE_ZOO") != nullptr;  // kills at every record
  const CustomStudy custom = study();
  MemoryFileSystem reference;
  std::vector<std::map<std::string, std::string>> moments;
  const auto view = run_to_end(reference, custom, 1, 1, [&] { moments.push_back(reference.files()); });
  std::int64_t steps = 0, checks = 0, won = 0;
  for (const engine::TrialView& trial : view.trials) {
    steps += trial.measurements.back().step;
    for (const study::Measurement& measurement : trial.measurements) {
      EXPECT_EQ(!measurement.selecting.empty(), measurement.epoch % 2 == 0);
      for (const study::SelectBranch& branch : measurement.selecting) won += branch.kept && branch.selects ? 1 : 0;
      checks += measurement.selecting.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(checks, 10);
  EXPECT_GT(won, 0);
  EXPECT_LT(won, checks);
  const std::int64_t discarded = study::discarded_selection_steps(view);
  EXPECT_GT(discarded, 0);
  EXPECT_EQ(view.steps, steps + discarded) << "what checks take is spent";
  for (const auto& [workers, lanes] : {std::pair{2, 1}, std::pair{1, 16}, std::pair{3, 2}}) {
    MemoryFileSystem other;
    run_to_end(other, custom, workers, lanes);
    ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "") << workers << lanes;
  }
  for (std::size_t i = 0; i < moments.size(); i += whole ? 1 : 5) {
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
    run_to_end(killed, custom, 2, 0);
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
  }
}

TEST_F(SelectStudy, HasTrialsThatAreRepeatedToTheBit) {
  MemoryFileSystem disk;
  const auto view = run_to_end(disk, study(), 2, 0);
  for (const engine::TrialView& trial : view.trials) {
    auto job =
        *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    job.recipe.select = data::with_recorded_selection(job.recipe.select, trial.measurements);
    const auto alone = repeat_trial(job, 4, {}, data, [](const study::Measurement&) {});
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
  }
}

// Logical time includes the maximum of discarded steps at each of the two checks.
TEST_F(SelectStudy, ChargesLogicalTimeAndStepsForItsChecks) {
  MemoryFileSystem disk;
  const auto view = run_to_end(disk, study(), 1, 0);
  int seen = 0;
  const std::vector<store::Record> records = *store::read_log(disk, kFolder);
  for (const store::Record& record : records) {
    if (record.type != store::RecordType::kProposed) continue;
    // Six steps that need a third more time with all rows selected, and one that waited: nine of an epoch's twelve.
    EXPECT_EQ(record.body["proposal"]["select_time"].get<double>(),
              record.body["logical_epoch"].get<double>() * 9 / 12);
    ++seen;
  }
  EXPECT_EQ(seen, 5);

  // With a budget in steps, the second trial is refused because its checks might exceed it.
  study::StudyConfig config = configured(kStudy, 5);
  config.strategy.slots = 1;
  for (const std::int64_t steps : {2 * (48 + 18) - 1, 2 * (48 + 18)}) {
    config.budget.steps = steps;
    MemoryFileSystem other;
    const auto ended = run_to_end(other, testing::as_configured(config), 1, 0);
    EXPECT_LE(ended.steps, steps);
    EXPECT_GE(std::ssize(ended.trials), 1);
  }
}

}  // namespace
}  // namespace lanista::runtime
