// Steps that lose their places: nobody sees it in a number. Processes that are killed are in tests/stage_kills.sh.
#include "lanista/exec/pipeline_parallel/pipeline_machine.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/program/backend.h"
#include "support/exec/pipeline_parallel/stages_support.h"
#include "lanista/exec/pipeline_parallel/pipeline_backend.h"

namespace lanista::runtime {
namespace {

using namespace nn::testing;

constexpr std::int64_t kMost = 16, kParts = 4;
const nn::LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7};

/// A machine whose places are threads that can be lost, and what it asked for.
struct Shop {
  explicit Shop(std::int64_t of_lanes) : derived(derive(kDropouts, "adam")), lanes(of_lanes) {}

  nn::ProgramOptions options(const nn::Stages* stages) const {
    return {.lanes = lanes, .max_batch = kMost, .accumulate = kParts, .stages = stages};
  }
  // Other plans have other stages in another order.
  Result<std::unique_ptr<nn::Machine>> make(std::int64_t places) {
    asked.push_back(places);
    if (refused > 0 && asked.size() > 1) {
      --refused;
      return Error{Code::kResourceExhausted, "no memory", ""};
    }
    if (places == 1) return nn::cpu_backend().compile(&derived.train, derived.infer, options(nullptr));
    nn::Stages stages =
        in_stages(derived.model, static_cast<std::size_t>(2 * places - 1), kParts, static_cast<std::size_t>(places));
    last = std::make_shared<ThreadPlaces>(static_cast<std::size_t>(places) - 1, [this, stages] {
      nn::Stages theirs = stages;
      theirs.elsewhere = std::make_shared<ThreadPlaces>(0, ThreadPlaces::Make());
      return *nn::StageMember::compile(kernels::best_isa(), derived.train, derived.infer, options(&theirs));
    });
    stages.elsewhere = last;
    return nn::cpu_backend().compile(&derived.train, derived.infer, options(&stages));
  }
  std::unique_ptr<PipelineMachine> machine(std::int64_t places) {
    return std::make_unique<PipelineMachine>(*make(places), places, [this](std::int64_t fewer) { return make(fewer); });
  }

  Derived derived;
  std::int64_t lanes;
  int refused = 0;
  std::vector<std::int64_t> asked;
  std::shared_ptr<ThreadPlaces> last;
};

/// Chunks of some steps of all lanes, each with its own numbers; before each chunk `disturb` may do something.
struct Course {
  std::vector<std::vector<Tensor>> states;
  std::vector<double> losses;
  std::vector<std::int64_t> bad;
  bool operator==(const Course&) const = default;
};
Course course(const Shop& shop, nn::Machine& machine, const std::function<void()>& disturb) {
  const auto lanes = static_cast<std::size_t>(shop.lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    machine.attach(static_cast<std::int64_t>(lane), *machine.make_state(lane + 1));
  }
  const std::vector<double> numbers = own_numbers(machine.facts().lane_numbers);
  std::vector<nn::LaneHyper> hyper(lanes, kHyper);
  for (nn::LaneHyper& each : hyper) each.numbers = numbers;
  Course out;
  std::uint64_t seed = 0;
  for (int i = 0; i < 12; ++i) {
    disturb();
    std::vector<std::uint8_t> active(lanes, 1), watched(lanes, i % 2 == 0 ? 1 : 0);
    if (lanes > 1) active[static_cast<std::size_t>(i) % lanes] = i % 3 == 0 ? 0 : 1;
    std::vector<nn::LaneEnd> ends(lanes);
    std::optional<OwnedBatch> batch;
    nn::Batch view;
    std::int64_t due = 0;
    const nn::Chunk chunk{
        .steps = 1 + i % 3,
        .active = active,
        .work =
            [&](std::int64_t step) {
              EXPECT_EQ(step, due++) << "asked for twice, or out of order";
              batch.emplace(random_batch(shop.derived, 16 - static_cast<std::int64_t>(seed % 5), seed));
              ++seed;
              view = batch->view();
              return nn::StepWork{{&view, 1}, hyper};
            },
        .watched = watched};
    machine.run(chunk, ends);
    machine.wait();
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (active[lane] == 0) continue;
      EXPECT_FALSE(ends[lane].failure);
      EXPECT_EQ(ends[lane].steps, chunk.steps);
      out.losses.insert(out.losses.end(), {ends[lane].loss_sum, ends[lane].loss, ends[lane].gradient_square});
      out.bad.push_back(ends[lane].bad_step);
    }
  }
  for (std::int64_t lane = 0; lane < shop.lanes; ++lane) out.states.push_back(machine.copy_out(lane));
  return out;
}

