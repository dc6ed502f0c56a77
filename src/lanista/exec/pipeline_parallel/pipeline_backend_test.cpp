// Trials with steps in stages have the bits of one thread, for any number of threads and after any change of it.
#include "lanista/exec/pipeline_parallel/pipeline_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/graph/text.h"
#include "support/exec/program/test_models.h"
#include "support/exec/train/test_support.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kBatch = 64;
constexpr const char* kBranches =
    "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=24)\n%3 = relu(%2)\n%4 = dropout(%3, p=0.2)\n"
    "%5 = linear(%1, out=24)\n%6 = tanh(%5)\n%7 = layer_norm(%6)\n%8 = concat(%4, %7)\n%9 = linear(%8, out=10)\n"
    "%10 = output(%9)\n";
constexpr const char* kNormalised =
    "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4, kernel=[3])\n%2 = batch_norm(%1)\n%3 = relu(%2)\n"
    "%4 = flatten(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n";

const program::LaneHyper kHyper{
    .lr = 0.01, .momentum = 0.9, .weight_decay = 0.001, .clip_norm = 1, .label_smoothing = 0.1};

program::testing::Derived derived(const char* text) { return program::testing::derive({"model", text}, "adam"); }

Result<program::Program> compiled(const program::testing::Derived& of, const program::Backend& backend,
                                  std::int64_t batch, std::int64_t accumulate, std::int64_t shards = 1) {
  program::ProgramOptions options{.max_batch = batch, .shards = shards, .accumulate = accumulate};
  options.backend = &backend;
  LANISTA_ASSIGN(program::Program program, program::Program::compile(of.train, of.infer, options));
  LANISTA_TRY(program.begin(0, 7));
  return program;
}

struct Trained {
  std::vector<Tensor> state;
  std::vector<double> losses;
  bool operator==(const Trained&) const = default;
};

// Trains some steps; every fourth batch is short. After every so many steps, the checkpoint state moves to a program of
// the next backend.
Trained trained(const program::testing::Derived& of, const std::vector<const program::Backend*>& backends,
                std::int64_t accumulate, int steps = 12, int stop_every = 1000) {
  std::size_t turn = 0;
  Trained all;
  std::optional<program::Program> program;
  for (int i = 0; i < steps; ++i) {
    if (i % stop_every == 0) {
      auto next = compiled(of, *backends[turn++ % backends.size()], kBatch, accumulate);
      EXPECT_TRUE(next.ok()) << next.error().text();
      if (program) {
        EXPECT_TRUE(next->insert(0, program->extract(0)).ok());
      }
      program.emplace(*std::move(next));
    }
    const auto batch = program::testing::random_batch(of, i % 4 == 3 ? 13 : kBatch, static_cast<std::uint64_t>(i));
    all.losses.push_back(program::testing::step_once(*program, batch, kHyper));
  }
  all.state = program->extract(0);
  return all;
}

TEST(PipelineBackend, GivesTheBitsOfOneThreadOnAnyNumber) {
  const program::Backend& cpu = program::cpu_backend();
  const auto model = derived(kBranches);
  for (const std::int64_t accumulate : {1, 4, 8}) {
    const Trained wanted = trained(model, {&cpu}, accumulate);
    for (const std::int64_t ranks : {0, 1, 2, 3, 4}) {
      const PipelineBackend pipelines(cpu, ranks);
      EXPECT_TRUE(trained(model, {&pipelines}, accumulate) == wanted) << accumulate << " parts on " << ranks;
    }
  }
}

TEST(PipelineBackend, ResumesFromTheCheckpointOfAnyOtherPlan) {
  const program::Backend& cpu = program::cpu_backend();
  const auto model = derived(kBranches);
  const PipelineBackend two(cpu, 2), three(cpu, 3), four(cpu, 4);
  const Trained wanted = trained(model, {&cpu}, 4, 30);
  EXPECT_TRUE(trained(model, {&two, &cpu, &four, &three}, 4, 30, 1) == wanted);
  EXPECT_TRUE(trained(model, {&three, &two}, 4, 30, 7) == wanted);
}

TEST(PipelineBackend, CutsAModelIntoStages) {
  const auto model = derived(kBranches);
  const auto staged = compiled(model, PipelineBackend(program::cpu_backend(), 2), kBatch, 4);
  ASSERT_TRUE(staged.ok()) << staged.error().text();
  EXPECT_NE(staged->describe().find(" edge+"), std::string::npos) << "no value goes from stage to stage";
  const auto plain = compiled(model, program::cpu_backend(), kBatch, 4);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->describe().find(" edge+"), std::string::npos);
}

