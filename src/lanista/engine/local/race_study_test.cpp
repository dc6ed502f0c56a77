// Studies with start races and real training. Results are equal for any workers and lanes, and after a kill at any
// record. A trial that is repeated alone begins with the winner of its race.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/search/study/start_race.h"
#include "support/engine/local/study_runs.h"
#include "support/io/zoo/test_store.h"

namespace lanista::runtime {
namespace {

using engine::testing::CustomStudy;
using engine::testing::kFolder;
using testing::canonical;

constexpr const char* kStudy = R"yaml(
model: {base: builtin:small-mlp}
space: {mutate: [widen, deepen], params: {lr: log(0.01, 0.3)}}
train: {epochs: 2, start: study, start_rate: eased, start_race: 3}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, tournament: 2, slots: 3}
keep: {top: 4, checkpoint_every: 0s}
budget: {trials: 12}
)yaml";

using Moments = std::vector<std::map<std::string, std::string>>;

/// A study in which children may be narrower, shrink by the loss, and recalibrate their statistics.
constexpr const char* kShrinking = R"yaml(
model:
  space:
    layers:
      - linear: {out: {label: width, of: [4, 12, 24]}}
      - batch_norm
      - relu
      - linear: {out: classes}
space: {params: {lr: log(0.01, 0.3)}}
train: {epochs: 2, start: study, start_shrink: loss, start_recalibrate: 2, start_race: 3}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: evolution, population: 4, tournament: 2, slots: 3}
keep: {top: 6, checkpoint_every: 0s}
budget: {trials: 12}
)yaml";

class RaceStudy : public testing::BlobStudy {
 protected:
  CustomStudy study(std::uint64_t seed, const std::string& zoo = "", const char* text = kStudy) {
    study::StudyConfig config = configured(text, seed);
    if (!zoo.empty()) config.train.start.from = study::kStartZoo, config.train.start.zoo = zoo;
    return testing::as_configured(config);
  }
  int repeated(const CustomStudy& custom, int& scored);
};

struct Seen {
  std::int64_t races = 0, two_parents = 0, kept_start = 0, kept_rival = 0, kept_random = 0, discarded = 0, steps = 0;
};
Seen seen_in(const engine::StudyView& view) {
  Seen out;
  for (const engine::TrialView& trial : view.trials) {
    if (!trial.measurements.empty()) out.steps += trial.measurements.back().step;
    if (!trial.proposal.race || trial.measurements.empty()) continue;
    ++out.races;
    out.two_parents += !trial.proposal.race->rivals.empty();
    const auto winner = study::race_winner(trial.measurements.front().race);
    const std::int64_t racers = trial.proposal.race->racers();
    ++(winner == 0U                                     ? out.kept_start
       : winner == static_cast<std::size_t>(racers - 1) ? out.kept_random
                                                        : out.kept_rival);
    out.discarded += study::discarded_steps(*trial.proposal.race);
  }
  return out;
}

TEST_F(RaceStudy, IsTheSameOnAnyWorkersAndLanesAndAfterKills) {
  const bool whole = std::getenv("LANISTA_WHOLE_ZOO") != nullptr;  // kills at every record
  Seen all;
  int kills = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const CustomStudy custom = study(seed);
    MemoryFileSystem reference;
    Moments moments;
    const auto view = run_to_end(reference, custom, 1, 1, [&] { moments.push_back(reference.files()); });
    const Seen seen = seen_in(view);
    EXPECT_EQ(study::discarded_race_steps(view), seen.discarded);
    EXPECT_EQ(view.steps, seen.steps + seen.discarded) << "what races take is spent";
    all.races += seen.races, all.two_parents += seen.two_parents, all.kept_start += seen.kept_start;
    all.kept_rival += seen.kept_rival, all.kept_random += seen.kept_random;
    for (const auto& [workers, lanes] : {std::pair{2, 1}, std::pair{1, 16}, std::pair{2, 16}}) {
      MemoryFileSystem other;
      run_to_end(other, custom, workers, lanes);
      ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "") << workers << lanes;
    }
    for (std::size_t i = 0; i < moments.size(); i += whole ? 1 : seed == 1 ? 4 : 12) {
      MemoryFileSystem killed;
      for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
      run_to_end(killed, custom, 2, 0);
      ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
      ++kills;
    }
  }
  std::cout << kills << " kills without a trace\n";
  EXPECT_GT(all.races, 15);
  EXPECT_GT(all.two_parents, 5);
  EXPECT_GT(all.kept_start, 0);
  EXPECT_GT(all.kept_rival, 0);
  EXPECT_GT(all.kept_random, 0);
}

