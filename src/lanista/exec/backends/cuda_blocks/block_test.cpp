// Blocks on the host: the bits of the CPU's kernels, whatever the order of threads.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "lanista/exec/backends/cuda_blocks/block_device.h"
#include "lanista/exec/backends/cuda_blocks/block_machine.h"
#include "support/exec/backends/cuda_blocks/block_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

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
    std::vector<std::vector<Tensor>> states{program.extract(2)};
    program.attach(0, [&] {
      nn::LaneState state = program.detach(0);
      return state;
    }());
    active = {1, 0, 1};
    for (std::int64_t step = 6; step < 12; step += at_once) steps(step, at_once);
    std::vector<float> predictions(static_cast<std::size_t>(kMost * program.prediction_size()));
    program.predict(2, batch, std::span<float>(predictions));
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
        {.lr = 0.003, .weight_decay = 0.1, .rates = rates}};
    expect_twins(train(derived, host(), 2, 12, recipe), train(derived, nn::cpu_backend(), 2, 12, recipe), optimizer);
  }
}

// A number that is none goes where the CPU lets it go, and to no other lane.
TEST(Block, LetsWhatIsNoNumberGoWhereTheCpuDoes) {
  const kernels::FlushToZero as_workers;
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    if (!has_form(derived, host())) continue;
    const auto run = [&](const nn::Backend& backend) {
      nn::Program program = compile_empty(derived, {.lanes = 2, .max_batch = 4, .backend = &backend});
      std::vector<OwnedBatch> owned{random_batch(derived, 4, 3), random_batch(derived, 4, 4)};
      const bool tokens = derived.train.types.at(derived.train.input).dtype == graph::DType::kIndex;
      if (!tokens) owned[1].features[owned[1].features.size() / 2] = std::nanf("");
      const std::vector<Batch> batches{owned[0].view(), owned[1].view()};
      const std::vector<LaneHyper> hyper(2, {.lr = 0.05, .momentum = 0.9});
      const std::vector<std::uint8_t> active{1, 1};
      Trained trained;
      trained.ends.resize(2);
      for (std::int64_t lane = 0; lane < 2; ++lane) EXPECT_TRUE(program.begin(lane, 5));
      program.run({.steps = 1,
                   .active = active,
                   .work =
                       [&](std::int64_t) {
                         return StepWork{batches, hyper};
                       }},
                  trained.ends);
      for (std::int64_t lane = 0; lane < 2; ++lane) trained.states.push_back(program.extract(lane));
      return trained;
    };
    expect_twins(run(host()), run(nn::cpu_backend()), model.name);
  }
}

TEST(Block, DoesStepsInHalvesAndSquaresOfGradientsAsTheCpu) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_cnn(), "adam");
  const auto run = [&](const nn::Backend& backend) {
    nn::Program program = compile_empty(derived, {.max_batch = kMost, .backend = &backend});
    EXPECT_TRUE(program.begin(0, 5).ok());
    const OwnedBatch owned = random_batch(derived, kMost, 1);
    const Batch batch = owned.view();
    const LaneHyper hyper{.lr = 0.01};
    const std::uint8_t one = 1;
    std::vector<LaneEnd> ends(1);
    std::vector<double> numbers;
    const auto chunk = [&](std::span<const std::uint8_t> watched) {
      program.run({.steps = 2,
                   .active = {&one, 1},
                   .work =
                       [&](std::int64_t) {
                         return StepWork{{&batch, 1}, {&hyper, 1}};
                       },
                   .watched = watched},
                  ends);
      numbers.push_back(ends[0].loss);
    };
    chunk({});
    nn::LaneGradients gradients = *program.make_gradients();
    numbers.push_back(program.gradients(0, batch, kMost, hyper, gradients));
    numbers.push_back(program.gradient_square(0, gradients, hyper));
    program.commit(0, gradients, hyper);
    chunk({});
    chunk({&one, 1});
    numbers.push_back(ends[0].gradient_square);
    chunk({});
    std::vector<double> losses(kMost);
    program.losses(0, batch, 0.1, losses);
    numbers.insert(numbers.end(), losses.begin(), losses.end());
    return std::pair(program.extract(0), numbers);
  };
  const auto got = run(host()), wanted = run(nn::cpu_backend());
  EXPECT_EQ(got.first, wanted.first);
  EXPECT_EQ(got.second, wanted.second);
}

