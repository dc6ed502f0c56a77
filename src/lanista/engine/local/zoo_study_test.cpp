// Studies that fill a zoo and start from its models, with real training.
#include <gtest/gtest.h>

#include <filesystem>

#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "support/engine/local/study_runs.h"
#include "support/io/zoo/test_store.h"

namespace lanista::runtime {
namespace {

using engine::testing::CustomStudy;
using engine::testing::kFolder;
using testing::canonical;
using zoo::testing::Folder;

constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, deepen], params: {lr: log(0.01, 0.3)}}
train: {epochs: 4, start: zoo}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, tournament: 2, slots: 3}
keep: {top: 4, checkpoint_every: 0s}
budget: {trials: 10}
)yaml";

class ZooStudy : public testing::BlobStudy {
 protected:
  CustomStudy study(const std::string& folder, std::uint64_t seed) {
    study::StudyConfig config = configured(kStudy, seed);
    config.train.start.zoo = folder;
    return testing::as_configured(config);
  }
};

TEST_F(ZooStudy, IsFilledByOneStudyAndStartsTheNext) {
  const Folder folder("runtime"), saved("runtime_saved");
  MemoryFileSystem first;
  const engine::StudyView filling = run_to_end(first, study(folder.path(), 1), 2, 0);
  EXPECT_EQ(filling.zoo->models, 0);
  std::size_t filled = 0;
  {
    zoo::Store store = zoo::testing::opened(folder.path());
    EXPECT_TRUE(store.verify(graph::builtin_ops())->empty());
    const auto models = *store.list();
    for (const auto& model : models) {
      ++filled;
      EXPECT_GT(model.facts.at("reference").at("steps").get<std::int64_t>(), 0) << model.origin;
      EXPECT_EQ(model.metric, "accuracy");
    }
  }
  EXPECT_GE(filled, 4U);

  std::filesystem::copy(folder.path(), saved.path(), std::filesystem::copy_options::recursive);
  const auto back = [&] {
    std::filesystem::remove_all(folder.path());
    std::filesystem::copy(saved.path(), folder.path(), std::filesystem::copy_options::recursive);
  };
  const CustomStudy second = study(folder.path(), 2);
  MemoryFileSystem reference;
  std::vector<std::map<std::string, std::string>> moments;
  const engine::StudyView view = run_to_end(reference, second, 1, 1, [&] { moments.push_back(reference.files()); });

  const study::ZooSavings saving = study::zoo_savings(view);
  EXPECT_GT(saving.started, 2);
  EXPECT_GT(saving.compared, 2);
  EXPECT_GT(saving.reference, 0) << "a task of so few steps has nothing to save";
  {
    zoo::Store store = zoo::testing::opened(folder.path());
    std::int64_t outcomes = 0;
    const auto models = *store.list();
    for (const auto& model : models) {
      const auto gain = store.expected_gain(model.id);
      if (*gain && !(*gain)->is_task_average) outcomes += (*gain)->outcomes;
    }
    EXPECT_EQ(outcomes, saving.compared);
  }
  for (const auto& [workers, lanes] : {std::pair{2, 1}, std::pair{1, 16}, std::pair{2, 16}}) {
    back();
    MemoryFileSystem other;
    run_to_end(other, second, workers, lanes);
    ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "") << workers << lanes;
  }
  for (std::size_t i = 0; i < moments.size(); i += 5) {
    back();
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
    run_to_end(killed, second, 2, 0);
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
  }
}

// If the transfer plan is exact, the child has the measurement of the zoo's model before its first step.
TEST_F(ZooStudy, BeginsAsTheModelOfTheZooWhereThePlanIsExact) {
  const Folder folder("exact");
  MemoryFileSystem first, disk;
  run_to_end(first, study(folder.path(), 1), 2, 0);
  const CustomStudy second = study(folder.path(), 2);
  const engine::StudyView view = run_to_end(disk, second, 2, 0);
  const store::CheckpointStore files(disk, kFolder);
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  int exact = 0;
  for (const engine::TrialView& trial : view.trials) {
    if (!trial.proposal.start || trial.proposal.start->zoo.empty()) continue;
    auto job = *engine::make_job(second.config, data.spec(), trial, *study::trial_model(view, trial, ops));
    ASSERT_TRUE(engine::plan_start(job, view, ops).ok());
    const auto start = read_start(files, job, ops);
    if (!start || !job.transfer->exact) continue;
    auto child = *train::Trainer::create({.trial = trial.id,
                                          .model = job.model,
                                          .recipe = job.recipe,
                                          .metrics = {"accuracy"},
                                          .trial_seed = job.trial_seed,
                                          .data = &data,
                                          .step_ops = &ops,
                                          .start = *start});
    EXPECT_NEAR(child.evaluate(data::Part::kValidation, "val_").at("val_accuracy"),
                view.zoo_models.at(trial.proposal.start->zoo).quality, 1e-9);
    ++exact;
  }
  EXPECT_GT(exact, 0);
}

}  // namespace
}  // namespace lanista::runtime