// The recorded times of a step match the plan's lists and the simulated times.
TEST(PipelineBackend, ReportsAStepNextToItsSimulation) {
  const auto model = derived(kBranches);
  auto staged = compiled(model, PipelineBackend(program::cpu_backend(), 2), kBatch, 4);
  ASSERT_TRUE(staged.ok()) << staged.error().text();
  std::optional<program::StepTimes> times;
  for (std::uint64_t i = 0; i < 12 && !times; ++i) {
    program::testing::step_once(*staged, program::testing::random_batch(model, kBatch, i), kHyper);
    times = staged->take_step_times();
  }
  ASSERT_TRUE(times.has_value());
  const auto step = timed_step_of(*times);
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->batch, kBatch);
  EXPECT_EQ(step->ranks.size(), 2U);
  std::int64_t operators = 0;
  for (const auto& stage : step->stages) {
    operators += stage.count;
    EXPECT_EQ(stage.operators.front(), '%');
    EXPECT_EQ(stage.micro_batch, kBatch / 4);
  }
  EXPECT_EQ(operators, 9);
  std::vector<std::int64_t> forward(step->stages.size());  // samples of each stage
  for (std::size_t p = 0; p < step->ranks.size(); ++p) {
    ASSERT_EQ(step->ranks[p].size(), times->stages.ranks[p].size());
    double simulated = 0;
    for (const pipeline::TimedStep::Pass& pass : step->ranks[p]) {
      EXPECT_LE(simulated, pass.simulated_begin);
      EXPECT_LE(pass.simulated_begin, pass.simulated_end);  // what has no parameters has no gradient of them
      simulated = pass.simulated_end;
      if (pass.kind == pipeline::ActionKind::kForward) forward[pass.stage] += kBatch / 4;
    }
  }
  for (const std::int64_t samples : forward) EXPECT_EQ(samples, kBatch);
  EXPECT_GT(step->ratio(), 0);
  times->stages.expected.clear();
  EXPECT_FALSE(timed_step_of(*times).has_value()) << "nothing was expected of it";
}

// With a known link speed, only ranks that gain are used.
TEST(PipelineBackend, CountsLinksThatAreKnown) {
  const auto model = derived(kBranches);
  const auto is_cut = [&](const pipeline::Link& link) {
    const PipelineBackend pipelines(program::cpu_backend(), PipelineOptions{.ranks = 2, .link = link});
    const auto made = compiled(model, pipelines, kBatch, 4);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made.ok() && made->describe().find(" edge+") != std::string::npos;
  };
  EXPECT_TRUE(is_cut({0, 0}));
  EXPECT_TRUE(is_cut({1e-9, 1e13}));
  EXPECT_FALSE(is_cut({0.1, 1e9}));
  EXPECT_FALSE(is_cut({1e-9, 1e3}));
}

TEST(PipelineBackend, RanksCommunicateThroughRankZero) {
  const pipeline::Devices devices = star_devices(3, {2e-5, 1e9});
  const pipeline::Link near{2e-5, 1e9}, far{4e-5, 5e8};
  EXPECT_EQ(devices.links,
            (std::vector<std::vector<pipeline::Link>>{{near, near, near}, {near, far, far}, {near, far, far}}));
  EXPECT_TRUE(pipeline::check(devices).ok());
}

// As in studies: data order, short last batches, measurements; stopped at any step, and resumed with any number.
TEST(PipelineBackend, ResumesTrialsWithAnyNumberOfThreads) {
  const program::Backend& cpu = program::cpu_backend();
  const PipelineBackend two(cpu, 2), four(cpu, 4);
  const auto trial = [&](const std::vector<const program::Backend*>& backends, int stop_every) {
    train::TrainerInput input;
    input.trial = TrialId{1};
    input.model = *graph::parse(kBranches);
    input.recipe.loss = "cross_entropy";
    input.recipe.optimizer = "adam";
    input.recipe.schedule = "cosine";
    input.recipe.precision = "float32";
    input.recipe.epochs = 2;
    input.recipe.batch = kBatch;
    input.recipe.accumulate = 4;
    input.recipe.lr = 0.005;
    input.recipe.beta1 = 0.9;
    input.recipe.beta2 = 0.999;
    input.recipe.eps = 1e-8;
    input.trial_seed = 7;
    input.data_seed = 5;
    input.data = &train::digits();
    input.step_ops = &train::ops();
    std::size_t turn = 0;
    const auto begin = [&] {
      input.backend = backends[turn++ % backends.size()];
      auto made = train::Trainer::create(input);
      EXPECT_TRUE(made.ok()) << made.error().text();
      return *std::move(made);
    };
    train::Trainer trainer = begin();
    for (int step = 1; trainer.epochs_done() < 2; ++step) {
      trainer.step();
      if (step % stop_every != 0) continue;
      const train::TrainerState state = trainer.save();
      trainer = begin();
      const auto restored = trainer.restore(state);
      EXPECT_TRUE(restored.ok()) << restored.error().text();
    }
    return trainer.save();
  };
  const train::TrainerState wanted = trial({&cpu}, 1000);
  for (const auto& backends : {std::vector<const program::Backend*>{&two}, {&two, &cpu, &four}}) {
    const train::TrainerState seen = trial(backends, 5);
    EXPECT_TRUE(seen.tensors == wanted.tensors && seen.facts == wanted.facts) << backends.size();
  }
}

