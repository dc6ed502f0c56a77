// The block backend on the host gives the bits of the CPU kernels, for any order of threads.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_blocks/block_executable.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

TEST(Block, EqualsTheCpuToTheBitForSupportedModels) {
  const kernels::FlushToZero as_workers;
  std::int64_t tried = 0;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!is_supported(derived, host())) continue;
    ++tried;
    expect_equal_results(train(derived, host(), 3, 6, recipes(), tried % 2 == 0),
                         train(derived, program::cpu_backend(), 3, 6, recipes(), tried % 2 == 0), model.name);
  }
  EXPECT_GE(tried, 40);
}

TEST(Block, RejectsUnsupportedOperatorsWithAdvice) {
  const Derived derived = derive(model_named("lrn"));
  const auto program = program::Program::compile(derived.train, derived.infer, {.backend = &host()});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, Code::kUnimplemented);
  EXPECT_NE(program.error().message.find("'lrn'"), std::string::npos) << program.error().message;
  EXPECT_NE(program.error().message.find("run.devices: [cpu]"), std::string::npos) << program.error().message;
}

TEST(Block, GivesEqualBitsForAnyChunkSizeAndMove) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_mlp());
  const auto run = [&](const program::Backend& backend, std::int64_t at_once) {
    program::Program program = compile_empty(derived, {.lanes = 3, .max_batch = kMaxBatch, .backend = &backend});
    EXPECT_TRUE(program.begin(0, 5).ok());
    EXPECT_TRUE(program.begin(1, 6).ok());
    const std::vector<LaneHyper> hyper(3, {.lr = 0.1, .momentum = 0.9});
    std::vector<std::uint8_t> active{1, 1, 0};
    std::vector<LaneResult> ends(3);
    OwnedBatch owned;
    Batch batch;
    const auto steps = [&](std::int64_t from, std::int64_t count) {
      program.run({.steps = count,
                   .active = active,
                   .step_input =
                       [&](std::int64_t step) {
                         owned = random_batch(derived, kMaxBatch, static_cast<std::uint64_t>(from + step));
                         batch = owned.view();
                         return StepInput{{&batch, 1}, hyper};
                       }},
                  ends);
    };
    for (std::int64_t step = 0; step < 6; step += at_once) steps(step, at_once);
    EXPECT_TRUE(program.clone(1, 2, 9).ok());
    std::vector<std::vector<Tensor>> states{program.extract(2)};
    program.attach(0, [&] {
      program::LaneState state = program.detach(0);
      return state;
    }());
    active = {1, 0, 1};
    for (std::int64_t step = 6; step < 12; step += at_once) steps(step, at_once);
    std::vector<float> predictions(static_cast<std::size_t>(kMaxBatch * program.prediction_size()));
    program.predict(2, batch, std::span<float>(predictions));
    for (std::int64_t lane = 0; lane < 3; ++lane) states.push_back(program.extract(lane));
    return std::pair(states, predictions);
  };
  const auto wanted = run(program::cpu_backend(), 6);
  for (const std::int64_t at_once : {1, 2, 6}) {
    const auto got = run(host(), at_once);
    EXPECT_EQ(got.first, wanted.first) << at_once;
    EXPECT_EQ(got.second, wanted.second) << at_once;
  }
}

TEST(Block, TrainsWithEveryOptimiserAndLrRanges) {
  const kernels::FlushToZero as_workers;
  const std::vector<program::LrRange> lr_ranges{{3, 50, 0.5}, {100, 64, 0}, {333, 17, 2}};
  for (const char* optimizer : {"sgd", "adam", "adamw", "lion", "rmsprop"}) {
    const Derived derived = derive(small_mlp(), optimizer);
    const std::vector<LaneHyper> recipe{
        {.lr = 0.01, .momentum = 0.5, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.98, .eps = 1e-6, .clip_norm = 0.5},
        {.lr = 0.003, .weight_decay = 0.1, .lr_ranges = lr_ranges}};
    expect_equal_results(train(derived, host(), 2, 12, recipe), train(derived, program::cpu_backend(), 2, 12, recipe),
                         optimizer);
  }
}