TEST(Block, StopsBeforeEveryCommitWhereThatIsAskedFor) {
  const Derived derived = derive(small_mlp());
  int commits = 0;
  nn::Program program = compile(derived, {.max_batch = kMost, .backend = &host(), .before_commit = [&](std::int64_t) {
                                            if (++commits == 2) throw std::bad_alloc();
                                          }});
  const OwnedBatch owned = random_batch(derived, kMost, 1);
  EXPECT_NO_THROW(step_once(program, owned, {}));
  EXPECT_THROW(step_once(program, owned, {}), std::bad_alloc);
  EXPECT_EQ(program.step_count(0), 1);
}

TEST(Block, TakesAChunkInRoundsWhereItsBatchesAreTooManyForOne) {
  const kernels::FlushToZero as_workers;
  const Derived derived = derive(small_mlp());
  const auto run = [&](bool small) {
    auto machine =
        BlockMachine::compile(host_blocks(), &derived.train, derived.infer, {.lanes = 2, .max_batch = kMost});
    auto& blocks = dynamic_cast<BlockMachine&>(**machine);
    if (small) blocks.stage_at_most(1);
    for (std::int64_t lane = 0; lane < 2; ++lane) blocks.attach(lane, *blocks.make_state(3));
    const std::vector<LaneHyper> hyper(2, {.lr = 0.1, .momentum = 0.9});
    const std::vector<std::uint8_t> active{1, 1};
    std::vector<LaneEnd> ends(2);
    OwnedBatch owned;
    Batch batch;
    std::int64_t asked = 0;
    blocks.run({.steps = 100,
                .active = active,
                .work =
                    [&](std::int64_t step) {
                      EXPECT_EQ(step, asked++);
                      owned = random_batch(derived, kMost, static_cast<std::uint64_t>(step));
                      batch = owned.view();
                      return StepWork{{&batch, 1}, hyper};
                    }},
               ends);
    EXPECT_TRUE(small ? blocks.rounds_so_far() > 2 : blocks.rounds_so_far() == 1);
    blocks.wait();
    EXPECT_EQ(asked, 100);
    return std::pair(blocks.copy_out(1), ends[1].loss_sum);
  };
  EXPECT_EQ(run(true), run(false));
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

// A minute of a core each: the older one too with LANISTA_WHOLE_TWINS=1.
TEST(BlockText, CompilesForTheArchitecturesOfNow) {
  for (const int architecture : {90, 80}) {
    if (architecture != 90 && std::getenv("LANISTA_WHOLE_TWINS") == nullptr) break;
    std::string log;
    const Result<std::string> cubin = compile_block(architecture, &log);
    if (!cubin && cubin.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << cubin.error().message;
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    EXPECT_EQ(cubin->substr(1, 3), "ELF");
    EXPECT_NE(log.find("lanista_block"), std::string::npos) << log;
    std::printf("sm_%d: %s\n", architecture, log.substr(log.find("Used"), 90).c_str());
  }
}

// Also fills LANISTA_BLOCK_CACHE for a machine without a compiler.
TEST(BlockText, IsKeptCompiled) {
  if (std::getenv("LANISTA_BLOCK_CACHE") == nullptr) GTEST_SKIP() << "LANISTA_BLOCK_CACHE is not set";
  const Result<std::string> first = compile_block(90), again = compile_block(90);
  if (!first && first.error().message.find("libnvrtc") != std::string::npos) GTEST_SKIP() << first.error().message;
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(*first, *again);
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
