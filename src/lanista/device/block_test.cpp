// Blocks on the host: the bits of the CPU's kernels, whatever the order of threads.
#include <gtest/gtest.h>

#include <cstring>

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

TEST(Block, GivesTheBitsOfTheCpuOverFiftyStepsOfTheEightCases) {
  const kernels::FlushToZero as_workers;
  for (const CaseSteps& each : cases()) {
    // A batch of 8 has the shapes of products of a whole one but for their rows.
    const std::int64_t steps = 50, most = 8;
    expect_twins(train(each.derived, host(), 1, steps, {each.hyper}, true, most),
                 train(each.derived, nn::cpu_backend(), 1, steps, {each.hyper}, true, most), each.name);
  }
}

}  // namespace
}  // namespace lanista::device
