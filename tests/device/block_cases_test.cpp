// The block backend with the cases of the benchmarks, on the host and on a GPU if there is one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "bench/cases.h"
#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "support/exec/backends/cuda_blocks/block_test_devices.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// A case of the benchmarks with its training step and its inputs.
struct CaseSteps {
  std::string name;
  Derived derived;
  std::int64_t batch = 0, vocab = 0;
  LaneHyper hyper;
};

std::vector<CaseSteps> cases() {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  std::vector<CaseSteps> all;
  for (const bench::Case& each : bench::training_cases()) {
    Derived derived{each.model, *autodiff::derive_training_step(each.model, {}, ops),
                    *autodiff::derive_inference_step(each.model, ops)};
    all.push_back({each.name, std::move(derived), each.batch, each.vocab, {.lr = each.rate, .momentum = 0.9}});
  }
  return all;
}

void expect_cases(const program::Backend& backend, std::int64_t lanes, std::int64_t steps, std::int64_t most) {
  const kernels::FlushToZero as_workers;
  for (const CaseSteps& each : cases()) {
    const std::int64_t batch = std::min(each.batch, most);
    expect_equal_results(train(each.derived, backend, lanes, steps, {each.hyper}, true, batch),
                         train(each.derived, program::cpu_backend(), lanes, steps, {each.hyper}, true, batch),
                         each.name);
  }
}

// Trains `lanes` lanes of each of the eight cases in one launch, and compares them with the CPU backend.
void expect_population(const program::Backend& backend, std::int64_t lanes, std::int64_t steps, std::int64_t most) {
  const kernels::FlushToZero as_workers;
  const std::vector<CaseSteps> all = cases();
  const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
  struct Member {
    std::unique_ptr<program::Executable> machine;
    std::vector<LaneHyper> hyper;
    OwnedBatch owned;
    Batch batch;
    Chunk chunk;
    std::vector<LaneResult> results;
  };
  std::vector<Member> members(all.size());
  std::vector<LaunchPart> parts;
  for (std::size_t m = 0; m < all.size(); ++m) {
    Member& member = members[m];
    auto machine = backend.compile(&all[m].derived.train, all[m].derived.infer, {.lanes = lanes, .max_batch = most});
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    member.machine = std::move(*machine);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      member.machine->lanes().attach(lane, *member.machine->memory().make_state(7 + static_cast<std::uint64_t>(lane)));
      member.hyper.push_back(all[m].hyper);
      member.hyper.back().lr *= 1 + 0.1 * static_cast<double>(lane);
    }
    member.results.resize(active.size());
    member.chunk = {
        .steps = steps, .active = active, .step_input = [&member, &derived = all[m].derived, most](std::int64_t step) {
          const std::int64_t size = step % 5 == 3 ? std::max<std::int64_t>(1, most - 3) : most;
          member.owned = random_batch(derived, size, static_cast<std::uint64_t>(100 * step));
          member.batch = member.owned.view();
          return StepInput{{&member.batch, 1}, member.hyper};
        }};
    parts.push_back({member.machine.get(), &member.chunk, member.results});
  }
  run_in_one_launch(parts);
  for (std::size_t m = 0; m < all.size(); ++m) {
    TrainingRun got{members[m].results, {}};
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      got.states.push_back(members[m].machine->lanes().extract_state(lane));
    expect_equal_results(got, train(all[m].derived, program::cpu_backend(), lanes, steps, {all[m].hyper}, true, most),
                         all[m].name);
  }
}

TEST(Block, EqualsCpuBitsOverFiftySteps) { expect_cases(host(), 1, 50, 128); }

TEST(Block, EqualsCpuBitsInThreeLanes) { expect_cases(host(), 3, 4, 8); }

TEST(Block, RunsSixtyFourLanesOfEightStructuresInOneLaunch) { expect_population(host(), 8, 6, 5); }

