// Steps that lose ranks give the same numbers. tests/stage_kills.sh kills processes.
#include "lanista/exec/pipeline_parallel/pipeline_executable.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/pipeline_parallel/pipeline_backend.h"
#include "lanista/exec/program/backend.h"
#include "support/exec/pipeline_parallel/stage_test_support.h"

namespace lanista::runtime {
namespace {

using namespace program::testing;

constexpr std::int64_t kMost = 16, kParts = 4;
const program::LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7};

/// An executable with threads as ranks that can be lost, and the numbers of ranks that it requested.
struct RankLossCases {
  explicit RankLossCases(std::int64_t of_lanes) : derived(derive(kDropoutModel, "adam")), lanes(of_lanes) {}

  program::ProgramOptions options(const program::Stages* stages) const {
    return {.lanes = lanes, .max_batch = kMost, .accumulate = kParts, .stages = stages};
  }
  // Other plans have other stages in another order.
  Result<std::unique_ptr<program::Executable>> make(std::int64_t ranks) {
    asked.push_back(ranks);
    if (refused > 0 && asked.size() > 1) {
      --refused;
      return Error{Code::kResourceExhausted, "no memory", ""};
    }
    if (ranks == 1) return program::cpu_backend().compile(&derived.train, derived.infer, options(nullptr));
    program::Stages stages = split_into_stages(derived.model, static_cast<std::size_t>(2 * ranks - 1), kParts,
                                               static_cast<std::size_t>(ranks));
    last = std::make_shared<ThreadRanks>(static_cast<std::size_t>(ranks) - 1, [this, stages] {
      program::Stages theirs = stages;
      theirs.remote_ranks = std::make_shared<ThreadRanks>(0, ThreadRanks::Make());
      return *program::StageWorker::compile(kernels::best_isa(), derived.train, derived.infer, options(&theirs));
    });
    stages.remote_ranks = last;
    return program::cpu_backend().compile(&derived.train, derived.infer, options(&stages));
  }
  std::unique_ptr<PipelineExecutable> machine(std::int64_t ranks) {
    return std::make_unique<PipelineExecutable>(*make(ranks), ranks,
                                                [this](std::int64_t fewer) { return make(fewer); });
  }

  Derived derived;
  std::int64_t lanes;
  int refused = 0;
  std::vector<std::int64_t> asked;
  std::shared_ptr<ThreadRanks> last;
};

/// Chunks of some steps of all lanes, each with its own numbers; before each chunk `disturb` may do something.
struct TrainingResult {
  std::vector<std::vector<Tensor>> states;
  std::vector<double> losses;
  std::vector<std::int64_t> bad;
  bool operator==(const TrainingResult&) const = default;
};
TrainingResult course(const RankLossCases& shop, program::Executable& machine, const std::function<void()>& disturb) {
  const auto lanes = static_cast<std::size_t>(shop.lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    machine.lanes().attach(static_cast<std::int64_t>(lane), *machine.memory().make_state(lane + 1));
  }
  const std::vector<double> lane_attrs = lane_attr_values(machine.properties().lane_attrs);
  std::vector<program::LaneHyper> hyper(lanes, kHyper);
  for (program::LaneHyper& each : hyper) each.lane_attrs = lane_attrs;
  TrainingResult out;
  std::uint64_t seed = 0;
  for (int i = 0; i < 12; ++i) {
    disturb();
    std::vector<std::uint8_t> active(lanes, 1), needs_gradient_norm(lanes, i % 2 == 0 ? 1 : 0);
    if (lanes > 1) active[static_cast<std::size_t>(i) % lanes] = i % 3 == 0 ? 0 : 1;
    std::vector<program::LaneResult> results(lanes);
    std::optional<OwnedBatch> batch;
    program::Batch view;
    std::int64_t due = 0;
    const program::Chunk chunk{
        .steps = 1 + i % 3,
        .active = active,
        .step_input =
            [&](std::int64_t step) {
              EXPECT_EQ(step, due++) << "asked for twice, or out of order";
              batch.emplace(random_batch(shop.derived, 16 - static_cast<std::int64_t>(seed % 5), seed));
              ++seed;
              view = batch->view();
              return program::StepInput{{&view, 1}, hyper};
            },
        .needs_gradient_norm = needs_gradient_norm};
    machine.steps().run(chunk, results);
    machine.steps().wait();
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (active[lane] == 0) continue;
      EXPECT_FALSE(results[lane].failure);
      EXPECT_EQ(results[lane].steps, chunk.steps);
      out.losses.insert(out.losses.end(),
                        {results[lane].loss_sum, results[lane].loss, results[lane].squared_gradient_norm});
      out.bad.push_back(results[lane].first_nonfinite_step);
    }
  }
  for (std::int64_t lane = 0; lane < shop.lanes; ++lane) out.states.push_back(machine.lanes().extract_state(lane));
  return out;
}

