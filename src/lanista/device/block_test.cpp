// Blocks on the host: the bits of the CPU's kernels, whatever the order of threads.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "lanista/base/rng.h"
#include "lanista/bench/cases.h"
#include "lanista/device/block_backend.h"
#include "lanista/device/block_machine.h"
#include "lanista/device/device.h"
#include "lanista/kernels/flush_to_zero.h"
#include "lanista/nn/test_models.h"

namespace lanista::device {
namespace {

using namespace nn::testing;
using nn::Batch;
using nn::Chunk;
using nn::LaneEnd;
using nn::LaneHyper;
using nn::StepWork;

constexpr std::int64_t kMost = 8;

bool has_form(const Derived& derived, const nn::Backend& backend) {
  return nn::Program::compile(derived.train, derived.infer, {.max_batch = kMost, .backend = &backend}).ok();
}

const nn::Backend& host() {
  const auto backend = block_backend("host");
  EXPECT_TRUE(backend.ok()) << backend.error().message;
  return **backend;
}

// Bytes of a state but that no number equals no number: their signs and payloads are nobody's promise.
void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].bytes == wanted[i].bytes) continue;
    ASSERT_EQ(got[i].type, ElementType::kF32) << what << " " << got[i].name;
    const auto a = elements_of<float>(got[i]), b = elements_of<float>(wanted[i]);
    for (std::size_t e = 0; e < a.size(); ++e) {
      if (std::isnan(a[e]) && std::isnan(b[e])) continue;
      ASSERT_EQ(std::memcmp(&a[e], &b[e], sizeof(float)), 0)
          << what << ": " << got[i].name << "[" << e << "] is " << a[e] << " instead of " << b[e];
    }
  }
}

struct Trained {
  std::vector<LaneEnd> ends;
  std::vector<std::vector<Tensor>> states;
};

// Fresh lanes, each with its own rates, through a chunk whose batches are drawn by step (and by lane, unless shared).
Trained train(const Derived& derived, const nn::Backend& backend, std::int64_t lanes, std::int64_t steps,
              const std::vector<LaneHyper>& recipe, bool shared = true, std::int64_t most = kMost) {
  auto program = nn::Program::compile(derived.train, derived.infer,
                                      {.lanes = lanes, .max_batch = most, .backend = &backend});
  EXPECT_TRUE(program.ok()) << program.error().message;
  Trained trained;
  if (!program) return trained;
  for (std::int64_t lane = 0; lane < lanes; ++lane) EXPECT_TRUE(program->begin(lane, 7 + static_cast<std::uint64_t>(lane)));
  std::vector<LaneHyper> hyper;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    hyper.push_back(recipe[static_cast<std::size_t>(lane) % recipe.size()]);
    hyper.back().lr *= 1 + 0.1 * static_cast<double>(lane);
  }
  const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
  trained.ends.resize(active.size());
  std::vector<OwnedBatch> owned;
  std::vector<Batch> batches;
  const auto work = [&](std::int64_t step) {
    owned.clear();
    batches.clear();
    for (std::int64_t lane = 0; lane < (shared ? 1 : lanes); ++lane) {
      // A short batch now and then.
      const std::int64_t size = (step + lane) % 5 == 3 ? std::max<std::int64_t>(1, most - 3) : most;
      owned.push_back(random_batch(derived, size, static_cast<std::uint64_t>(100 * step + lane)));
    }
    for (const OwnedBatch& each : owned) batches.push_back(each.view());
    return StepWork{batches, hyper};
  };
  program->run({.steps = steps, .active = active, .work = work}, trained.ends);
  for (std::int64_t lane = 0; lane < lanes; ++lane) trained.states.push_back(program->extract(lane));
  return trained;
}