/// Repeats every trial with a race alone. Returns the number of those trials.
int RaceStudy::repeated(const CustomStudy& custom, int& scored) {
  MemoryFileSystem disk;
  const engine::StudyView view = run_to_end(disk, custom, 2, 0);
  const store::CheckpointStore files(disk, kFolder);
  int out = 0;
  for (const engine::TrialView& trial : view.trials) {
    if (!trial.proposal.race || !trial.outcome->weights_hash || trial.outcome->weights.empty()) continue;
    if (!files.get(trial.outcome->weights)) continue;
    auto job =
        *engine::make_job(custom.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    EXPECT_EQ(job.race.steps, 0) << "it is over";
    EXPECT_EQ(job.start.has_value(), study::winning_start(trial) != nullptr);
    EXPECT_TRUE(engine::plan_start(job, view, graph::builtin_ops()).ok());
    const auto alone = repeat_trial(
        job, trial.measurements.back().epoch, {}, data, [](const study::Measurement&) {}, {}, &files);
    if (!alone) {  // It is not among the best; its file serves as the start of another trial.
      EXPECT_NE(alone.error().message.find("to start from, is lost"), std::string::npos) << alone.error().text();
      continue;
    }
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    scored += job.parent.has_value();
    ++out;
  }
  return out;
}

TEST_F(RaceStudy, HasTrialsThatBeganWithTheWinner) {
  int seen = 0, shrunk = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    seen += repeated(study(seed), none);
    seen += repeated(study(seed, "", kShrinking), shrunk);
  }
  EXPECT_GT(seen, 6);
  EXPECT_EQ(none, 0);
  EXPECT_GT(shrunk, 0);
}

TEST_F(RaceStudy, IsEqualWithLossShrinkingAndRecalibration) {
  const CustomStudy custom = study(1, "", kShrinking);
  MemoryFileSystem reference;
  Moments moments;
  const auto view = run_to_end(reference, custom, 1, 1, [&] { moments.push_back(reference.files()); });
  EXPECT_GT(seen_in(view).races, 3);
  MemoryFileSystem other;
  run_to_end(other, custom, 2, 16);
  ASSERT_EQ(engine::testing::first_difference(canonical(other), canonical(reference)), "");
  for (std::size_t i = 0; i < moments.size(); i += 3) {
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
    run_to_end(killed, custom, 2, 0);
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
  }
}

// Logical time counts the steps of all candidates of a race, whichever wins.
TEST_F(RaceStudy, ChargesLogicalTimeForItsRaces) {
  MemoryFileSystem disk;
  run_to_end(disk, study(1), 1, 0);
  int seen = 0;
  const std::vector<store::Record> records = *store::read_log(disk, kFolder);
  for (const store::Record& record : records) {
    if (record.type != store::RecordType::kProposed || !record.body["proposal"].contains("race")) continue;
    const auto& race = record.body["proposal"]["race"];
    // An epoch of 67 rows has five steps; each discarded candidate trains three.
    const auto others = static_cast<double>(race["rivals"].size() + 1);
    EXPECT_EQ(race["steps"], 3);
    EXPECT_EQ(race["time"].get<double>(), record.body["logical_epoch"].get<double>() * (3 * others) / 5);
    ++seen;
  }
  EXPECT_GT(seen, 5);
}

TEST_F(RaceStudy, RacesWhatTheZooHas) {
  const zoo::testing::Folder folder("race"), saved("race_saved");
  MemoryFileSystem first, reference;
  run_to_end(first, study(1, folder.path()), 2, 0);
  std::filesystem::copy(folder.path(), saved.path(), std::filesystem::copy_options::recursive);
  const auto back = [&] {
    std::filesystem::remove_all(folder.path());
    std::filesystem::copy(saved.path(), folder.path(), std::filesystem::copy_options::recursive);
  };
  const CustomStudy second = study(2, folder.path());
  Moments moments;
  const engine::StudyView view = run_to_end(reference, second, 1, 1, [&] { moments.push_back(reference.files()); });
  int from_zoo = 0, with_own = 0;
  for (const engine::TrialView& trial : view.trials) {
    bool own = false, zoo = false;
    for (const study::Start* start : study::start_parents_of(trial.proposal)) (start->zoo.empty() ? own : zoo) = true;
    from_zoo += zoo;
    with_own += own && zoo;
    EXPECT_EQ(zoo && !trial.proposal.race, false) << trial.id.value;
  }
  EXPECT_GT(from_zoo, 3);
  EXPECT_GT(with_own, 0);
  for (std::size_t i = 0; i < moments.size(); i += 12) {
    back();
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[i]) killed.put(path, bytes);
    run_to_end(killed, second, 2, 0);
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << i;
  }
}

}  // namespace
}  // namespace lanista::runtime
