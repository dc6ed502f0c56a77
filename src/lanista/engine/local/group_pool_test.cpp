// Waiting groups with states in their lanes, and workers that take them. A state is attached once while the same trials
// train together, and no two threads use one program at a time.
#include "lanista/engine/local/group_pool.h"

#include <algorithm>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "support/engine/local/worker_test_support.h"
#include "support/exec/program/counting_backend.h"

namespace lanista::runtime {
namespace {

using program::testing::CountingBackend;
using Counted = std::map<std::uint64_t, std::int64_t>;

class GroupPoolTest : public WorkerExecutorTest {
 protected:
  train::TrainerInput counted(std::uint32_t id) {
    train::TrainerInput own = input(job(id), step_ops_);
    own.backend = &backend_;
    return own;
  }
  void step(train::LaneGroup& group, const std::vector<train::TrialRun*>& runs) {
    for (train::TrialRun* run : runs) ASSERT_TRUE(group.admit(*run));
    std::vector<train::StepResult> ends(runs.size());
    group.step(runs, ends);
  }
  train::LaneGroup take(const std::vector<train::TrialRun*>& runs) { return *pool_.take(key_, counted(1), runs); }

  /// An update after which the trials of each of `groups` may train together, through `epoch`.
  static engine::UpdateGroups arranged(const std::vector<std::vector<std::uint32_t>>& groups, std::int64_t epoch) {
    engine::UpdateGroups arrange;
    for (const auto& ids : groups) {
      plan::Regrouping::Part& group = arrange.changes.parts.emplace_back();
      group.group = ids.size() > 1 ? ids.front() : 0;
      for (const std::uint32_t id : ids) {
        group.trials.push_back(TrialId{id});
        arrange.allow.push_back({TrialId{id}, epoch});
      }
    }
    return arrange;
  }

