// Times that outlive studies: remembered by really trained ones, of use to later ones, and nothing to any result.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "lanista/base/log_sink.h"
#include "lanista/engine/core/fit.h"
#include "lanista/engine/forecast/profiles.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "support/engine/local/study_life.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::runtime {
namespace {

using engine::testing::kFolder;
using testing::as_configured;
using testing::canonical;

constexpr const char* kTimes = "times";

study::StudyConfig small_study(const data::Dataset& data) {
  study::StudyConfig config = *studyfile::read_study(
      "model: {base: [builtin:small-mlp]}\n"
      "space: {mutate: [{widen: {by: [0.5, 2]}}], params: {lr: \"log(0.01, 0.1)\", batch: \"choice(4, 8)\"}}\n"
      "train: {epochs: 4}\ndata: {source: \"synthetic:blobs?rows=96&classes=3&features=4&seed=1\"}\n"
      "goal: maximize val_accuracy\n"
      "strategy: {name: random, slots: 4}\nstop: {rule: asha, rungs: [1, 2], eta: 2}\nbudget: {trials: 8}\n",
      "test");
  EXPECT_TRUE(engine::fit_to_data(config, data.spec()).ok());
  return config;
}

struct Lived {
  engine::End end = engine::End::kDone;
  std::string canonical;
};

/// One life of a study that remembers its times in `times`, a folder of the same disk or none; it pauses behind so many
/// events.
Lived live(MemoryFileSystem& disk, FileSystem& fs, const data::Dataset& data, const std::string& times,
           int events = 0) {
  engine::WorkerBrief brief;
  brief.study_folder = kFolder;
  brief.workers = 2;
  brief.crash_marks = false;
  brief.checkpoint_every = 0;
  const RealClock clock;
  const auto executor = *WorkerExecutor::create(brief, data, nn::Operators(), disk, clock);
  std::atomic<int> pause = 0;
  engine::Observer observer;
  observer.on_event = [&, seen = 0](const auto&, const auto&) mutable { pause = ++seen == events ? 15 : pause.load(); };
  NullSink sink;
  const auto summary = as_configured(small_study(data))
                           .go_on({.fs = &fs,
                                   .clock = &clock,
                                   .sink = &sink,
                                   .executor = executor.get(),
                                   .data = &data.spec(),
                                   .pause = &pause,
                                   .observer = observer,
                                   .machine = executor->machine(),
                                   .profiles = {times, "a CPU"}});
  EXPECT_TRUE(summary.ok()) << summary.error().text();
  Lived out;
  if (summary.ok()) out.end = summary->end;
  out.canonical = canonical(disk);
  return out;
}

engine::KnownTimes known_in(MemoryFileSystem& disk, std::vector<Error>& passed_over) {
  return engine::KnownTimes::read(disk, kTimes, "a CPU", passed_over);
}

TEST(ProfilesStudy, HasTheSameResultsWithAndWithoutRemembering) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem without, with;
  const Lived plain = live(without, without, data, "");
  const Lived remembering = live(with, with, data, kTimes);
  EXPECT_FALSE(without.exists(kTimes));
  EXPECT_EQ(remembering.canonical, plain.canonical);

  // And again, with all that is known by now.
  std::vector<Error> passed_over;
  ASSERT_FALSE(known_in(with, passed_over).empty());
  const std::string bytes = *with.read(std::string(kTimes) + "/" + with.list(kTimes)->front());
  MemoryFileSystem third;
  ASSERT_TRUE(third.make_folder(kTimes).ok());
  ASSERT_TRUE(write_atomically(third, std::string(kTimes) + "/00000000001-aa.profile", bytes));
  EXPECT_EQ(live(third, third, data, kTimes).canonical, plain.canonical);
  EXPECT_EQ(known_in(third, passed_over).studies(), 2U);
  EXPECT_TRUE(passed_over.empty());
}

TEST(ProfilesStudy, KnowsItsProgramsWheneverItPausesAndOnceWhenItEnds) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem disk;
  EXPECT_EQ(live(disk, disk, data, kTimes, 9).end, engine::End::kPaused);
  std::vector<Error> passed_over;
  const std::size_t before = known_in(disk, passed_over).programs();
  EXPECT_GT(before, 0U);
  EXPECT_EQ(live(disk, disk, data, kTimes).end, engine::End::kDone);
  const auto known = known_in(disk, passed_over);
  EXPECT_GE(known.programs(), before);
  EXPECT_EQ(known.studies(), 1U);

  // What `plan` draws first is what the study trained first.
  const auto config = small_study(data);
  const auto models = *engine::make_model_space(config, data.spec(), ".", real_file_system());
  engine::PlanRequest request{.trials = 4, .machine = {.workers = 2, .lanes = 4}};
  const auto blind = *engine::plan_study(config, data.spec(), models, request);
  request.known = std::make_shared<engine::KnownTimes>(known);
  const auto plan = *engine::plan_study(config, data.spec(), models, request);
  EXPECT_TRUE(blind.times.empty());
  EXPECT_EQ(plan.plan, blind.plan);  // who runs with whom is none of it
  ASSERT_EQ(plan.times.size(), 4U);
  for (const engine::MemberTime& time : plan.times) {
    EXPECT_TRUE(time.measured);
    EXPECT_GT(time.seconds, 0);
    EXPECT_LT(time.seconds, 10);
  }
}

// Whatever the disk has against the times, the study does not hear of it.
TEST(ProfilesStudy, EndsWhereverTimesCannotBePut) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem without;
  const Lived plain = live(without, without, data, "");
  MemoryFileSystem barred;
  ASSERT_TRUE(write_atomically(barred, kTimes, "a file where a folder should be"));
  const Lived lived = live(barred, barred, data, kTimes);
  EXPECT_EQ(lived.end, engine::End::kDone);
  EXPECT_EQ(lived.canonical, plain.canonical);

  MemoryFileSystem damaged;
  ASSERT_TRUE(damaged.make_folder(kTimes).ok());
  ASSERT_TRUE(write_atomically(damaged, std::string(kTimes) + "/00000000001-aa.profile", "rubbish"));
  EXPECT_EQ(live(damaged, damaged, data, kTimes).canonical, plain.canonical);
  std::vector<Error> passed_over;
  EXPECT_FALSE(known_in(damaged, passed_over).empty());
  ASSERT_EQ(passed_over.size(), 1U);
  EXPECT_EQ(passed_over.front().where, std::string(kTimes) + "/00000000001-aa.profile");
}

}  // namespace
}  // namespace lanista::runtime