void expect_twins(const Trained& got, const Trained& wanted, const std::string& what) {
  ASSERT_EQ(got.ends.size(), wanted.ends.size());
  for (std::size_t i = 0; i < got.ends.size(); ++i) {
    const std::string lane = what + ", lane " + std::to_string(i);
    EXPECT_FALSE(got.ends[i].failure) << lane;
    EXPECT_EQ(got.ends[i].steps, wanted.ends[i].steps) << lane;
    EXPECT_EQ(got.ends[i].bad_step, wanted.ends[i].bad_step) << lane;
    if (!std::isnan(wanted.ends[i].loss_sum)) {
      EXPECT_EQ(got.ends[i].loss, wanted.ends[i].loss) << lane;
      EXPECT_EQ(got.ends[i].loss_sum, wanted.ends[i].loss_sum) << lane;
    }
    expect_same(got.states[i], wanted.states[i], lane);
  }
}

std::vector<LaneHyper> recipes() {
  return {{.lr = 0.05, .momentum = 0.9},
          {.lr = 0.1, .weight_decay = 0.01, .label_smoothing = 0.1},
          {.lr = 0.05, .momentum = 0.8, .weight_decay = 0.02, .clip_norm = 0.3, .nesterov = true}};
}

TEST(Block, GivesTheBitsOfTheCpuForEveryOperatorModelThatHasAForm) {
  const kernels::FlushToZero as_workers;
  std::int64_t tried = 0;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!has_form(derived, host())) continue;
    ++tried;
    expect_twins(train(derived, host(), 3, 6, recipes(), tried % 2 == 0),
                 train(derived, nn::cpu_backend(), 3, 6, recipes(), tried % 2 == 0), model.name);
  }
  EXPECT_GE(tried, 40);
}

TEST(Block, RefusesAnOperatorWithoutAFormByNameWithTheWayOut) {
  const Derived derived = derive(model_named("lrn"));
  const auto program = nn::Program::compile(derived.train, derived.infer, {.backend = &host()});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, Code::kUnimplemented);
  EXPECT_NE(program.error().message.find("'lrn'"), std::string::npos) << program.error().message;
  EXPECT_NE(program.error().message.find("run.devices: [cpu]"), std::string::npos) << program.error().message;
}

// A case of the benchmarks with its steps, and what it trains with.
struct CaseSteps {
  std::string name;
  Derived derived;
  std::int64_t batch = 0, vocab = 0;
  LaneHyper hyper;
};

std::vector<CaseSteps> cases() {
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  std::vector<CaseSteps> all;
  for (const bench::Case& each : bench::training_cases()) {
    Derived derived{each.model, *step::derive_training_step(each.model, {}, ops),
                    *step::derive_inference_step(each.model, ops)};
    all.push_back({each.name, std::move(derived), each.batch, each.vocab, {.lr = each.rate, .momentum = 0.9}});
  }
  return all;
}

void expect_cases(const nn::Backend& backend, std::int64_t lanes, std::int64_t steps, std::int64_t most) {
  const kernels::FlushToZero as_workers;
  for (const CaseSteps& each : cases()) {
    const std::int64_t batch = std::min(each.batch, most);
    expect_twins(train(each.derived, backend, lanes, steps, {each.hyper}, true, batch),
                 train(each.derived, nn::cpu_backend(), lanes, steps, {each.hyper}, true, batch), each.name);
  }
}