TEST(PipelineBackend, LeavesBatchNormToOneThread) {
  const program::Backend& cpu = program::cpu_backend();
  const auto model = derived(kNormalised);
  const PipelineBackend two(cpu, 2);
  EXPECT_TRUE(trained(model, {&two}, 4) == trained(model, {&cpu}, 4));
}

TEST(PipelineBackend, RefusesMicroBatchesOfDifferentSizes) {
  const PipelineBackend two(program::cpu_backend(), 2);
  const auto model = derived(kBranches);
  const auto made = compiled(model, two, 30, 4);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  EXPECT_NE(made.error().message.find("a batch of 30 cannot be divided into 4"), std::string::npos)
      << made.error().message;
  const auto other = compiled(model, two, kBatch, 4, 2);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);
}

// A chain with values that exceed the memory of one rank, but not that of several.
TEST(PipelineBackend, TrainsOnRanksWhatDoesNotFitOnOne) {
  std::string text = "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=16, kernel=[3], padding=[1])\n";
  int last = 1;
  for (; last < 17; ++last) {
    text += "%" + std::to_string(last + 1) + (last % 2 == 0 ? " = tanh(%" : " = silu(%") + std::to_string(last) + ")\n";
  }
  text += "%18 = flatten(%17)\n%19 = linear(%18, out=10)\n%20 = output(%19)\n";
  const auto model = derived(text.c_str());
  const program::Backend& cpu = program::cpu_backend();
  const Trained wanted = trained(model, {&cpu}, 1);
  const std::int64_t whole = compiled(model, cpu, kBatch, 1)->bytes();
  const std::int64_t max_bytes = whole * 2 / 3;

  MemoryBudget budget(max_bytes);
  const PipelineBackend one(cpu, 1);
  program::ProgramOptions options{.max_batch = kBatch};
  options.backend = &one;
  options.budget = &budget;
  const auto refused = program::Program::compile(model.train, model.infer, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  const std::string& message = refused.error().message;
  const std::string before = "the planner finds that ";
  ASSERT_NE(message.find(before), std::string::npos) << message;
  const std::int64_t ranks = std::stoll(message.substr(message.find(before) + before.size()));
  EXPECT_GE(ranks, 2);

  const PipelineBackend some(cpu, PipelineOptions{.ranks = ranks, .rank_bytes = max_bytes});
  EXPECT_TRUE(trained(model, {&some}, 1) == wanted);
  const PipelineBackend fewer(cpu, PipelineOptions{.ranks = 2, .rank_bytes = max_bytes / 4});
  const auto small = compiled(model, fewer, kBatch, 1);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, Code::kResourceExhausted) << small.error().text();
}

TEST(PipelineBackend, RefusesPlansOfOtherModelsAndDevices) {
  const auto model = derived(kBranches);
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  auto planned = planned_step(model.train, ops, kBatch, 4);
  ASSERT_TRUE(planned.ok());
  const pipeline::Problem problem{planned->model, single_devices(2, 1e-6)};
  auto chosen = chosen_plan(problem, 16);
  ASSERT_TRUE(chosen.ok()) << chosen.error().text();
  ASSERT_TRUE(executable_stages(chosen->plan, chosen->schedule, problem, planned->nodes).ok());

  pipeline::PipelinePlan other = chosen->plan;
  other.model = Hasher().text("another").finish();
  const auto refused = executable_stages(other, chosen->schedule, problem, planned->nodes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition) << refused.error().text();

  pipeline::Schedule endless = chosen->schedule;
  std::ranges::reverse(endless.ranks.front().actions);
  EXPECT_FALSE(executable_stages(chosen->plan, endless, problem, planned->nodes).ok());

  pipeline::PipelinePlan shared{planned->model.hash, kBatch, {}};
  shared.stages.push_back({.operators = {}, .micro_batch = 16, .devices = {0, 1}, .in_flight = 16, .successors = {}});
  for (std::uint32_t i = 0; i < planned->nodes.size(); ++i) shared.stages[0].operators.push_back(i);
  pipeline::Problem equal{planned->model, pipeline::equal_devices(2, 1e18, {1e-6, 1e10})};
  const auto replicas = executable_stages(shared, pipeline::kfkb(shared, equal), equal, planned->nodes);
  ASSERT_FALSE(replicas.ok());
  EXPECT_EQ(replicas.error().code, Code::kUnimplemented) << replicas.error().text();
}

}  // namespace
}  // namespace lanista::runtime
