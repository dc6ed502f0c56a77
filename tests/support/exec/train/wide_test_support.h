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
#include "lanista/io/formats/safetensors.h"
#include "lanista/model/graph/text.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/wide_session.h"

// A small trial, its leader and its helpers, for tests of wide sessions.
namespace lanista::train {

inline constexpr std::int64_t kWideEpochs = 6;
inline constexpr int kLooksForHelpers = 40'000;  // for a helper: 20 seconds

inline const data::Dataset& wide_digits() {
  static const data::Dataset set = *data::open({}, ".", real_file_system());
  return set;
}
inline const graph::OpTable& wide_ops() {
  static const graph::OpTable table = step::training_ops(graph::builtin_ops());
  return table;
}

inline TrainerInput wide_trial(std::int64_t shards, const std::string& middle) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "adam";
  recipe.schedule = "cosine";
  recipe.precision = "float32";
  recipe.epochs = kWideEpochs;
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
      .data = &wide_digits(),
      .step_ops = &wide_ops()};
}

struct Trained {
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
inline std::string path_of_session() {
  static std::atomic<int> number = 0;
  return session_folder().path() + "/" + std::to_string(number++);
}

// As a worker leads, but until helpers have failed it waits for one at every epoch: helpers for an epoch, alone after
// they failed. `before` is called before each epoch.
inline Trained lead(const TrainerInput& input, const std::string& path,
                    const std::function<void(std::int64_t)>& before) {
  const kernels::FlushToZero as_workers;
  auto group = *LaneGroup::create(input, 1);
  auto run = *TrialRun::create(input);
  EXPECT_TRUE(group.admit(run).ok());
  std::optional<WideLead> session;
  if (!path.empty()) session.emplace(path);
  Trained out;
  TrialRun* const one = &run;
  while (run.epochs_done() < kWideEpochs) {
    before(run.epochs_done());
    nn::ShardPeers* peers = nullptr;
    if (session) {
      const auto state = [&]() -> Result<std::string> {
        TrainerState now = run.save();
        return formats::encode_safetensors({std::move(now.tensors), std::move(now.facts)});
      };
      for (int look = 0; peers == nullptr && look < (out.failed == 0 ? kLooksForHelpers : 1); ++look) {
        auto begun = session->begin(group.program(), state);
        EXPECT_TRUE(begun.ok());
        peers = *begun;
        if (peers == nullptr) ::usleep(500);
      }
    }
    out.helped += peers != nullptr ? 1 : 0;
    for (StepEnd end; !end.epoch_ended;) {
      group.advance({&one, 1}, 3, {&end, 1}, peers);
      EXPECT_EQ(end.failure, "");
      if (peers == nullptr || !session->lost()) continue;
      session->end(false);
      peers = nullptr;
      ++out.failed;
    }
    if (peers != nullptr) session->end(true);
  }
  out.state = run.save();
  return out;
}

// Helps until `leaves`, for at most so many steps: then `last` is called.
inline void help(TrainerInput input, const std::string& path, const std::function<bool()>& leaves, std::int64_t steps,
                 const std::function<void()>& last) {
  const kernels::FlushToZero as_workers;
  auto group = *LaneGroup::create(input, 1);
  auto run = *TrialRun::create(input);
  while (!leaves()) {
    auto seat = WideSeat::sit(path);
    if (!seat) {
      ::usleep(200);
      continue;
    }
    while (true) {
      const auto begun = (*seat)->wait(group.program(), leaves);
      if (!begun || !*begun) break;
      auto file = formats::decode_safetensors(**begun);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE(run.restore({std::move(file->tensors), std::move(file->metadata)}).ok());
      ASSERT_TRUE(group.admit(run).ok());
      for (StepEnd end; !end.epoch_ended && !(*seat)->lost();) {
        if (steps-- == 0) return last();
        end = group.follow(run, 1, (*seat)->peers());
      }
      if ((*seat)->lost()) break;
    }
  }
}

inline void expect_equal(const TrainerState& a, const TrainerState& b, const std::string& what) {
  EXPECT_TRUE(a.tensors == b.tensors) << what;
  EXPECT_TRUE(a.facts == b.facts) << what;
}

}  // namespace lanista::train