TEST(PipelineExecutable, ContinuesOnFewerRanksToTheSameBits) {
  for (const std::int64_t lanes : {1, 3}) {
    RankLossCases plain(lanes);
    const auto wanted = course(plain, **plain.make(1), [] {});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Rng rng = Rng(11).split(seed);
      RankLossCases shop(lanes);
      const auto machine = shop.machine(4);
      const auto seen = course(shop, *machine, [&] {
        if (shop.last && rng.bernoulli(0.3)) shop.last->begin_step_fails_at = static_cast<int>(rng.between(1, 4));
        if (shop.last && rng.bernoulli(0.3)) shop.last->check_alive_fails_at = static_cast<int>(rng.between(1, 3));
      });
      EXPECT_TRUE(seen == wanted) << lanes << " lanes, seed " << seed;
      for (std::size_t i = 1; i < shop.asked.size(); ++i) EXPECT_EQ(shop.asked[i], shop.asked[i - 1] - 1);
    }
  }
}

TEST(PipelineExecutable, ReplacesTheRankWhenNoOtherPlanFits) {
  RankLossCases plain(1);
  const auto wanted = course(plain, **plain.make(1), [] {});
  RankLossCases shop(1);
  const auto machine = shop.machine(3);
  shop.refused = 1000;
  int lost = 0;
  const auto seen = course(shop, *machine, [&] {
    if (lost++ < 5) shop.last->begin_step_fails_at = 1;
  });
  EXPECT_TRUE(seen == wanted);
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
}

TEST(PipelineExecutable, RestoresAllRanksForTheNextTrial) {
  RankLossCases shop(1);
  const auto machine = shop.machine(3);
  course(shop, *machine, [&] {
    if (shop.asked.size() < 2) shop.last->begin_step_fails_at = 1;
  });
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2}));
  machine->detach(0);
  RankLossCases plain(1);
  EXPECT_TRUE(course(shop, *machine, [] {}) == course(plain, **plain.make(1), [] {}));
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2, 3}));
}

TEST(PipelineExecutable, FailsWhenARankIsLostRepeatedly) {
  const RankLossCases shop(1);
  const OwnedBatch batch = random_batch(shop.derived, kMost, 1);
  const program::Batch view = batch.view();
  const std::uint8_t active = 1;
  program::LaneResult end;
  struct Never final : program::RemoteRanks {
    std::byte* begin_step(const program::StageMemoryMap&) override { throw program::RankLost("no rank comes"); }
    void check_alive() override {}
    void end_step() override {}
  };
  program::Stages stages = split_into_stages(shop.derived.model, 3, kParts);
  stages.remote_ranks = std::make_shared<Never>();
  PipelineExecutable lonely(
      *program::cpu_backend().compile(&shop.derived.train, shop.derived.infer, shop.options(&stages)), 2,
      [&](std::int64_t) -> Result<std::unique_ptr<program::Executable>> {
        return Error{Code::kResourceExhausted, "no memory", ""};
      });
  lonely.attach(0, *lonely.memory().make_state(1));
  const auto before = lonely.extract_state(0);
  lonely.run({.steps = 2,
              .active = {&active, 1},
              .step_input =
                  [&](std::int64_t) {
                    return program::StepInput{{&view, 1}, {&kHyper, 1}};
                  }},
             {&end, 1});
  EXPECT_TRUE(end.failure);
  EXPECT_EQ(end.steps, 0);
  EXPECT_TRUE(lonely.extract_state(0) == before);
}

}  // namespace
}  // namespace lanista::runtime