// Lanes of all eight cases in one launch, `lanes` of each.
void expect_population(const nn::Backend& backend, std::int64_t lanes, std::int64_t steps, std::int64_t most) {
  const kernels::FlushToZero as_workers;
  const std::vector<CaseSteps> all = cases();
  const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
  struct Member {
    std::unique_ptr<nn::Machine> machine;
    std::vector<LaneHyper> hyper;
    OwnedBatch owned;
    Batch batch;
    Chunk chunk;
    std::vector<LaneEnd> ends;
  };
  std::vector<Member> members(all.size());
  std::vector<PopulationPart> parts;
  for (std::size_t m = 0; m < all.size(); ++m) {
    Member& member = members[m];
    auto machine = backend.compile(&all[m].derived.train, all[m].derived.infer, {.lanes = lanes, .max_batch = most});
    ASSERT_TRUE(machine.ok()) << machine.error().message;
    member.machine = std::move(*machine);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      member.machine->attach(lane, *member.machine->make_state(7 + static_cast<std::uint64_t>(lane)));
      member.hyper.push_back(all[m].hyper);
      member.hyper.back().lr *= 1 + 0.1 * static_cast<double>(lane);
    }
    member.ends.resize(active.size());
    member.chunk = {.steps = steps,
                    .active = active,
                    .work = [&member, &derived = all[m].derived, most](std::int64_t step) {
                      const std::int64_t size = step % 5 == 3 ? std::max<std::int64_t>(1, most - 3) : most;
                      member.owned = random_batch(derived, size, static_cast<std::uint64_t>(100 * step));
                      member.batch = member.owned.view();
                      return StepWork{{&member.batch, 1}, member.hyper};
                    }};
    parts.push_back({member.machine.get(), &member.chunk, member.ends});
  }
  run_population(parts);
  for (std::size_t m = 0; m < all.size(); ++m) {
    Trained got{members[m].ends, {}};
    for (std::int64_t lane = 0; lane < lanes; ++lane) got.states.push_back(members[m].machine->copy_out(lane));
    expect_twins(got, train(all[m].derived, nn::cpu_backend(), lanes, steps, {all[m].hyper}, true, most), all[m].name);
  }
}

TEST(Block, GivesTheBitsOfTheCpuOverFiftyStepsOfTheEightCases) { expect_cases(host(), 1, 50, 128); }

TEST(Block, GivesTheBitsOfTheCpuInThreeLanes) { expect_cases(host(), 3, 4, 8); }

TEST(Block, RunsSixtyFourLanesOfEightStructuresInOneLaunch) { expect_population(host(), 8, 6, 5); }

TEST(Block, ChunkOfManyIsManyChunksOfOneAndStatesMoveAsOnTheCpu) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_mlp());
  const auto run = [&](const nn::Backend& backend, std::int64_t at_once) {
    nn::Program program = compile_empty(derived, {.lanes = 3, .max_batch = kMost, .backend = &backend});
    EXPECT_TRUE(program.begin(0, 5).ok());
    EXPECT_TRUE(program.begin(1, 6).ok());
    const std::vector<LaneHyper> hyper(3, {.lr = 0.1, .momentum = 0.9});
    std::vector<std::uint8_t> active{1, 1, 0};
    std::vector<LaneEnd> ends(3);
    OwnedBatch owned;
    Batch batch;
    const auto steps = [&](std::int64_t from, std::int64_t count) {
      program.run({.steps = count,
                   .active = active,
                   .work =
                       [&](std::int64_t step) {
                         owned = random_batch(derived, kMost, static_cast<std::uint64_t>(from + step));
                         batch = owned.view();
                         return StepWork{{&batch, 1}, hyper};
                       }},
                  ends);
    };
    for (std::int64_t step = 0; step < 6; step += at_once) steps(step, at_once);
    EXPECT_TRUE(program.clone(1, 2, 9).ok());
    program.attach(0, [&] {
      nn::LaneState state = program.detach(0);
      return state;
    }());
    active = {1, 0, 1};
    for (std::int64_t step = 6; step < 12; step += at_once) steps(step, at_once);
    std::vector<float> predictions(static_cast<std::size_t>(kMost * program.prediction_size()));
    program.predict(2, batch, std::span<float>(predictions));
    std::vector<std::vector<Tensor>> states;
    for (std::int64_t lane = 0; lane < 3; ++lane) states.push_back(program.extract(lane));
    return std::pair(states, predictions);
  };
  const auto wanted = run(nn::cpu_backend(), 6);
  for (const std::int64_t at_once : {1, 2, 6}) {
    const auto got = run(host(), at_once);
    EXPECT_EQ(got.first, wanted.first) << at_once;
    EXPECT_EQ(got.second, wanted.second) << at_once;
  }
}