// NaN and infinity spread as on the CPU, and to no other lane.
TEST(Block, PropagatesNanAndInfinityAsTheCpuDoes) {
  const kernels::FlushToZero as_workers;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!is_supported(derived, host())) continue;
    const auto run = [&](const program::Backend& backend) {
      program::Program program = compile_empty(derived, {.lanes = 2, .max_batch = 4, .backend = &backend});
      std::vector<OwnedBatch> owned{random_batch(derived, 4, 3), random_batch(derived, 4, 4)};
      const bool tokens = derived.train.types.at(derived.train.input).dtype == graph::DType::kIndex;
      if (!tokens) owned[1].features[owned[1].features.size() / 2] = std::nanf("");
      const std::vector<Batch> batches{owned[0].view(), owned[1].view()};
      const std::vector<LaneHyper> hyper(2, {.lr = 0.05, .momentum = 0.9});
      const std::vector<std::uint8_t> active{1, 1};
      TrainingRun trained;
      trained.ends.resize(2);
      for (std::int64_t lane = 0; lane < 2; ++lane) EXPECT_TRUE(program.begin(lane, 5));
      program.run({.steps = 1,
                   .active = active,
                   .step_input =
                       [&](std::int64_t) {
                         return StepInput{batches, hyper};
                       }},
                  trained.ends);
      for (std::int64_t lane = 0; lane < 2; ++lane) trained.states.push_back(program.extract(lane));
      return trained;
    };
    expect_equal_results(run(host()), run(program::cpu_backend()), model.name);
  }
}

TEST(Block, ComputesGradientsAndNormsAsTheCpuDoes) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_cnn(), "adam");
  const auto run = [&](const program::Backend& backend) {
    program::Program program = compile_empty(derived, {.max_batch = kMaxBatch, .backend = &backend});
    EXPECT_TRUE(program.begin(0, 5).ok());
    const OwnedBatch owned = random_batch(derived, kMaxBatch, 1);
    const Batch batch = owned.view();
    const LaneHyper hyper{.lr = 0.01};
    const std::uint8_t one = 1;
    std::vector<LaneResult> ends(1);
    std::vector<double> numbers;
    const auto chunk = [&](std::span<const std::uint8_t> needs_gradient_norm) {
      program.run({.steps = 2,
                   .active = {&one, 1},
                   .step_input =
                       [&](std::int64_t) {
                         return StepInput{{&batch, 1}, {&hyper, 1}};
                       },
                   .needs_gradient_norm = needs_gradient_norm},
                  ends);
      numbers.push_back(ends[0].loss);
    };
    chunk({});
    program::LaneGradients gradients = *program.make_gradients();
    numbers.push_back(program.gradients(0, batch, kMaxBatch, hyper, gradients));
    numbers.push_back(program.squared_gradient_norm(0, gradients, hyper));
    program.commit(0, gradients, hyper);
    chunk({});
    chunk({&one, 1});
    numbers.push_back(ends[0].squared_gradient_norm);
    chunk({});
    std::vector<double> losses(kMaxBatch);
    program.losses(0, batch, 0.1, losses);
    numbers.insert(numbers.end(), losses.begin(), losses.end());
    return std::pair(program.extract(0), numbers);
  };
  const auto got = run(host()), wanted = run(program::cpu_backend());
  EXPECT_EQ(got.first, wanted.first);
  EXPECT_EQ(got.second, wanted.second);
}

TEST(Block, CallsBeforeCommitHook) {
  const Derived derived = derive(small_mlp());
  int commits = 0;
  program::Program program =
      compile(derived, {.max_batch = kMaxBatch, .backend = &host(), .before_commit = [&](std::int64_t) {
                          if (++commits == 2) throw std::bad_alloc();
                        }});
  const OwnedBatch owned = random_batch(derived, kMaxBatch, 1);
  EXPECT_NO_THROW(step_once(program, owned, {}));
  EXPECT_THROW(step_once(program, owned, {}), std::bad_alloc);
  EXPECT_EQ(program.step_count(0), 1);
}

