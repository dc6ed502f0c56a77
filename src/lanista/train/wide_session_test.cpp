// Epochs of a trial that helpers take part in, come to, leave and die in: the bits of the trial alone.
#include "lanista/train/wide_session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/formats/safetensors.h"
#include "lanista/graph/text.h"
#include "lanista/kernels/flush_to_zero.h"
#include "lanista/step/training_step.h"
#include "lanista/train/lane_group.h"

namespace lanista::train {
namespace {

constexpr std::int64_t kWideEpochs = 6;
constexpr int kLooks = 40'000;  // for a helper: 20 seconds

const data::Dataset& wide_digits() {
  static const data::Dataset set = *data::open({}, ".", real_file_system());
  return set;
}
const graph::OpTable& wide_ops() {
  static const graph::OpTable table = step::training_ops(graph::builtin_ops());
  return table;
}

TrainerInput wide_trial(std::int64_t shards, const std::string& middle) {
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
  return {.trial = TrialId{1},
          .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=6, kernel=[3,3], padding=[1,1])\n%2 = " + middle +
                                 "(%1)\n%3 = flatten(%2)\n%4 = linear(%3, out=10)\n%5 = output(%4)\n"),
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

std::string path_of_session() {
  static std::atomic<int> number = 0;
  return "/dev/shm/lanista-test-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
}

// As a worker leads, but until helpers have failed it waits for one at every epoch: helpers for an epoch, alone after they
// failed. `before` is called before each epoch.
Trained lead(const TrainerInput& input, const std::string& path, const std::function<void(std::int64_t)>& before) {
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
      for (int look = 0; peers == nullptr && look < (out.failed == 0 ? kLooks : 1); ++look) {
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
void help(TrainerInput input, const std::string& path, const std::function<bool()>& leaves, std::int64_t steps,
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
    while (auto begun = (*seat)->wait(leaves)) {
      auto file = formats::decode_safetensors(*begun);
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

void expect_equal(const TrainerState& a, const TrainerState& b, const std::string& what) {
  EXPECT_TRUE(a.tensors == b.tensors) << what;
  EXPECT_TRUE(a.facts == b.facts) << what;
}

TEST(WideSession, GivesTheBitsOfTheTrialAlone) {
  for (const char* const middle : {"relu", "batch_norm", "relu that adapts"}) {
    const bool adapts = std::string_view(middle).ends_with("adapts");
    TrainerInput input = wide_trial(4, adapts ? "relu" : middle);
    if (adapts) {  // who helps measures noise and changes the batch as who leads does
      input.model =
          *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
      input.recipe.optimizer = "sgd";
      input.recipe.batch = 4;
      input.recipe.steps_per_epoch = 60;
      input.recipe.tune = {"adaptive", {{"most", 64}, {"rate", "none"}}};
    }
    const Trained alone = lead(input, "", [](std::int64_t) {});
    for (const int helpers : adapts ? std::vector<int>{2} : std::vector<int>{1, 2, 3}) {
      const std::string path = path_of_session();
      std::atomic<bool> over = false;
      Trained together;
      {
        std::vector<std::jthread> threads;
        for (int i = 0; i < helpers; ++i) {
          threads.emplace_back([&] { help(input, path, [&] { return over.load(); }, 1'000'000, [] {}); });
        }
        together = lead(input, path, [](std::int64_t) {});
        over = true;
      }
      EXPECT_EQ(together.helped, kWideEpochs);
      EXPECT_EQ(together.failed, 0);
      expect_equal(together.state, alone.state, middle + std::to_string(helpers));
      EXPECT_EQ(alone.state.facts.at("measurements").find("adapted") != std::string::npos, adapts);
      EXPECT_NE(::access(path.c_str(), F_OK), 0);
    }
  }
}

// A helper goes after some steps: at the first one of an epoch, or in the midst of it.
TEST(WideSession, GoesOnWithoutHelpersThatLeave) {
  const TrainerInput input = wide_trial(2, "batch_norm");
  const Trained alone = lead(input, "", [](std::int64_t) {});
  for (const std::int64_t steps : {0, 1, 6, 7, 8, 13}) {
    const std::string path = path_of_session();
    std::atomic<bool> over = false;
    Trained together;
    {
      const std::jthread helper([&] { help(input, path, [&] { return over.load(); }, steps, [] {}); });
      together = lead(input, path, [](std::int64_t) {});
      over = true;
    }
    EXPECT_EQ(together.failed, 1) << steps;
    expect_equal(together.state, alone.state, std::to_string(steps) + " steps");
  }
}

// Processes that are killed between two steps, at drawn ones: nothing is told, the system alone frees their lock.
TEST(WideSession, GoesOnWithoutHelpersThatDie) {
  const TrainerInput input = wide_trial(2, "relu");
  const Trained alone = lead(input, "", [](std::int64_t) {});
  Rng rng(7);
  for (int death = 0; death < 6; ++death) {
    const std::string path = path_of_session();
    const std::int64_t steps = rng.between(0, 19);
    const pid_t child = ::fork();
    if (child == 0) {
      help(input, path, [] { return ::getppid() == 1; }, steps, [] { ::kill(::getpid(), SIGKILL); });
      ::_exit(0);
    }
    const Trained together = lead(input, path, [](std::int64_t) {});
    ASSERT_GT(child, 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(together.failed, 1) << steps;
    expect_equal(together.state, alone.state, std::to_string(steps) + " steps");
  }
}

TEST(WideSeat, WantsALeader) {
  const auto nobody = WideSeat::sit(path_of_session());
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, Code::kNotFound);
}

// Whoever leads dies while a helper waits for its epoch, or in the midst of one.
TEST(WideSeat, IsFreeAgainWhenTheLeaderDies) {
  for (const std::int64_t epochs : {1, 2, 3}) {
    const TrainerInput input = wide_trial(2, "relu");
    const std::string path = path_of_session();
    const pid_t child = ::fork();
    if (child == 0) {
      lead(input, path, [&](std::int64_t done) {
        if (done == epochs) ::kill(::getpid(), SIGKILL);
      });
      ::_exit(0);
    }
    int status = 0;
    std::atomic<bool> over = false;
    std::jthread watch([&] {
      ::waitpid(child, &status, 0);
      over = true;
    });
    help(input, path, [&] { return over.load(); }, 1'000'000, [] {});
    watch.join();
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(WideSeat::sit(path).ok());
    ::unlink(path.c_str());
  }
}

}  // namespace
}  // namespace lanista::train
