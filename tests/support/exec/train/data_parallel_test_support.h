#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/private_folder.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/data_parallel_session.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"

// A small trial, its leader and its helpers, for tests of wide sessions.
namespace lanista::train {

inline constexpr std::int64_t kNumEpochs = 6;
inline constexpr int kMaxHelperPolls = 40'000;  // for a helper: 20 seconds

inline const data::Dataset& shared_digits() {
  static const data::Dataset set = *data::open({}, ".", real_file_system());
  return set;
}
inline const graph::OpTable& shared_ops() {
  static const graph::OpTable table = autodiff::training_ops(graph::builtin_ops());
  return table;
}

inline TrainerInput data_parallel_trial(std::int64_t shards, const std::string& middle) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "adam";
  recipe.schedule = "cosine";
  recipe.precision = "float32";
  recipe.epochs = kNumEpochs;
  recipe.batch = 200;  // seven steps an epoch, the last one short
  recipe.lr = 0.01;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.999;
  recipe.eps = 1e-8;
  recipe.shards = shards;
  return {
      .trial = TrialId{1},
      .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=6, kernel=[3,3], padding=[1,1])\n%2 = " +
                             middle + "(%1)\n%3 = flatten(%2)\n%4 = linear(%3, out=10)\n%5 = output(%4)\n"),
      .recipe = recipe,
      .metrics = {},
      .trial_seed = 4,
      .data_seed = 5,
      .data = &shared_digits(),
      .step_ops = &shared_ops()};
}

struct TrainedWithHelpers {
  TrainerState state;
  std::int64_t helped = 0;  ///< epochs
  std::int64_t failed = 0;  ///< of them
};

// Private folder in shared memory, which goes with the process of the test.
class SessionFolder {
 public:
  ~SessionFolder() { std::filesystem::remove_all(folder_.path()); }
  const PrivateFolder& get() const { return folder_; }

 private:
  PrivateFolder folder_ = *PrivateFolder::create("/dev/shm/lanista-test-" + std::to_string(::getpid()) + "-");
};
inline const PrivateFolder& session_folder() {
  static const SessionFolder folder;
  return folder.get();
}
inline std::string new_session_path() {
  static std::atomic<int> number = 0;
  return session_folder().path() + "/" + std::to_string(number++);
}

// As a worker leads, but until helpers have failed it waits for one at every epoch: helpers for an epoch, alone after
// they failed. `before` is called before each epoch.
inline TrainedWithHelpers train_as_leader(const TrainerInput& input, const std::string& path,
                                          const std::function<void(std::int64_t)>& before) {
  const kernels::FlushToZero as_workers;
  auto group = *LaneGroup::create(input, 1);
  auto run = *TrialRun::create(input);
  EXPECT_TRUE(group.admit(run).ok());
  std::optional<DataParallelLeader> session;
  if (!path.empty()) session.emplace(path);
  TrainedWithHelpers out;
  TrialRun* const one = &run;
  while (run.progress().epochs_done() < kNumEpochs) {
    before(run.progress().epochs_done());
    program::ShardCommunicator* peers = nullptr;
    if (session) {
      const auto state = [&]() -> Result<std::string> {
        TrainerState now = run.save();
        return formats::encode_safetensors({std::move(now.tensors), std::move(now.facts)});
      };
      for (int poll = 0; peers == nullptr && poll < (out.failed == 0 ? kMaxHelperPolls : 1); ++poll) {
        auto begun = session->begin(group.program(), state);
        EXPECT_TRUE(begun.ok());
        peers = *begun;
        if (peers == nullptr) ::usleep(500);
      }
    }
    out.helped += peers != nullptr ? 1 : 0;
    for (StepResult end; !end.epoch_ended;) {
      group.advance({&one, 1}, 3, {&end, 1}, peers);
      EXPECT_EQ(end.failure, "");
      if (peers == nullptr || !session->has_lost_peer()) continue;
      session->end(false);
      peers = nullptr;
      ++out.failed;
    }
    if (peers != nullptr) session->end(true);
  }
  out.state = run.save();
  return out;
}

// Helps until `should_stop`, for at most so many steps: then `last` is called.
inline void train_as_helper(TrainerInput input, const std::string& path, const std::function<bool()>& should_stop,
                            std::int64_t steps, const std::function<void()>& last) {
  const kernels::FlushToZero as_workers;
  auto group = *LaneGroup::create(input, 1);
  auto run = *TrialRun::create(input);
  while (!should_stop()) {
    auto slot = DataParallelHelper::join(path);
    if (!slot) {
      ::usleep(200);
      continue;
    }
    while (true) {
      const auto begun = (*slot)->wait(group.program(), should_stop);
      if (!begun || !*begun) break;
      auto file = formats::decode_safetensors(**begun);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(run.restore({std::move(file->tensors), std::move(file->metadata)}).ok());
      ASSERT_TRUE(group.admit(run).ok());
      for (StepResult end; !end.epoch_ended && !(*slot)->has_lost_peer();) {
        if (steps-- == 0) return last();
        end = group.train_as_helper(run, 1, (*slot)->peers());
      }
      if ((*slot)->has_lost_peer()) break;
    }
  }
}

inline void expect_equal(const TrainerState& a, const TrainerState& b, const std::string& what) {
  EXPECT_TRUE(a.tensors == b.tensors) << what;
  EXPECT_TRUE(a.facts == b.facts) << what;
}

}  // namespace lanista::train
