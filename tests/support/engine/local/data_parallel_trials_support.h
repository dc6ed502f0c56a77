#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <variant>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/text.h"

// Data-parallel trials, and an executor that trains them to their end.
namespace lanista::runtime {

inline constexpr std::int64_t kTrialEpochs = 30, kLongTrialEpochs = 300;

inline engine::Job data_parallel_job(std::uint32_t id, std::int64_t shards, std::int64_t epochs = kTrialEpochs) {
  engine::Job job;
  job.trial = TrialId{id};
  job.model = *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=8, kernel=[3,3], padding=[1,1])\n%2 = batch_norm(%1)\n"
      "%3 = relu(%2)\n%4 = flatten(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n");
  job.recipe.loss = "cross_entropy";
  job.recipe.optimizer = "adam";
  job.recipe.schedule = "cosine";
  job.recipe.precision = "float32";
  job.recipe.epochs = epochs;
  job.recipe.batch = 128;
  job.recipe.lr = 0.001 * id;
  job.recipe.beta1 = 0.9;
  job.recipe.beta2 = 0.999;
  job.recipe.eps = 1e-8;
  job.recipe.shards = shards;
  job.trial_seed = id;
  job.data_seed = 5;
  return job;
}

struct TrainingOutcome {
  std::map<TrialId, Digest> states;
  std::map<TrialId, std::vector<study::Measurement>> measured;
  std::int64_t num_parallel_spans = 0, losses = 0;
};

/// Trains jobs to their end, as the engine would; `between` is called between reports.
inline TrainingOutcome train_all(
    engine::Executor& executor, const std::vector<engine::Job>& jobs,
    const std::function<void(const TrainingOutcome&)>& between = [](const TrainingOutcome&) {}) {
  TrainingOutcome out;
  for (const engine::Job& job : jobs) {
    EXPECT_TRUE(executor.start(job).ok());
    executor.command(engine::Allow{job.trial, job.recipe.epochs});
    executor.command(engine::Finish{job.trial, true, false});
  }
  const RealClock clock;
  const double until = clock.now() + 120;
  while (out.states.size() < jobs.size() && clock.now() < until) {
    between(out);
    const auto report = executor.next(0.005);
    if (!report) continue;
    if (const auto* epoch = std::get_if<engine::EpochReport>(&*report)) {
      out.measured[epoch->measurement.trial].push_back(epoch->measurement);
    }
    if (const auto* end = std::get_if<engine::FinishedReport>(&*report)) out.states[end->trial] = end->state_hash;
    if (const auto* span = std::get_if<engine::SpanReport>(&*report)) out.num_parallel_spans += span->width > 1 ? 1 : 0;
    if (const auto* worker = std::get_if<engine::WorkerReport>(&*report)) out.losses += worker->has_started ? 0 : 1;
    if (const auto* failure = std::get_if<engine::FailureReport>(&*report)) {
      ADD_FAILURE() << failure->reason;
      out.states[failure->trial] = {};
    }
    if (const auto* broken = std::get_if<engine::ExecutorErrorReport>(&*report)) {
      ADD_FAILURE() << broken->error.text();
      break;
    }
  }
  return out;
}

}  // namespace lanista::runtime