TEST(PipelineMachine, GoesOnWithFewerPlacesToTheSameBits) {
  for (const std::int64_t lanes : {1, 3}) {
    Shop plain(lanes);
    const auto wanted = course(plain, **plain.make(1), [] {});
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      Rng rng = Rng(11).split(draw);
      Shop shop(lanes);
      const auto machine = shop.machine(4);
      const auto seen = course(shop, *machine, [&] {
        if (shop.last && rng.bernoulli(0.3)) shop.last->fails_at_entering = static_cast<int>(rng.between(1, 4));
        if (shop.last && rng.bernoulli(0.3)) shop.last->fails_at_look = static_cast<int>(rng.between(1, 3));
      });
      EXPECT_TRUE(seen == wanted) << lanes << " lanes, draw " << draw;
      for (std::size_t i = 1; i < shop.asked.size(); ++i) EXPECT_EQ(shop.asked[i], shop.asked[i - 1] - 1);
    }
  }
}

TEST(PipelineMachine, HasItsPlaceAgainWhereNoOtherPlanHasRoom) {
  Shop plain(1);
  const auto wanted = course(plain, **plain.make(1), [] {});
  Shop shop(1);
  const auto machine = shop.machine(3);
  shop.refused = 1000;
  int lost = 0;
  const auto seen = course(shop, *machine, [&] {
    if (lost++ < 5) shop.last->fails_at_entering = 1;
  });
  EXPECT_TRUE(seen == wanted);
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
}

TEST(PipelineMachine, HasAllPlacesAgainForTheNextTrial) {
  Shop shop(1);
  const auto machine = shop.machine(3);
  course(shop, *machine, [&] {
    if (shop.asked.size() < 2) shop.last->fails_at_entering = 1;
  });
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2}));
  machine->detach(0);
  Shop plain(1);
  EXPECT_TRUE(course(shop, *machine, [] {}) == course(plain, **plain.make(1), [] {}));
  EXPECT_EQ(shop.asked, (std::vector<std::int64_t>{3, 2, 3}));
}

TEST(PipelineMachine, FailsWhereAPlaceIsLostAgainAndAgain) {
  const Shop shop(1);
  const OwnedBatch batch = random_batch(shop.derived, kMost, 1);
  const nn::Batch view = batch.view();
  const std::uint8_t active = 1;
  nn::LaneEnd end;
  struct Never final : nn::StagePlaces {
    std::byte* enter(const nn::StageMap&) override { throw nn::PlacesLost("nobody comes"); }
    void look() override {}
    void leave() override {}
  };
  nn::Stages stages = in_stages(shop.derived.model, 3, kParts);
  stages.elsewhere = std::make_shared<Never>();
  PipelineMachine lonely(*nn::cpu_backend().compile(&shop.derived.train, shop.derived.infer, shop.options(&stages)), 2,
                         [&](std::int64_t) -> Result<std::unique_ptr<nn::Machine>> {
                           return Error{Code::kResourceExhausted, "no memory", ""};
                         });
  lonely.attach(0, *lonely.make_state(1));
  const auto before = lonely.copy_out(0);
  lonely.run({.steps = 2,
              .active = {&active, 1},
              .work =
                  [&](std::int64_t) {
                    return nn::StepWork{{&view, 1}, {&kHyper, 1}};
                  }},
             {&end, 1});
  EXPECT_TRUE(end.failure);
  EXPECT_EQ(end.steps, 0);
  EXPECT_TRUE(lonely.copy_out(0) == before);
}

}  // namespace
}  // namespace lanista::runtime
