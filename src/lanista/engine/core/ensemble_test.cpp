// Content of best/ at a study's end with keep.ensemble.
#include "lanista/engine/core/ensemble.h"

#include <gtest/gtest.h>

#include <numeric>

#include "lanista/engine/core/package.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::best_files;
using testing::kFolder;

const FakeOptions kWithBlendGain{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .blend_gain = 0.5};

study::StudyConfig ensemble_study(std::int64_t most = 6, std::int64_t trials = 12) {
  study::StudyConfig config = testing::small_study(trials);
  config.keep.top = 4;
  config.keep.ensemble = most;
  return config;
}

TEST(StudyEnsemble, IsWhatIsInBest) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));

  const StudyView view = bench.view();
  ASSERT_TRUE(view.ensemble);
  const study::Ensemble& ensemble = *view.ensemble;
  EXPECT_GT(ensemble.members.size(), 1U);
  EXPECT_EQ(ensemble.members.front().trial, view.winner);
  const TrialView& winner = view.trials[view.winner->value - 1];
  EXPECT_GT(ensemble.validation.at("val_accuracy"), study::result_of(view.config, winner).metrics.at("val_accuracy"));
  EXPECT_TRUE(ensemble.test.contains("test_accuracy"));
  EXPECT_TRUE(view.test.contains("test_accuracy"));
  EXPECT_NE(ensemble.test, view.test);

  const auto package = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(package) << package.error().text();
  ASSERT_EQ(package->members.size(), ensemble.members.size());
  EXPECT_EQ(package->shares(), ensemble.shares());
  std::int64_t parameters = 0;
  const store::CheckpointStore checkpoints(bench.disk, kFolder);
  for (std::size_t k = 0; k < ensemble.members.size(); ++k) {
    const TrialView& trial = view.trials[ensemble.members[k].trial.value - 1];
    parameters += trial.parameters;
    const auto kept = store::selected_weights(*checkpoints.get(trial.outcome->weights));
    EXPECT_EQ(package->members[k].weights.front(), kept.front());
    EXPECT_EQ(package->facts.at("members")[k].at("trial"), trial.id.value);
  }
  EXPECT_EQ(package->facts.at("parameters"), parameters);
  EXPECT_EQ(package->facts.at("schema"), 3);
  EXPECT_EQ(package->facts.at("metrics").at("test"), study::ensemble_json(ensemble).at("test"));
  EXPECT_FALSE(bench.disk.exists(kFolder + "/best/model.graph"));
}

TEST(StudyEnsemble, KeepsWinnerWhenNoBlendIsBetter) {
  Bench without, with;
  FakeOptions options = kWithBlendGain;
  options.blend_gain = 0;
  study::StudyConfig config = ensemble_study();
  ASSERT_TRUE(with.run(config, options));
  config.keep.ensemble = 0;
  ASSERT_TRUE(without.run(config, options));

  EXPECT_FALSE(with.view().ensemble);
  EXPECT_EQ(best_files(with.disk), best_files(without.disk));
  EXPECT_TRUE(with.disk.exists(kFolder + "/best/model.graph"));
  EXPECT_NE(with.canonical().find("\"study_end\""), std::string::npos);
  EXPECT_EQ(with.canonical().find("\"ensemble\":{"), std::string::npos);
}

TEST(StudyEnsemble, ChangesNoTrial) {
  Bench without, with;
  study::StudyConfig config = ensemble_study();
  ASSERT_TRUE(with.run(config, kWithBlendGain));
  config.keep.ensemble = 0;
  ASSERT_TRUE(without.run(config, kWithBlendGain));

  const StudyView a = with.view(), b = without.view();
  EXPECT_EQ(a.winner, b.winner);
  EXPECT_EQ(a.test, b.test);
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (std::size_t i = 0; i < a.trials.size(); ++i) {
    EXPECT_EQ(study::proposal_json(a.trials[i].proposal), study::proposal_json(b.trials[i].proposal));
    EXPECT_EQ(study::outcome_json(*a.trials[i].outcome), study::outcome_json(*b.trials[i].outcome));
  }
}