TEST(Block, SplitsAChunkIntoRoundsWhenStagingIsSmall) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_mlp());
  const auto run = [&](bool small) {
    auto executable = BlockExecutable::compile(host_block_device(), &derived.train, derived.infer,
                                               {.lanes = 2, .max_batch = kMaxBatch});
    auto& blocks = dynamic_cast<BlockExecutable&>(**executable);
    if (small) blocks.set_max_staging_bytes(1);
    for (std::int64_t lane = 0; lane < 2; ++lane) blocks.attach(lane, *blocks.make_state(3));
    const std::vector<LaneHyper> hyper(2, {.lr = 0.1, .momentum = 0.9});
    const std::vector<std::uint8_t> active{1, 1};
    std::vector<LaneResult> ends(2);
    OwnedBatch owned;
    Batch batch;
    std::int64_t asked = 0;
    blocks.run({.steps = 100,
                .active = active,
                .step_input =
                    [&](std::int64_t step) {
                      EXPECT_EQ(step, asked++);
                      owned = random_batch(derived, kMaxBatch, static_cast<std::uint64_t>(step));
                      batch = owned.view();
                      return StepInput{{&batch, 1}, hyper};
                    }},
               ends);
    EXPECT_TRUE(small ? blocks.num_rounds() > 2 : blocks.num_rounds() == 1);
    blocks.wait();
    EXPECT_EQ(asked, 100);
    return std::pair(blocks.extract_state(1), ends[1].loss_sum);
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Block, KeepsTheStateOfALaneThatThrows) {
  const Derived derived = derive(small_mlp());
  program::Program program = compile(derived, {.lanes = 2, .max_batch = kMaxBatch, .backend = &host()});
  const std::vector<LaneHyper> hyper(2, {.lr = 0.1});
  std::vector<OwnedBatch> owned(2);
  std::vector<Batch> batches(2);
  const std::vector<std::uint8_t> active{1, 1};
  std::vector<LaneResult> ends(2);
  program.run({.steps = 3,
               .active = active,
               .step_input =
                   [&](std::int64_t step) {
                     for (std::size_t lane = 0; lane < 2; ++lane) {
                       owned[lane] = random_batch(derived, kMaxBatch, 1);
                       if (lane == 0 && step == 1) owned[lane].labels[2] = 77;
                       batches[lane] = owned[lane].view();
                     }
                     return StepInput{batches, hyper};
                   }},
              ends);
  EXPECT_TRUE(ends[0].failure);
  EXPECT_EQ(ends[0].steps, 1);
  EXPECT_EQ(program.step_count(0), 1);
  EXPECT_FALSE(ends[1].failure);
  EXPECT_EQ(ends[1].steps, 3);
  EXPECT_EQ(program.step_count(1), 3);
}

TEST(BlockOnCuda, EqualsTheCpuToTheBitForSupportedModels) {
  std::string why;
  const program::Backend* const backend = cuda(why);
  if (backend == nullptr) GTEST_SKIP() << why;
  const kernels::FlushToZero as_workers;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!is_supported(derived, host())) continue;
    expect_equal_results(train(derived, *backend, 3, 6, recipes()),
                         train(derived, program::cpu_backend(), 3, 6, recipes()), model.name);
  }
}

// It needs a minute of one core each. LANISTA_FULL_EQUIVALENCE=1 compiles for the older architecture too.
TEST(BlockText, CompilesForCurrentArchitectures) {
  for (const int architecture : {90, 80}) {
    if (architecture != 90 && !runs_all_cases()) break;
    std::string log;
    const Result<std::string> cubin = compile_block(architecture, &log);
    if (!cubin && cubin.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << cubin.error().message;
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    EXPECT_EQ(cubin->substr(1, 3), "ELF");
    EXPECT_NE(log.find("lanista_block"), std::string::npos) << log;
    std::printf("sm_%d: %s\n", architecture, log.substr(log.find("Used"), 90).c_str());
  }
}

// It also fills LANISTA_BLOCK_CACHE for a machine without a compiler.
TEST(BlockText, IsCachedAfterCompilation) {
  if (std::getenv("LANISTA_BLOCK_CACHE") == nullptr) GTEST_SKIP() << "LANISTA_BLOCK_CACHE is not set";
  const Result<std::string> first = compile_block(90), again = compile_block(90);
  if (!first && first.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << first.error().message;
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(*first, *again);
}

TEST(BlockOnCuda, NamesTheMissingPartWithAdvice) {
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
