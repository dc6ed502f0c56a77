#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "lanista/exec/backends/cuda_blocks/block_backend.h"
#include "lanista/exec/backends/device.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "support/exec/backends/all_cases.h"
#include "support/exec/program/test_models.h"

// Support for tests that compare the block backend with the CPU.
namespace lanista::device::testing {

using namespace program::testing;
using program::Batch;
using program::Chunk;
using program::LaneHyper;
using program::LaneResult;
using program::StepInput;

inline constexpr std::int64_t kMaxBatch = 8;

inline bool is_supported(const Derived& derived, const program::Backend& backend) {
  return program::Program::compile(derived.train, derived.infer, {.max_batch = kMaxBatch, .backend = &backend}).ok();
}

inline const program::Backend& host() {
  const auto backend = block_backend("host");
  EXPECT_TRUE(backend.ok()) << backend.error().message;
  return **backend;
}

// Expects equal bytes, except that any NaN equals any NaN: signs and payloads of NaN are not guaranteed.
inline void expect_same_states(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted,
                               const std::string& what) {
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

struct TrainingRun {
  std::vector<LaneResult> ends;
  std::vector<std::vector<Tensor>> states;
};

// Trains fresh lanes, each with its own rates, in chunks with random batches by step, and by lane unless shared.
inline TrainingRun train(const Derived& derived, const program::Backend& backend, std::int64_t lanes,
                         std::int64_t steps, const std::vector<LaneHyper>& recipe, bool shared = true,
                         std::int64_t most = kMaxBatch) {
  auto program =
      program::Program::compile(derived.train, derived.infer, {.lanes = lanes, .max_batch = most, .backend = &backend});
  EXPECT_TRUE(program.ok()) << program.error().message;
  TrainingRun trained;
  if (!program) return trained;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    EXPECT_TRUE(program->begin(lane, 7 + static_cast<std::uint64_t>(lane)));
  std::vector<LaneHyper> hyper;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    hyper.push_back(recipe[static_cast<std::size_t>(lane) % recipe.size()]);
    hyper.back().lr *= 1 + 0.1 * static_cast<double>(lane);
  }
  const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
  trained.ends.resize(active.size());
  std::vector<OwnedBatch> owned;
  std::vector<Batch> batches;
  const auto step_input = [&](std::int64_t step) {
    owned.clear();
    batches.clear();
    for (std::int64_t lane = 0; lane < (shared ? 1 : lanes); ++lane) {
      // Some batches are short.
      const std::int64_t size = (step + lane) % 5 == 3 ? std::max<std::int64_t>(1, most - 3) : most;
      owned.push_back(random_batch(derived, size, static_cast<std::uint64_t>(100 * step + lane)));
    }
    for (const OwnedBatch& each : owned) batches.push_back(each.view());
    return StepInput{batches, hyper};
  };
  program->run({.steps = steps, .active = active, .step_input = step_input}, trained.ends);
  for (std::int64_t lane = 0; lane < lanes; ++lane) trained.states.push_back(program->extract(lane));
  return trained;
}

inline void expect_equal_results(const TrainingRun& got, const TrainingRun& wanted, const std::string& what) {
  ASSERT_EQ(got.ends.size(), wanted.ends.size());
  for (std::size_t i = 0; i < got.ends.size(); ++i) {
    const std::string lane = what + ", lane " + std::to_string(i);
    EXPECT_FALSE(got.ends[i].failure) << lane;
    EXPECT_EQ(got.ends[i].steps, wanted.ends[i].steps) << lane;
    EXPECT_EQ(got.ends[i].first_nonfinite_step, wanted.ends[i].first_nonfinite_step) << lane;
    if (!std::isnan(wanted.ends[i].loss_sum)) {
      EXPECT_EQ(got.ends[i].loss, wanted.ends[i].loss) << lane;
      EXPECT_EQ(got.ends[i].loss_sum, wanted.ends[i].loss_sum) << lane;
    }
    expect_same_states(got.states[i], wanted.states[i], lane);
  }
}

inline std::vector<LaneHyper> recipes() {
  return {{.lr = 0.05, .momentum = 0.9},
          {.lr = 0.1, .weight_decay = 0.01, .label_smoothing = 0.1},
          {.lr = 0.05, .momentum = 0.8, .weight_decay = 0.02, .clip_norm = 0.3, .nesterov = true}};
}

// The block backend of a GPU, or null and the reason. LANISTA_BLOCK_DEVICE selects another device, as
// "block:cuda:0/512x2".
inline const program::Backend* cuda(std::string& why) {
  const char* const asked = std::getenv("LANISTA_BLOCK_DEVICE");
  const auto backend = open(asked != nullptr ? asked : "block:cuda:0");
  if (backend.ok()) return *backend;
  why = backend.error().message;
  return nullptr;
}

}  // namespace lanista::device::testing