/// The files on the disk before every change of a file, from the first change of best/ on.
std::vector<testing::Files> snapshots_of_study_end(const study::StudyConfig& config) {
  Bench bench;
  const auto all = testing::snapshots_of(bench, [&](FileSystem& fs) { return bench.run(config, kWithBlendGain, fs); });
  return {all.end() - 41, all.end()};
}

TEST(StudyEnsemble, IsSameAfterKillAtStudyEnd) {
  const auto snapshots = snapshots_of_study_end(ensemble_study());
  Bench whole;
  testing::put_all(whole.disk, snapshots.back());
  ASSERT_GT(whole.view().ensemble->members.size(), 1U);
  std::set<std::size_t> written;
  for (const testing::Files& moment : snapshots) {
    Bench bench;
    testing::put_all(bench.disk, moment);
    written.insert(best_files(bench.disk).size());
    FakeOptions options = kWithBlendGain;
    options.seed = 5;

    ASSERT_TRUE(bench.resume(options));

    EXPECT_EQ(bench.canonical(), whole.canonical());
    EXPECT_EQ(best_files(bench.disk), best_files(whole.disk));
  }
  EXPECT_GT(written.size(), 5U) << "moments at which best/ was half there";
}

TEST(StudyEnsemble, IsRebuiltWhenPackageIsLost) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));
  const auto whole = best_files(bench.disk);
  const std::string canonical = bench.canonical();
  for (const char* lost : {"/best/package.json", "/best/members/2.safetensors", "/best/members/1.graph"}) {
    ASSERT_TRUE(bench.disk.remove(kFolder + lost));

    ASSERT_TRUE(bench.resume(kWithBlendGain));

    EXPECT_EQ(best_files(bench.disk), whole) << lost;
    EXPECT_EQ(bench.canonical(), canonical);
  }
}

TEST(StudyEnsemble, RemovesFilesWhenExtensionEndsWithSingle) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));
  ASSERT_TRUE(bench.view().ensemble);
  FakeOptions options = kWithBlendGain;
  options.blend_gain = 0;

  ASSERT_TRUE(bench.resume(options, {.trials = 2}));

  EXPECT_FALSE(bench.view().ensemble);
  const auto files = best_files(bench.disk);
  EXPECT_TRUE(files.contains(kFolder + "/best/model.graph"));
  for (const auto& [path, bytes] : files) EXPECT_EQ(path.find("/members/"), std::string::npos) << path;
  EXPECT_TRUE(read_package(bench.disk, kFolder + "/best", graph::builtin_ops()));

  ASSERT_TRUE(bench.resume(kWithBlendGain, {.trials = 2}));

  EXPECT_TRUE(bench.view().ensemble);
  EXPECT_FALSE(bench.disk.exists(kFolder + "/best/model.graph"));
  EXPECT_FALSE(bench.disk.exists(kFolder + "/best/weights.safetensors"));
}

