// Shared memory of a data-parallel session that another process overwrites, or that another user has created.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/exec/train/data_parallel_region.h"
#include "lanista/exec/train/data_parallel_rounds.h"
#include "support/exec/train/data_parallel_test_support.h"

namespace lanista::train {
namespace {

namespace fs = std::filesystem;
using namespace data_parallel;

constexpr int kMaxGuardPolls = 200;  // for a helper: 0.1 seconds

TrainerInput small_trial() {
  TrainerInput input = data_parallel_trial(2, "relu");
  input.model =
      *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
  input.recipe.batch = 16;
  input.recipe.epochs = 3;
  input.recipe.steps_per_epoch = 6;
  return input;
}

/// Leads a trial to its end; `hook` runs after every step, with the session's file or null.
TrainedWithHelpers train_as_guarded_leader(const TrainerInput& input, const std::string& path,
                                           const std::function<void(std::int64_t)>& hook) {
  const kernels::FlushToZero as_workers;
  auto group = *LaneGroup::create(input, 1);
  auto run = *TrialRun::create(input);
  EXPECT_TRUE(group.admit(run).ok());
  std::optional<DataParallelLeader> session;
  if (!path.empty()) session.emplace(path);
  TrainedWithHelpers out;
  TrialRun* const one = &run;
  std::int64_t steps = 0;
  int polls = kMaxGuardPolls;
  while (run.progress().epochs_done() < input.recipe.epochs) {
    program::ShardCommunicator* peers = nullptr;
    if (session) {
      const auto state = [&]() -> Result<std::string> {
        TrainerState now = run.save();
        return formats::encode_safetensors({std::move(now.tensors), std::move(now.facts)});
      };
      for (int poll = 0; peers == nullptr && poll < polls; ++poll) {
        auto begun = session->begin(group.program(), state);
        if (begun) peers = *begun;
        if (peers == nullptr) ::usleep(500);
      }
      if (peers == nullptr) polls = 1;
    }
    out.helped += peers != nullptr ? 1 : 0;
    for (StepResult end; !end.epoch_ended;) {
      group.advance({&one, 1}, 1, {&end, 1}, peers);
      EXPECT_EQ(end.failure, "");
      hook(steps++);
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

/// Every word of the header that has a meaning.
std::vector<std::size_t> header_words() {
  std::vector<std::size_t> words;
  const auto add = [&](std::size_t begin, std::size_t bytes) {
    for (std::size_t at = begin; at < begin + bytes; at += 4) words.push_back(at);
  };
  add(offsetof(Header, epoch), 8);
  add(offsetof(Header, terms), sizeof(EpochTerms));
  for (std::size_t i = 0; i < 3; ++i) {
    add(offsetof(Header, slots) + i * sizeof(ProcessSlot), 4);
    add(offsetof(Header, rank_progress) + i * sizeof(RankProgress), 8);
  }
  return words;
}

/// A session's file as another process of this user maps it.
class FileCorrupter {
 public:
  explicit FileCorrupter(const std::string& path) : path_(path) {}
  void write(std::size_t at, std::uint32_t value) {
    if (!region_) {
      auto opened = SharedRegion::open(session_folder(), path_.substr(path_.rfind('/') + 1));
      if (!opened || !(*opened)->map(static_cast<std::int64_t>(sizeof(Header)))) return;
      region_ = *std::move(opened);
    }
    reinterpret_cast<SharedWord*>(region_->at(static_cast<std::int64_t>(at)))->store(value);
  }

 private:
  std::string path_;
  std::unique_ptr<SharedRegion> region_;
};

std::vector<std::uint32_t> wrong_values(Rng& rng) {
  return {0, 1, std::numeric_limits<std::uint32_t>::max(), 0x7fffffff, static_cast<std::uint32_t>(rng.next())};
}

/// Trains with one helper while `corrupt` works on the file. `constantly`: in a thread, else after the step of that
/// number.
TrainedWithHelpers train_with_corruption(const TrainerInput& input, const std::function<void(FileCorrupter&)>& corrupt,
                                         std::int64_t step) {
  const std::string path = new_session_path();
  std::atomic<bool> over = false;
  std::jthread helper([&] {
    train_as_helper(
        input, path, [&] { return over.load(); }, 1'000'000, [] {});
  });
  std::jthread constantly;
  FileCorrupter corrupter(path);
  if (step < 0) {
    constantly = std::jthread([&] {
      while (!over) {
        corrupt(corrupter);
        ::usleep(20);
      }
    });
  }
  const auto began = std::chrono::steady_clock::now();
  TrainedWithHelpers out = train_as_guarded_leader(input, path, [&](std::int64_t done) {
    if (done == step) corrupt(corrupter);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(300));
  over = true;
  return out;
}

TEST(DataParallelGuard, GivesBitsOfTheTrialAloneWithCorruptWords) {
  const TrainerInput input = small_trial();
  const TrainedWithHelpers alone = train_as_guarded_leader(input, "", [](std::int64_t) {});
  Rng rng(41);
  std::int64_t helped = 0, failed = 0;
  for (const std::size_t at : header_words()) {
    for (const std::uint32_t value : wrong_values(rng)) {
      for (const std::int64_t step : {-1, static_cast<int>(rng.between(0, 14))}) {
        const TrainedWithHelpers seen = train_with_corruption(
            input, [&](FileCorrupter& corrupter) { corrupter.write(at, value); }, step);
        helped += seen.helped;
        failed += seen.failed;
        expect_equal(seen.state, alone.state,
                     "word " + std::to_string(at) + " = " + std::to_string(value) + " after " + std::to_string(step));
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(helped, 100);
  EXPECT_GT(failed, 10);
}

// A stamp that another process writes early looks valid, so only the progress of the rank is early here.
TEST(DataParallelGuard, IgnoresRoundsThatAreTooEarly) {
  const TrainerInput input = small_trial();
  const TrainedWithHelpers alone = train_as_guarded_leader(input, "", [](std::int64_t) {});
  for (std::uint32_t round = 1; round <= 12; ++round) {
    const auto corrupt = [&](FileCorrupter& corrupter) {
      for (std::size_t rank = 0; rank < 2; ++rank) {
        corrupter.write(offsetof(Header, rank_progress) + rank * sizeof(RankProgress), round);
      }
    };
    expect_equal(train_with_corruption(input, corrupt, -1).state, alone.state, "round " + std::to_string(round));
  }
}

TEST(DataParallelGuard, ChecksTermsDespiteAValidChecksum) {
  const TrainerInput input = small_trial();
  const auto group = *LaneGroup::create(input, 1);
  const program::Program& program = group.program();
  const auto seen = [&](const std::function<void(EpochTerms&)>& corrupt) {
    EpochTerms terms;
    terms.width = 2;
    terms.send_buffer_bytes = send_buffer_bytes(program);
    terms.state_bytes = 1000;
    terms.slots[1] = 3;
    terms.epoch = 5;
    corrupt(terms);
    terms.checksum = terms.compute_checksum();
    return check_terms(terms, program, 3, 5);
  };
  ASSERT_TRUE(seen([](EpochTerms&) {}).ok());
  EXPECT_EQ(*seen([](EpochTerms&) {}), 1);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t wrong :
       {kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, kMost}) {
    EXPECT_FALSE(seen([&](EpochTerms& terms) { terms.width = wrong; }).ok()) << wrong;
    EXPECT_FALSE(seen([&](EpochTerms& terms) { terms.send_buffer_bytes = wrong; }).ok()) << wrong;
    EXPECT_EQ(seen([&](EpochTerms& terms) { terms.state_bytes = wrong; }).ok(), wrong >= 0 && wrong <= 3) << wrong;
    EXPECT_FALSE(seen([&](EpochTerms& terms) { terms.epoch = static_cast<std::uint64_t>(wrong); }).ok()) << wrong;
  }
  for (const std::uint32_t wrong : {0U, 1U, 2U, 8U, 4'294'967'295U}) {
    EXPECT_FALSE(seen([&](EpochTerms& terms) { terms.slots[1] = wrong; }).ok()) << wrong;
  }
  EXPECT_FALSE(seen([](EpochTerms& terms) { terms.slots[0] = 3; }).ok());
  const auto wider = [](EpochTerms& terms) { terms.width = 3, terms.slots[2] = 4; };  // than the program's two shards
  EXPECT_EQ(seen(wider).error().message, "epoch 5 of a data-parallel trial has the width 3; allowed: 2 to 2");
  EpochTerms unsigned_terms;
  EXPECT_NE(check_terms(unsigned_terms, program, 3, 0).error().message.find("do not match their checksum"),
            std::string::npos);
}

TEST(DataParallelGuard, RefusesForeignFilesAtOnce) {
  const TrainerInput input = small_trial();
  const std::string folder = session_folder().path();
  const auto code = [&](const std::string& path) {
    const auto slot = DataParallelHelper::join(path);
    return slot ? Code::kInternal : slot.error().code;
  };
  const std::string outside = new_session_path(), link = new_session_path(), fifo = new_session_path(),
                    open_mode = new_session_path(), hard = new_session_path(), small = new_session_path();
  const auto file = [](const std::string& path, mode_t mode, off_t bytes) {
    const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_TRUE(made >= 0 && ::ftruncate(made, bytes) == 0 && ::fchmod(made, mode) == 0);
    ::close(made);
  };
  file(outside, 0600, 1 << 16);
  fs::create_symlink(outside, link);
  EXPECT_EQ(code(link), Code::kFailedPrecondition);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(code(fifo), Code::kFailedPrecondition);
  file(open_mode, 0666, 1 << 16);
  EXPECT_EQ(code(open_mode), Code::kFailedPrecondition);
  fs::create_hard_link(outside, hard);
  EXPECT_EQ(code(hard), Code::kFailedPrecondition);
  file(small, 0600, 100);
  EXPECT_EQ(code(small), Code::kDataLoss);
  EXPECT_EQ(code("/dev/shm/lanista-without-owner"), Code::kFailedPrecondition);  // the folder is not private
  if (::geteuid() == 0) {
    const std::string foreign = new_session_path();
    file(foreign, 0600, 1 << 16);
    ASSERT_EQ(::chown(foreign.c_str(), 54321, 54321), 0);
    EXPECT_EQ(code(foreign), Code::kFailedPrecondition);
  }

  // A leader replaces a foreign link and never writes to its target.
  const auto group = *LaneGroup::create(input, 1);
  const auto state = []() -> Result<std::string> { return std::string(); };
  fs::create_symlink(outside, link + ".new");
  DataParallelLeader blocked(link);
  EXPECT_FALSE(blocked.begin(group.program(), state).ok());
  fs::remove(link + ".new");
  DataParallelLeader train_as_leader(link);
  EXPECT_TRUE(train_as_leader.begin(group.program(), state).ok());
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_EQ(fs::file_size(outside), std::uintmax_t{1} << 16);
  EXPECT_FALSE(DataParallelLeader("/dev/shm/lanista-without-owner").begin(group.program(), state).ok());
  EXPECT_FALSE(DataParallelLeader("lanista-without-folder").begin(group.program(), state).ok());
}

/// Sets the stamp of rank 1 for a round, as that rank does before it stores its progress.
void send_round(const SharedRegion& region, const EpochTerms& terms, std::uint32_t round) {
  const std::int64_t buffer = 2 + (round + 1) % 2;  // rank 1 has the third and the fourth send buffer
  std::byte* const end = region.at(terms.send_buffers_offset() + (buffer + 1) * terms.send_buffer_bytes);
  reinterpret_cast<RoundStamp*>(end - kStampBytes)->store(terms.epoch << 32 | round);
}

TEST(DataParallelGuard, RankThatPausesAfterItsStampIsNotLost) {
  const auto region = *SharedRegion::create(session_folder(), "paused");
  const auto peer = *SharedRegion::open(session_folder(), "paused");
  EpochTerms terms;
  terms.width = 2;
  terms.send_buffer_bytes = 256;
  terms.epoch = 1;
  terms.slots[1] = 1;
  ASSERT_TRUE(region->grow(terms.bytes()).ok());
  ASSERT_TRUE(peer->map(terms.bytes()).ok());
  ASSERT_TRUE(region->lock(0) && peer->lock(1));
  Header& header = region->header();
  header.epoch = 1;
  for (std::size_t slot = 0; slot < 2; ++slot) header.slots[slot].status = joined_status(1);
  RankRounds rounds(*region, terms, 0);
  rounds.clear_stamps();
  send_round(*peer, terms, 1);  // and it pauses before it stores that its round 1 has ended
  rounds.all_gather();
  std::jthread other([&] {
    ::usleep(50'000);  // longer than the sleeps between two checks of the other rank
    WaitableWord& progress = peer->header().rank_progress[1].round;
    progress.value.store(1);
    send_round(*peer, terms, 2);
    progress.value.store(2);
    progress.wake_waiters();
  });
  EXPECT_NO_THROW(rounds.all_gather());
  other.join();
  session_folder().remove_file("paused");
}

}  // namespace
}  // namespace lanista::train
