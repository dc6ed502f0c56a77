// Where the states of runs are: each attached once for all that is done with it in one group, and none ever lost,
// doubled or mistaken for another.
#include "lanista/exec/train/lane_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "lanista/base/rng.h"
#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/fork.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/program/counting_backend.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

using program::testing::CountingBackend;
using program::testing::Counts;
using Attached = std::map<std::uint64_t, std::int64_t>;

class LaneSlotsTest : public ::testing::Test {
 protected:
  /// A trial with its number as seed.
  TrainerInput input(std::uint32_t id) {
    // Five steps an epoch, the last one short.
    study::Recipe recipe = basic_recipe("sgd", id % 2 == 0 ? "cosine" : "constant", 40, 300, 0.02 * (1 + id % 5));
    recipe.momentum = 0.9;
    return {.trial = TrialId{id},
            .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n"
                                   "%3 = relu(%2)\n%4 = linear(%3, out=10)\n%5 = output(%4)\n"),
            .recipe = recipe,
            .metrics = {},
            .trial_seed = id,
            .data_seed = 4 + id % 3,
            .data = &data_,
            .step_ops = &ops_,
            .budget = &budget_,
            .backend = &backend_};
  }
  TrialRun run(std::uint32_t id) { return *TrialRun::create(input(id)); }

  static void advance(LaneGroup& group, const std::vector<TrialRun*>& runs, std::int64_t most) {
    for (TrialRun* each : runs) ASSERT_TRUE(group.admit(*each));
    std::vector<StepResult> ends(runs.size());
    group.advance(runs, most, ends);
    for (const StepResult& end : ends) ASSERT_EQ(end.failure, "");
  }

  /// The tensors of a trial after some steps without slots, without what makes a branch another trial.
  std::vector<Tensor> alone(std::uint32_t id, std::int64_t steps) {
    TrainerInput plain = input(id);
    plain.budget = nullptr;
    plain.backend = &program::cpu_backend();
    auto trainer = Trainer::create(plain);
    while (trainer->step_count() < steps) trainer->step();
    return nameless(trainer->save());
  }
  static std::vector<Tensor> nameless(TrainerState state) {
    set_state_seed(state.tensors, 0);
    return std::move(state.tensors);
  }

  const data::Dataset data_ = *data::open({}, ".", real_file_system());
  const graph::OpTable ops_ = autodiff::training_ops(graph::builtin_ops());
  MemoryBudget budget_;
  CountingBackend backend_;
};