TEST(ChooseEnsemble, RespectsConstraintsOfTheBlend) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));
  const StudyView view = bench.view();
  std::vector<EnsembleModel> candidates;
  for (const TrialId id : ranking(view)) {
    const TrialView& trial = view.trials[id.value - 1];
    if (candidates.size() == 4) break;
    candidates.push_back({EnsembleCandidate{
        &trial, *make_job(view.config, bench.data, trial, *study::trial_model(view, trial, graph::builtin_ops())),
        trial.outcome->weights}});
  }
  FakeExecutor fake = bench.executor(bench.disk, kWithBlendGain);
  const auto choose_members = [&](const std::vector<std::string>& constraints) {
    study::StudyConfig config = view.config;
    for (const std::string& text : constraints) config.subject_to.push_back(*study::Constraint::parse(text));
    return *choose_ensemble(fake, config, graph::builtin_ops(), candidates, 6);
  };
  const auto parameters = [&](const study::Ensemble& ensemble) {
    std::int64_t sum = 0;
    for (const auto& member : ensemble.members) sum += view.trials[member.trial.value - 1].parameters;
    return sum;
  };

  const study::Ensemble free = choose_members({});
  EXPECT_EQ(free.members, view.ensemble->members);
  for (std::int64_t most = parameters(free) - 1; most > 0; most = most * 3 / 4) {
    const study::Ensemble held = choose_members({"params <= " + std::to_string(most)});
    // The winner's own violation of a constraint is tolerated.
    EXPECT_LE(parameters(held), std::max(most, candidates[0][0].trial->parameters));
    EXPECT_EQ(held.members.front().trial, view.winner);
  }
  ASSERT_GT(free.validation.at("val_accuracy"), 0.8) << "the test's own study";
  EXPECT_LE(choose_members({"val_accuracy <= 0.8"}).validation.at("val_accuracy"), 0.8);
  EXPECT_EQ(choose_members({"val_accuracy >= 0.8"}).members, free.members)
      << "the blend keeps what no member alone does";
}

TEST(StudyEnsemble, UsesOnlyKeptTrials) {
  for (const std::int64_t top : {1, 2, 3}) {
    Bench bench;
    study::StudyConfig config = ensemble_study(9);
    config.keep.top = top;
    ASSERT_TRUE(bench.run(config, kWithBlendGain));
    const StudyView view = bench.view();
    const auto ranked = ranking(view);
    EXPECT_EQ(view.ensemble.has_value(), top > 1);
    if (!view.ensemble) continue;
    EXPECT_LE(std::ssize(view.ensemble->members), top);
    std::int64_t selections = 0;
    for (const auto& member : view.ensemble->members) {
      selections += member.selections;
      EXPECT_LT(std::ranges::find(ranked, member.trial) - ranked.begin(), top);
    }
    EXPECT_LE(selections, 9);
  }
}

TEST(StudyEnsemble, RequiresValidationGoal) {
  study::StudyConfig config = ensemble_study();
  config.goals = {{false, "params"}};
  const auto fitted = resolve_from_data(config, testing::small_data());
  ASSERT_FALSE(fitted);
  EXPECT_EQ(fitted.error().where, "keep.ensemble");
}

// The package alone: a layout that an older build refuses, and damage of every kind.
TEST(ModelPackage, RefusesDamagedMembers) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));
  const std::string path = kFolder + "/best/package.json";
  const auto facts = nlohmann::json::parse(*bench.disk.read(path));
  const auto code_of = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json changed = facts;
    change(changed);
    bench.disk.put(path, changed.dump());
    const auto read = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
    return read ? Code::kInternal : read.error().code;
  };
  EXPECT_EQ(code_of([](auto& f) { f["schema"] = 7; }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([](auto& f) { f["members"] = nlohmann::json::array(); }), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"] = 3; }), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"][0]["share"] = 0; }), Code::kDataLoss);
  const auto raise = [](nlohmann::json& f) {
    nlohmann::json& share = f["members"][0]["share"];
    share = share.get<double>() + 0.01;
  };
  EXPECT_EQ(code_of(raise), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"][1].erase("weights_hash"); }), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"][1]["weights_hash"] = "0"; }), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"][1]["recipe"]["loss"] = "focal"; }), Code::kDataLoss);
  EXPECT_EQ(code_of([](auto& f) { f["members"][1]["graph_hash"] = "0"; }), Code::kDataLoss);
}

TEST(ModelPackage, RoundTripsSeveralMembers) {
  Bench bench;
  ASSERT_TRUE(bench.run(ensemble_study(), kWithBlendGain));
  const auto package = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(package);

  ASSERT_TRUE(write_package(bench.disk, "/again", *package));

  for (const auto& [name, bytes] : best_files(bench.disk)) {
    const std::string copy = "/again" + name.substr((kFolder + "/best").size());
    EXPECT_EQ(*bench.disk.read(copy), bytes) << name;
  }
}

}  // namespace
}  // namespace lanista::engine