TEST(Block, TrainsByEveryOptimiserWithRatesOfItsOwn) {
  const kernels::FlushToZero as_workers;
  const std::vector<nn::RateRange> rates{{3, 50, 0.5}, {100, 64, 0}, {333, 17, 2}};
  for (const char* optimizer : {"sgd", "adam", "adamw", "lion", "rmsprop"}) {
    const Derived derived = derive(small_mlp(), optimizer);
    const std::vector<LaneHyper> recipe{
        {.lr = 0.01, .momentum = 0.5, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.98, .eps = 1e-6, .clip_norm = 0.5},
        {.lr = 0.003, .rates = rates}};
    expect_twins(train(derived, host(), 2, 12, recipe), train(derived, nn::cpu_backend(), 2, 12, recipe), optimizer);
  }
}

TEST(Block, LeavesALaneThatThrowsAsItWasAndTheOthersAlone) {
  const Derived derived = derive(small_mlp());
  nn::Program program = compile(derived, {.lanes = 2, .max_batch = kMost, .backend = &host()});
  const std::vector<LaneHyper> hyper(2, {.lr = 0.1});
  std::vector<OwnedBatch> owned(2);
  std::vector<Batch> batches(2);
  const std::vector<std::uint8_t> active{1, 1};
  std::vector<LaneEnd> ends(2);
  program.run({.steps = 3,
               .active = active,
               .work =
                   [&](std::int64_t step) {
                     for (std::size_t lane = 0; lane < 2; ++lane) {
                       owned[lane] = random_batch(derived, kMost, 1);
                       if (lane == 0 && step == 1) owned[lane].labels[2] = 77;
                       batches[lane] = owned[lane].view();
                     }
                     return StepWork{batches, hyper};
                   }},
              ends);
  EXPECT_TRUE(ends[0].failure);
  EXPECT_EQ(ends[0].steps, 1);
  EXPECT_EQ(program.step_count(0), 1);
  EXPECT_FALSE(ends[1].failure);
  EXPECT_EQ(ends[1].steps, 3);
  EXPECT_EQ(program.step_count(1), 3);
}

// On a device: skipped where there is none. LANISTA_BLOCK_DEVICE names another, as "block:cuda:0/512x2".
const nn::Backend* cuda(std::string& why) {
  const char* const asked = std::getenv("LANISTA_BLOCK_DEVICE");
  const auto backend = open(asked != nullptr ? asked : "block:cuda:0");
  if (backend.ok()) return *backend;
  why = backend.error().message;
  return nullptr;
}

TEST(BlockOnCuda, GivesTheBitsOfTheCpuForEveryOperatorModelThatHasAForm) {
  std::string why;
  const nn::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  const kernels::FlushToZero as_workers;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!has_form(derived, host())) continue;
    expect_twins(train(derived, *backend, 3, 6, recipes()), train(derived, nn::cpu_backend(), 3, 6, recipes()),
                 model.name);
  }
}

TEST(BlockOnCuda, GivesTheBitsOfTheCpuForTheEightCases) {
  std::string why;
  const nn::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  expect_cases(*backend, 1, 20, 128);
  expect_cases(*backend, 3, 6, 32);
  expect_cases(*backend, 64, 3, 6);
}

TEST(BlockOnCuda, RunsSixtyFourLanesOfEightStructuresInOneLaunch) {
  std::string why;
  const nn::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  expect_population(*backend, 8, 6, 5);
}