TEST_F(LaneSlotsTest, AttachEachStateOnceForAllEpochs) {
  std::optional<LaneGroup> group = *LaneGroup::create(input(1), 4);
  std::vector<TrialRun> runs;
  for (std::uint32_t id = 1; id <= 3; ++id) runs.push_back(run(id));
  std::vector<TrainerState> saved;
  for (int chunk = 0; chunk < 9; ++chunk) {  // three epochs, each measured
    advance(*group, {&runs[0], &runs[1], &runs[2]}, 2);
    saved.clear();
    for (TrialRun& each : runs) saved.push_back(each.save());
    group->evaluate(runs[1], data::Part::kTest, "test_");
  }
  EXPECT_EQ(runs[0].progress().epochs_done(), 3);
  EXPECT_EQ(backend_.counts().attached, (Attached{{1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(backend_.counts().detached, Attached());

  group.reset();

  EXPECT_EQ(backend_.counts().detached, (Attached{{1, 1}, {2, 1}, {3, 1}})) << "they are on the host again";
  for (std::uint32_t id = 1; id <= 3; ++id) {
    const TrainerState now = runs[id - 1].save();
    EXPECT_TRUE(now.tensors == saved[id - 1].tensors);
    EXPECT_TRUE(nameless(now) == alone(id, 15));
  }
}

TEST_F(LaneSlotsTest, EvictOnlyWhenALaneIsNeeded) {
  LaneGroup group = *LaneGroup::create(input(1), 2);
  TrialRun a = run(1), b = run(2), c = run(3);
  for (int turn = 0; turn < 3; ++turn) {
    advance(group, {&a, &b}, 1);
    advance(group, {&b}, 1);  // the other stays where it is
    advance(group, {&c, &a}, 1);
  }
  EXPECT_EQ(backend_.counts().attached, (Attached{{1, 1}, {2, 3}, {3, 3}}));
  a.release();
  EXPECT_FALSE(group.holds(a));
  advance(group, {&b, &c}, 1);
  EXPECT_EQ(backend_.counts().attached, (Attached{{1, 1}, {2, 4}, {3, 3}})) << "there was an empty lane";
  EXPECT_TRUE(nameless(b.save()) == alone(2, 7));
}

TEST_F(LaneSlotsTest, EvictOnlyAsManyAsNeeded) {
  LaneGroup group = *LaneGroup::create(input(1), 4);
  TrialRun a = run(1), b = run(2), c = run(3);
  advance(group, {&a, &b}, 3);
  advance(group, {&c}, 3);
  EXPECT_TRUE(group.holds(a) && group.holds(b)) << "there was an empty lane";
  TrialRun* const stays = &b;

  group.keep_only({&stays, 1});

  EXPECT_TRUE(group.holds(b));
  EXPECT_FALSE(group.holds(a) || group.holds(c));
  ASSERT_TRUE(b.restore(b.save()));
  EXPECT_FALSE(group.holds(b)) << "its state is written on the host";
  b.release_lane();  // which it has not
  advance(group, {&a, &b, &c}, 3);
  for (auto* each : {&a, &b, &c}) EXPECT_TRUE(nameless(each->save()) == alone(each->definition().input.trial.value, 5));
}

TEST_F(LaneSlotsTest, PlaceAForkInAnEmptyLane) {
  LaneGroup group = *LaneGroup::create(input(1), 2);
  TrialRun parent = run(1);
  advance(group, {&parent}, 4);

  TrialRun clone = *BranchPoint(parent).fork({});
  TrialRun on_host = *BranchPoint(parent).fork({});

  EXPECT_TRUE(group.holds(clone));
  EXPECT_FALSE(group.holds(on_host)) << "there was no lane left";
  EXPECT_EQ(backend_.counts().clones, 1);
  advance(group, {&parent, &clone}, 1);
  EXPECT_EQ(backend_.counts().attached, (Attached{{1, 1}}));
  advance(group, {&on_host}, 1);
  for (auto* each : {&parent, &clone, &on_host}) EXPECT_TRUE(nameless(each->save()) == alone(1, 5));
}

// Runs and groups come, go, move and change places; machines refuse. At every moment the memory held is that of the
// groups and of one state for each run that has one, and in the end each is where it would be alone.
TEST_F(LaneSlotsTest, NeverLoseAState) {
  std::int64_t program_bytes = 0, state_bytes = 0;
  {
    LaneGroup group = *LaneGroup::create(input(1), 3);
    program_bytes = budget_.used();
    TrialRun one = run(1);
    ASSERT_TRUE(group.admit(one));
    state_bytes = budget_.used() - program_bytes;
  }
  int refused = 0, branches = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<std::optional<LaneGroup>> groups;
    for (const std::int64_t lanes : {1, 3, 5}) groups.emplace_back(*LaneGroup::create(input(1), lanes));
    std::vector<TrialRun> runs;
    std::vector<TrainerInput> inputs;   // of each
    std::vector<std::uint32_t> origin;  // the trial with the same numbers
    for (std::uint32_t id = 1; id <= 6; ++id) {
      runs.push_back(run(id));
      inputs.push_back(input(id));
      origin.push_back(id);
    }
    for (int round = 0; round < 60; ++round) {
      auto& group = groups[rng.below(groups.size())];
      const std::size_t i = rng.below(runs.size());
      TrialRun& one = runs[i];
      const std::uint64_t what = rng.below(12);
      if (what < 5) {
        if (rng.bernoulli(0.1)) backend_.fail_next_attach();
        std::vector<TrialRun*> lanes;
        for (TrialRun& each : runs) {
          if (std::ssize(lanes) < group->lanes() && rng.bernoulli(0.6)) lanes.push_back(&each);
        }
        if (lanes.empty()) lanes.push_back(&one);
        try {
          advance(*group, lanes, rng.between(1, 3));
        } catch (const std::bad_alloc&) {
          ++refused;
        }
      } else if (what == 5 && one.state().is_admitted()) {
        const TrainerState saved = one.save();
        one.release();
        ASSERT_TRUE(one.restore(saved));
      } else if (what == 6 && one.state().is_in_memory()) {  // another object takes its place
        const TrainerState saved = one.save();
        TrialRun next = *TrialRun::create(inputs[i]);
        ASSERT_TRUE(next.restore(saved));
        one = std::move(next);
      } else if (what == 7) {
        const std::size_t j = rng.below(runs.size());
        std::swap(runs[i], runs[j]);
        std::swap(inputs[i], inputs[j]);
        std::swap(origin[i], origin[j]);
        moved += runs[i].state().is_admitted() ? 1 : 0;
      } else if (what == 8 && one.state().is_in_memory() && runs.size() < 9) {
        TrainerInput child = inputs[i];
        child.trial = TrialId{100 + static_cast<std::uint32_t>(round)};
        child.trial_seed = 1000 + rng.below(1000);
        std::vector<study::Measurement> measured = one.progress().measurements();
        for (study::Measurement& each : measured) each.trial = child.trial;
        runs.push_back(*TrialRun::create(child));
        ASSERT_TRUE(runs.back().restore(forked_state(runs[i].save(), child.trial_seed, measured)));
        inputs.push_back(child);
        origin.push_back(origin[i]);
        ++branches;
        ASSERT_TRUE(groups[0]->admit(runs.back()));
      } else if (what == 9 && runs.size() > 5) {
        runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(i));
        inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
        origin.erase(origin.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (what == 10) {
        const std::int64_t lanes = group->lanes();
        group.reset();
        group = *LaneGroup::create(input(1), lanes);
      } else if (what == 11 && one.state().is_admitted()) {
        try {
          group->evaluate(one, data::Part::kValidation, "");
        } catch (const std::bad_alloc&) {
          ++refused;
        }
      }
      const auto states = std::ranges::count_if(runs, [](const TrialRun& each) { return each.state().is_admitted(); });
      ASSERT_EQ(budget_.used(), std::ssize(groups) * program_bytes + states * state_bytes) << round << ": " << what;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].state().is_in_memory()) continue;
      EXPECT_TRUE(nameless(runs[i].save()) == alone(origin[i], runs[i].progress().step_count())) << i;
    }
  }
  EXPECT_EQ(budget_.used(), 0);
  EXPECT_EQ(backend_.counts().concurrent_calls, 0);
  EXPECT_GT(refused, 5);
  EXPECT_GT(branches, 10);
  EXPECT_GT(moved, 10);
}

}  // namespace
}  // namespace lanista::train