  const graph::OpTable step_ops_ = autodiff::training_ops(ops_.table());
  CountingBackend backend_;
  GroupPool pool_{3, 4};
  const Digest key_ = Hasher().text("key").finish();
};

TEST_F(GroupPoolTest, GivesTheGroupThatHoldsMostStates) {
  train::TrialRun a = *train::TrialRun::create(counted(1)), b = *train::TrialRun::create(counted(2)),
                  c = *train::TrialRun::create(counted(3)), d = *train::TrialRun::create(counted(4));
  train::LaneGroup first = take({}), second = take({});
  step(first, {&a, &b});
  step(second, {&c, &d});
  pool_.give_back(key_, std::move(first));
  pool_.give_back(key_, std::move(second));  // the latest one, by chance

  train::LaneGroup taken = take({&a, &b, &c});

  EXPECT_TRUE(taken.holds(a) && taken.holds(b));
  step(taken, {&a, &b, &c});
  EXPECT_EQ(backend_.counts().attached, (Counted{{1, 1}, {2, 1}, {3, 2}, {4, 1}}));
  EXPECT_EQ(backend_.counts().detached, (Counted{{3, 1}})) << "d waits in the other group";

  const train::LaneGroup other = take({});
  EXPECT_FALSE(other.holds(d)) << "a run of another worker";
  EXPECT_EQ(backend_.counts().detached, (Counted{{3, 1}, {4, 1}}));
  EXPECT_NE(pool_.take(Hasher().text("another key").finish(), counted(1), {})->describe(), "") << "a new one";
}

TEST_F(GroupPoolTest, EvictsStatesThatMustLeave) {
  train::TrialRun a = *train::TrialRun::create(counted(1)), b = *train::TrialRun::create(counted(2));
  train::LaneGroup group = take({});
  step(group, {&a, &b});
  pool_.give_back(key_, std::move(group));

  pool_.evict_state(a);
  pool_.evict_state(a);

  EXPECT_EQ(backend_.counts().detached, (Counted{{1, 1}}));
  const train::TrainerState saved = b.save();
  pool_.clear();
  EXPECT_EQ(backend_.counts().detached, (Counted{{1, 1}, {2, 1}}));
  EXPECT_TRUE(b.save().tensors == saved.tensors);
}

TEST_F(GroupPoolTest, HasEveryStateAttachedOnceForAllEpochsOfItsTrial) {
  engine::WorkerConfig worker_config = one_lane(1);
  worker_config.lanes = 4;
  auto executor = make(worker_config, {.backend = &backend_});
  for (std::uint32_t id = 1; id <= 4; ++id) ASSERT_TRUE(executor->start(job(id)));
  executor->command(arranged({{1, 2, 3, 4}}, kEpochs));
  for (std::uint32_t id = 1; id <= 4; ++id) executor->command(engine::Finish{TrialId{id}, false});

  std::int64_t epochs = 0;
  for (const auto& report : drain(*executor, 4)) {
    epochs += std::holds_alternative<engine::EpochReport>(report) ? 1 : 0;
    const auto* done = std::get_if<engine::FinishedReport>(&report);
    if (done == nullptr) continue;
    EXPECT_EQ(done->state_hash, trained_alone(done->trial.value, step_ops_)) << done->trial.value;
  }
  EXPECT_EQ(epochs, 4 * kEpochs);
  EXPECT_EQ(backend_.counts().attached, (Counted{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(backend_.counts().detached, (Counted{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
  EXPECT_EQ(backend_.counts().concurrent_calls, 0);
}

// Workers take each other's trials in changing groups, with checkpoints, with memory for few states, and with trials
// that are abandoned and return. Each trial ends as it would alone.
TEST_F(GroupPoolTest, GivesAProgramToOneThreadAtATime) {
  constexpr std::uint32_t kTrials = 9;
  std::map<TrialId, Digest> wanted;
  for (std::uint32_t id = 1; id <= kTrials; ++id) wanted[TrialId{id}] = trained_alone(id, step_ops_);
  std::int64_t program = 0, state = 0;
  {
    MemoryBudget budget;
    train::TrainerInput like = counted(1);
    like.budget = &budget;
    const auto group = train::LaneGroup::create(like, 1);
    program = budget.used();
    auto run = train::TrialRun::create(like);
    ASSERT_TRUE(group->admit(*run));
    state = budget.used() - program;
  }
  for (const bool is_short : {false, true}) {
    SCOPED_TRACE(is_short);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(seed);
      Rng rng(seed);
      engine::WorkerConfig worker_config = one_lane(4);
      worker_config.study_folder = "study";
      worker_config.lanes = 3;
      worker_config.checkpoint_every = seed % 2 == 0 ? 1e9 : 1e-3;
      if (is_short) worker_config.memory_bytes = 3 * program + 5 * state;
      MemoryFileSystem disk;
      auto created = WorkerExecutor::create(worker_config, data_, ops_, disk, clock_, {.backend = &backend_});
      ASSERT_TRUE(created) << created.error().text();
      const auto executor = *std::move(created);
      std::vector<std::uint32_t> ids;
      for (std::uint32_t id = 1; id <= kTrials; ++id) {
        ASSERT_TRUE(executor->start(job(id)));
        ids.push_back(id);
      }
      const auto rearrange = [&](std::int64_t epoch) {
        std::vector<std::vector<std::uint32_t>> groups(3);
        for (const std::uint32_t id : ids) groups[rng.below(3)].push_back(id);
        std::erase_if(groups, [](const auto& group) { return group.empty(); });
        executor->command(arranged(groups, epoch));
      };
      rearrange(1);
      std::set<TrialId> finished;
      std::int64_t epochs = 0;
      while (finished.size() < kTrials) {
        const auto report = executor->next(60);
        ASSERT_TRUE(report);
        ASSERT_FALSE(std::holds_alternative<engine::FailureReport>(*report));
        ASSERT_FALSE(std::holds_alternative<engine::ExecutorErrorReport>(*report));
        if (std::holds_alternative<engine::EpochReport>(*report)) {
          ++epochs;
          if (epochs == 12) {  // one is given up and begins again
            executor->command(engine::Finish{.trial = TrialId{4}, .abandon = true});
            ASSERT_TRUE(executor->start(job(4)));
          }
          if (epochs % 4 == 0) rearrange(std::min<std::int64_t>(kEpochs, 1 + (epochs + 4) / 9));
          if (epochs == 16) {
            for (const std::uint32_t id : ids) executor->command(engine::Finish{TrialId{id}, false});
          }
        }
        const auto* done = std::get_if<engine::FinishedReport>(&*report);
        if (done == nullptr) continue;
        EXPECT_EQ(done->state_hash, wanted[done->trial]) << done->trial.value;
        finished.insert(done->trial);
      }
    }
  }
  EXPECT_EQ(backend_.counts().concurrent_calls, 0);
}

}  // namespace
}  // namespace lanista::runtime