// What a step takes, in microseconds a model: for who tunes. LANISTA_BLOCK_TIMES=1 wants it.
TEST(BlockOnCuda, TellsWhatStepsTake) {
  std::string why;
  const nn::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  if (std::getenv("LANISTA_BLOCK_TIMES") == nullptr) GTEST_SKIP() << "LANISTA_BLOCK_TIMES is not set";
  for (const CaseSteps& each : cases()) {
    for (const std::int64_t lanes : {1, 16, 64, 132, 256}) {
      auto made = backend->compile(&each.derived.train, each.derived.infer, {.lanes = lanes, .max_batch = each.batch});
      if (!made) {
        std::printf("%-16s %4d lanes: %s\n", each.name.c_str(), static_cast<int>(lanes), made.error().message.c_str());
        continue;
      }
      nn::Machine& machine = **made;
      for (std::int64_t lane = 0; lane < lanes; ++lane) machine.attach(lane, *machine.make_state(7));
      const OwnedBatch owned = random_batch(each.derived, each.batch, 1);
      const Batch batch = owned.view();
      const std::vector<LaneHyper> hyper(static_cast<std::size_t>(lanes), each.hyper);
      const std::vector<std::uint8_t> active(hyper.size(), 1);
      std::vector<LaneEnd> ends(hyper.size());
      const auto run = [&](std::int64_t steps) {
        const auto begin = std::chrono::steady_clock::now();
        machine.run({.steps = steps, .active = active, .work = [&](std::int64_t) { return StepWork{{&batch, 1}, hyper}; }},
                    ends);
        machine.wait();
        if (ends[0].failure) std::rethrow_exception(ends[0].failure);
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
      auto& blocks = dynamic_cast<BlockMachine&>(machine);
      blocks.time_calls();
      run(10);
      std::uint64_t all = 0;
      const auto timed = blocks.timed_calls();
      for (const auto& call : timed) all += call.cycles;
      std::printf("  %llu cycles a step one by one:", static_cast<unsigned long long>(all / 10));
      for (const auto& call : timed) {
        std::printf(" %d(", call.call.op);
        for (int k = 0; k < 7; ++k) std::printf("%s%d", k > 0 ? "," : "", call.call.n[k]);
        std::printf(")%s=%llu", call.call.waits != 0 ? "w" : "", static_cast<unsigned long long>(call.cycles / 10));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

TEST(BlockText, CompilesForTheArchitecturesOfNow) {
  for (const int architecture : {80, 90}) {
    std::string log;
    const Result<std::string> cubin = compile_block(architecture, {.threads = 256, .team = 1}, &log);
    if (!cubin && cubin.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << cubin.error().message;
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    EXPECT_EQ(cubin->substr(1, 3), "ELF");
    EXPECT_NE(log.find("lanista_block"), std::string::npos) << log;
    std::printf("sm_%d: %s\n", architecture, log.substr(log.find("Used"), 90).c_str());
  }
}

// Fills LANISTA_BLOCK_CACHE for a machine without a compiler: LANISTA_BLOCK_SHAPES="512x1 256x1", for sm_90.
TEST(BlockText, IsKeptCompiled) {
  const char* const asked = std::getenv("LANISTA_BLOCK_SHAPES");
  if (asked == nullptr) GTEST_SKIP() << "LANISTA_BLOCK_SHAPES is not set";
  std::istringstream shapes(asked);
  BlockShape shape;
  for (char x = 0; shapes >> shape.threads >> x >> shape.team;) {
    const Result<std::string> first = compile_block(90, shape), again = compile_block(90, shape);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(*first, *again);
  }
}

TEST(BlockOnCuda, NamesWhatIsMissingWithTheWayOut) {
  for (const char* name : {"block:cuda:99", "block:cuda:x", "block:abacus"}) {
    const auto backend = open(name);
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_EQ(backend.error().code, Code::kUnavailable);
    EXPECT_NE(backend.error().message.find(name), std::string::npos) << backend.error().message;
    EXPECT_NE(backend.error().message.find("run.devices: [cpu]"), std::string::npos) << backend.error().message;
  }
}

}  // namespace
}  // namespace lanista::device
