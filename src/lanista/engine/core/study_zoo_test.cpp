// Trials that begin with what a zoo has (train.start: zoo), on workers that train nothing.
#include "lanista/engine/core/study_zoo.h"

#include <gtest/gtest.h>

#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "lanista/engine/core/zoo_task.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/io/zoo/test_store.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::small_study;
using zoo::Store;
using zoo::testing::Folder;
using zoo::testing::opened;

const graph::OpTable kOps = graph::builtin_ops();

zoo::NewModel model_of_width(std::int64_t hidden, double quality) {
  const std::string width = std::to_string(hidden);
  const std::string text = "%0 = input(shape=[6])\n%1 = linear(%0, out=" + width +
                           ")\n%2 = relu(%1)\n%5 = linear(%2, out=" + width +
                           ")\n%6 = relu(%5)\n%3 = linear(%6, out=3)\n%4 = output(%3)\n";
  zoo::NewModel out{*graph::parse(text), task_key(testing::small_data()), {}, quality, "accuracy", {}, "test", {}};
  out.tensors = zoo::testing::random_weights(out.graph, static_cast<std::uint64_t>(hidden));
  out.facts = {{"reference", {{"target", 0.6}, {"steps", 40}}}};
  return out;
}

/// A zoo of five models, and a study that may start from them.
struct ZooStudy {
  Folder folder;
  study::StudyConfig config = small_study(24);
  std::vector<std::string> ids;