TEST(BlockRaces, AreAbsentInEightCases) {
  const kernels::FlushToZero as_workers;
  for (const CaseSteps& each : cases()) {
    RaceDetectingDevice needs_gradient_norm;
    ASSERT_FALSE(train_on(needs_gradient_norm, each.derived, 5).empty()) << each.name;
    EXPECT_EQ(needs_gradient_norm.race_report.races, 0) << each.name << ": " << needs_gradient_norm.race_report.first;
  }
}

TEST(BlockOnCuda, EqualsCpuBitsForEightCases) {
  std::string why;
  const program::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  expect_cases(*backend, 1, 20, 128);
  expect_cases(*backend, 3, 6, 32);
  expect_cases(*backend, 64, 3, 6);
}

TEST(BlockOnCuda, RunsSixtyFourLanesOfEightStructuresInOneLaunch) {
  std::string why;
  const program::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  expect_population(*backend, 8, 6, 5);
}

// Prints the time of a step in microseconds a model. Runs with LANISTA_BLOCK_TIMES=1 only.
TEST(BlockOnCuda, ReportsStepTimes) {
  std::string why;
  const program::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  if (std::getenv("LANISTA_BLOCK_TIMES") == nullptr) GTEST_SKIP() << "LANISTA_BLOCK_TIMES is not set";
  for (const CaseSteps& each : cases()) {
    for (const std::int64_t lanes : {1, 16, 64, 132, 256}) {
      auto made = backend->compile(&each.derived.train, each.derived.infer, {.lanes = lanes, .max_batch = each.batch});
      if (!made) {
        std::printf("%-16s %4d lanes: %s\n", each.name.c_str(), static_cast<int>(lanes), made.error().message.c_str());
        continue;
      }
      program::Executable& machine = **made;
      for (std::int64_t lane = 0; lane < lanes; ++lane) machine.lanes().attach(lane, *machine.memory().make_state(7));
      const OwnedBatch owned = random_batch(each.derived, each.batch, 1);
      const Batch batch = owned.view();
      const std::vector<LaneHyper> hyper(static_cast<std::size_t>(lanes), each.hyper);
      const std::vector<std::uint8_t> active(hyper.size(), 1);
      std::vector<LaneResult> results(hyper.size());
      const auto run = [&](std::int64_t steps) {
        const auto begin = std::chrono::steady_clock::now();
        machine.steps().run({.steps = steps,
                             .active = active,
                             .step_input =
                                 [&](std::int64_t) {
                                   return StepInput{{&batch, 1}, hyper};
                                 }},
                            results);
        machine.steps().wait();
        if (results[0].failure) std::rethrow_exception(results[0].failure);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      };
      run(2);
      const double one = run(4) / 4;
      const auto steps = std::max<std::int64_t>(4, std::min<std::int64_t>(400, static_cast<std::int64_t>(0.15 / one)));
      double best = run(steps);
      best = std::min(best, run(steps));
      std::printf("%-16s %4d lanes: %9.2f us a step, %8.3f us a model and step\n", each.name.c_str(),
                  static_cast<int>(lanes), 1e6 * best / static_cast<double>(steps),
                  1e6 * best / static_cast<double>(steps * lanes));
      if (lanes != 64) continue;
      auto& blocks = dynamic_cast<BlockExecutable&>(machine);
      blocks.time_calls();
      run(10);
      std::uint64_t all = 0;
      const auto timed = blocks.timed_calls();
      for (const auto& call : timed) all += call.cycles;
      std::printf("  %llu cycles a step one by one:", static_cast<unsigned long long>(all / 10));
      for (const auto& call : timed) {
        std::printf(" %d(", call.call.op);
        for (int k = 0; k < 7; ++k) std::printf("%s%d", k > 0 ? "," : "", call.call.n[k]);
        std::printf(")%s=%llu", call.call.needs_barrier != 0 ? "w" : "",
                    static_cast<unsigned long long>(call.cycles / 10));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace lanista::device