  explicit ZooStudy(const std::string& name, std::uint64_t seed = 7) : folder("study_" + name) {
    config.train.start = study::kStartZoo;
    config.train.zoo = folder.path();
    config.keep.top = 3;
    config.run.seed = seed;
  }
  void fill() {
    Store store = opened(folder.path(), Store::Mode::kWrite, {.replicas = 100});
    for (const std::int64_t hidden : {32, 48, 64, 80, 96}) {
      ids.push_back(zoo::testing::added(store, model_of_width(hidden, 0.5 + 0.001 * static_cast<double>(hidden))).id);
    }
  }
  void sql(const std::string& text) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((folder.path() + "/index.sqlite").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
};

int num_started_from_zoo(const StudyView& view) {
  int out = 0;
  for (const TrialView& trial : view.trials) out += trial.proposal.start && !trial.proposal.start->zoo.empty();
  return out;
}

bool has_warning(const Bench& bench, const std::string& event, const std::string& word) {
  return std::ranges::any_of(bench.sink.events(), [&](const auto& each) {
    return each.event == event && each.fields.dump().find(word) != std::string::npos;
  });
}

TEST(StudyZoo, StartsFromBestMatchingModel) {
  ZooStudy zoo_study("gives");
  zoo_study.fill();
  Bench bench;
  ASSERT_TRUE(bench.run(zoo_study.config, {.seed = 3}).ok());

  const StudyView view = bench.view();
  ASSERT_TRUE(view.zoo);
  EXPECT_EQ(view.zoo->models, 5);
  EXPECT_EQ(view.zoo->trouble, "");
  int planned = 0;
  for (const TrialView& trial : view.trials) {
    const auto& start = trial.proposal.start;
    if (!start || start->zoo.empty()) continue;
    EXPECT_TRUE(start->is_chosen_by_engine);
    EXPECT_FALSE(start->is_file());
    EXPECT_TRUE(std::ranges::find(zoo_study.ids, start->zoo) != zoo_study.ids.end());
    const study::ZooModel& model = view.zoo_models.at(start->zoo);
    EXPECT_EQ(model.metric, "accuracy");
    EXPECT_EQ(model.reference, (study::Reference{0.6, 40}));
    Job job = *make_job(zoo_study.config, bench.data, trial, *study::trial_model(view, trial, kOps));
    ASSERT_TRUE(plan_start(job, view, kOps).ok());
    EXPECT_EQ(zoo::inherited_share(*job.transfer), start->coverage);
    ++planned;
  }
  EXPECT_GT(planned, 3);
  EXPECT_FALSE(view.trials[0].proposal.start->zoo.empty()) << "nothing of the study is there as yet";
  EXPECT_GT(opened(zoo_study.folder.path()).show(view.trials[0].proposal.start->zoo)->hits, 0);
}

// Changes of the zoo in the meantime: better models arrive, others are evicted if allowed, an unused one is found
// damaged, and its weights are read again.
TEST(StudyZoo, ResumesExactlyDespiteZooChanges) {
  const bool whole = std::getenv("LANISTA_WHOLE_ZOO") != nullptr;
  for (std::uint64_t seed = 1; seed <= (whole ? 8U : 1U); ++seed) {
    SCOPED_TRACE(seed);
    ZooStudy zoo_study("kills", seed);
    zoo_study.fill();
    const auto saved = ::testing::TempDir() + "lanista_zoo_saved";
    const auto copy = [](const std::string& from, const std::string& to) {
      std::filesystem::remove_all(to);
      std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
    };
    const testing::CustomStudy custom{zoo_study.config,
                                      [&](const auto& models) { return *make_strategy(zoo_study.config, models); }};
    copy(zoo_study.folder.path(), saved);
    Bench reference;
    std::vector<testing::Files> snapshots;
    testing::WatchedFileSystem fs(reference.disk);
    fs.on_change = [&, changes = 0]() mutable {
      if (changes++ % 7 == 6) snapshots.push_back(reference.disk.files());
    };
    ASSERT_TRUE(custom.run_study(reference, 0, fs).ok());
    ASSERT_GT(num_started_from_zoo(reference.view()), 3);
    ASSERT_GT(snapshots.size(), 12U);
    const StudyView expected = reference.view();
    const auto unused = std::ranges::find_if(zoo_study.ids, [&](const std::string& id) {
      return std::ranges::none_of(expected.trials, [&](const TrialView& trial) {
        return trial.proposal.start && trial.proposal.start->zoo == id;
      });
    });
    ASSERT_NE(unused, zoo_study.ids.end());
    for (std::size_t k = 0; k < snapshots.size(); k += LANISTA_SANITIZED ? 12 : whole ? 1 : 4) {
      copy(saved, zoo_study.folder.path());
      {  // leased as the study did when it began; then others come
        Store store = opened(zoo_study.folder.path());
        const std::int64_t change = *store.last_change();
        ASSERT_TRUE(store.lease_all(task_key(reference.data), Store::Scope::kTask, change, "study", 100).ok());
        const std::int64_t width = 32 + 16 * static_cast<std::int64_t>(k % 3);
        zoo::NewModel better = model_of_width(width, 0.99);
        better.tensors = zoo::testing::random_weights(better.graph, 1000 + k);
        zoo::testing::added(store, better);
        ASSERT_EQ(store.gc(1, 1)->evicted.size(), 1U);
        zoo::testing::added(store, better);
        ASSERT_TRUE(store.quarantine(*unused, "a test").ok());
      }
      Bench bench;
      testing::put_all(bench.disk, snapshots[k]);
      const auto end = custom.run_study(bench, k);
      ASSERT_TRUE(end.ok()) << end.error().text();
      ASSERT_EQ(testing::first_difference(bench.canonical(), reference.canonical()), "") << k;
    }
    std::filesystem::remove_all(saved);
  }
}

TEST(StudyZoo, LeasesModelsUntilItEnds) {
  ZooStudy zoo_study("holds");
  zoo_study.fill();
  Bench bench;
  bench.observer.on_event = [&, events = 0](const auto&, const auto&) mutable {
    if (events++ % 10 != 5) return;
    Store store = opened(zoo_study.folder.path());
    EXPECT_EQ(store.gc(static_cast<std::int64_t>(bench.clock.unix_time()), 1)->evicted.size(), 0U);
  };
  ASSERT_TRUE(bench.run(zoo_study.config, {.seed = 3}).ok());
  Store store = opened(zoo_study.folder.path());
  EXPECT_GE(store.gc(static_cast<std::int64_t>(bench.clock.unix_time()), 1)->evicted.size(), 5U) << "it has let go";
}

TEST(StudyZoo, UsesRandomWeightsWithoutModels) {
  ZooStudy zoo_study("none");
  Bench bench;
  ASSERT_TRUE(bench.run(zoo_study.config, {.seed = 3}).ok());
  EXPECT_EQ(bench.view().zoo->models, 0);
  EXPECT_EQ(num_started_from_zoo(bench.view()), 0);
  EXPECT_EQ(study::zoo_text(bench.view()), "the zoo had no model of this task when the study began");

  ZooStudy other("other");
  other.fill();
  Bench elsewhere;
  elsewhere.data.hash = hash_text("other rows");
  ASSERT_TRUE(elsewhere.run(other.config, {.seed = 3}).ok());
  EXPECT_EQ(elsewhere.view().zoo->models, 0);

  other.config.train.zoo_tasks = study::kRelatedTasks;
  Bench related;
  related.data.hash = hash_text("other rows");
  ASSERT_TRUE(related.run(other.config, {.seed = 3}).ok());
  EXPECT_TRUE(related.view().zoo->related);
  EXPECT_GT(num_started_from_zoo(related.view()), 3);
}

TEST(StudyZoo, ContinuesWithoutUnusableZoo) {
  ZooStudy newer("newer");
  newer.fill();
  newer.sql("PRAGMA user_version = 7");
  ZooStudy barred("barred");
  std::filesystem::create_directories(barred.folder.path());
  ASSERT_TRUE(real_file_system().write_file(barred.folder.path() + "/file", {}).ok());
  barred.config.train.zoo = barred.folder.path() + "/file/zoo";
  for (const auto& [config, word] : {std::pair{newer.config, std::string("the zoo is of version 7")},
                                     std::pair{barred.config, barred.folder.path() + "/file"}}) {
    Bench bench;
    const auto end = bench.run(config, {.seed = 3});
    ASSERT_TRUE(end.ok()) << end.error().text();
    const StudyView view = bench.view();
    EXPECT_NE(view.zoo->trouble.find(word), std::string::npos) << view.zoo->trouble;
    EXPECT_EQ(num_started_from_zoo(view), 0);
    EXPECT_EQ(view.trials.size(), 24U);
    EXPECT_NE(study::zoo_text(view).find(word), std::string::npos);
  }
}

TEST(StudyZoo, SkipsDamagedModelWithWarning) {
  for (const std::string lie : {"shape = '[1000000,3]'", "shape = '[3,8]'", "sha256 = 'ab'"}) {
    ZooStudy zoo_study("lies");
    zoo_study.fill();
    Bench whole;
    ASSERT_TRUE(whole.run(zoo_study.config, {.seed = 3}).ok());
    const std::string first = whole.view().trials[0].proposal.start->zoo;

    ZooStudy damaged("lies");
    damaged.fill();
    damaged.sql("UPDATE tensors SET " + lie +
                " WHERE place = 0 AND weights = (SELECT weights FROM models WHERE id = '" + first + "')");
    Bench bench;
    ASSERT_TRUE(bench.run(damaged.config, {.seed = 3}).ok());
    EXPECT_TRUE(has_warning(bench, "zoo_model_left_out", first)) << lie;
    const std::optional<study::Start> start = bench.view().trials[0].proposal.start;
    ASSERT_TRUE(start && !start->zoo.empty()) << lie;
    EXPECT_NE(start->zoo, first);
    EXPECT_EQ(opened(damaged.folder.path()).show(first)->state, "quarantined");
  }
}

// Its weights lie with the study's checkpoints; where they were lost, the zoo is asked again, by the same id.
TEST(StudyZoo, ReloadsLostWeightsOrWarns) {
  for (const bool gone : {false, true}) {
    SCOPED_TRACE(gone);
    ZooStudy zoo_study("lost");
    zoo_study.fill();
    Bench bench;
    bench.observer.on_event = [&, seen = 0](const auto&, const auto&) mutable {
      if (++seen == 4) bench.pause = 15;
    };
    ASSERT_EQ(bench.run(zoo_study.config, {.seed = 3, .workers = 1})->end, RunEnd::kPaused);
    const study::Start start = *bench.view().trials[0].proposal.start;
    ASSERT_FALSE(start.zoo.empty());
    const std::string file = testing::kFolder + "/ckpt/" + start.address + ".safetensors";
    ASSERT_TRUE(bench.disk.exists(file));
    ASSERT_TRUE(bench.disk.remove(file).ok());
    if (gone) {
      ASSERT_TRUE(opened(zoo_study.folder.path()).remove(start.zoo).ok());
    }
    bench.observer = {};
    bench.pause = 0;
    bool there = false;
    bench.observer.on_event = [&](const auto&, const auto&) { there = there || bench.disk.exists(file); };
    ASSERT_TRUE(bench.resume({.seed = 3, .workers = 1}).ok());
    EXPECT_EQ(there, !gone);
    EXPECT_EQ(has_warning(bench, "start_lost", start.zoo), gone);
    EXPECT_EQ(has_warning(bench, "zoo_models_gone", "\"had\":5"), gone);
  }
}

TEST(StudyZoo, IsRefusedWithFolds) {
  ZooStudy zoo_study("folds");
  zoo_study.config.data.folds = 2;
  Bench bench;
  const auto end = bench.run(zoo_study.config, {});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().where, "train.start");
}

}  // namespace
}  // namespace lanista::engine
