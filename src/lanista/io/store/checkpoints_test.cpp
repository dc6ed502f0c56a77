#include "lanista/io/store/checkpoints.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "support/base/faulty_file_system.h"
#include "support/base/temporary_folder.h"

namespace lanista::store {
namespace {

class Checkpoints : public ::testing::Test {
 protected:
  static Checkpoint sample(int step) {
    Tensor w{.name = "w", .type = ElementType::kF32, .shape = {2}, .bytes = {}};
    w.bytes.resize(8, static_cast<std::byte>(step));
    return {.tensors = {w}, .facts = {{"step", std::to_string(step)}}};
  }

  FileSystem& fs_ = real_file_system();
  TemporaryFolder temporary_{"ckpt"};
  std::string folder_ = temporary_.path();
};

TEST_F(Checkpoints, RoundTripsCheckpoint) {
  CheckpointStore store(fs_, folder_);

  const auto address = store.put(sample(3));

  ASSERT_TRUE(address.ok()) << address.error().message;
  EXPECT_EQ(address->size(), 32U);
  const auto back = store.get(*address);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->tensors, sample(3).tensors);
  EXPECT_EQ(back->facts, sample(3).facts);
  EXPECT_EQ(*store.put(sample(3)), *address);
  EXPECT_NE(*store.put(sample(4)), *address);
}

TEST_F(Checkpoints, StoresSelectedWeightsWithState) {
  CheckpointStore store(fs_, folder_);
  const Checkpoint plain = sample(3);
  Checkpoint keeping = plain;
  keeping.kept = sample(7).tensors;

  const auto address = store.put(keeping);

  ASSERT_TRUE(address.ok());
  EXPECT_NE(*address, *store.put(plain));
  const auto back = store.get(*address);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->tensors, keeping.tensors);
  EXPECT_EQ(back->facts, keeping.facts);
  EXPECT_EQ(back->kept, keeping.kept);
  EXPECT_EQ(selected_weights(*back), keeping.kept);
  EXPECT_EQ(selected_weights(plain), plain.tensors);
}

TEST_F(Checkpoints, SurvivesPowerLossOnceNamed) {
  for (const PowerLoss what : {PowerLoss::kBytes, PowerLoss::kNames, PowerLoss::kSampled}) {
    MemoryFileSystem disk;
    const auto address = CheckpointStore(disk, "/studies/s").put(sample(3));
    ASSERT_TRUE(address);
    disk.simulate_power_loss(what, Rng(5));
    const auto back = CheckpointStore(disk, "/studies/s").get(*address);
    ASSERT_TRUE(back) << back.error().text();
  }
}

TEST_F(Checkpoints, DetectsEveryFlippedByte) {
  CheckpointStore store(fs_, folder_);
  const std::string address = *store.put(sample(3));
  const std::string whole = *fs_.read(store.path(address));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x04);
    std::ofstream(store.path(address), std::ios::binary) << bad;
    const auto result = store.get(address);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kDataLoss);
    EXPECT_EQ(result.error().where, store.path(address));
  }
}

TEST_F(Checkpoints, ReportsWhyCheckpointIsMissing) {
  CheckpointStore store(fs_, folder_);
  EXPECT_EQ(store.get(std::string(32, '0')).error().code, Code::kNotFound);
  for (const std::string address : {"", "../../etc/passwd", "0", "000000000000000000000000000000GG"}) {
    EXPECT_EQ(store.get(address).error().code, Code::kInvalidArgument);
    EXPECT_EQ(store.remove(address).error().code, Code::kInvalidArgument);
  }
}

TEST_F(Checkpoints, RemovesAllExceptListed) {
  CheckpointStore store(fs_, folder_);
  EXPECT_TRUE(store.remove_all_except({}).ok());
  const std::string a = *store.put(sample(1)), b = *store.put(sample(2)), c = *store.put(sample(3));
  ASSERT_TRUE(fs_.write_file(folder_ + "/ckpt/.tmp-7", std::as_bytes(std::span("x"))).ok());
  ASSERT_TRUE(store.remove(c).ok());
  ASSERT_TRUE(store.remove(c).ok());

  ASSERT_TRUE(store.remove_all_except({b}).ok());

  EXPECT_EQ(*fs_.list(folder_ + "/ckpt"), std::vector<std::string>{b + ".safetensors"});
  EXPECT_EQ(store.get(a).error().code, Code::kNotFound);
  EXPECT_TRUE(store.get(b).ok());
}

TEST_F(Checkpoints, RemovesNoFileOfAnotherName) {
  CheckpointStore store(fs_, folder_);
  const std::string a = *store.put(sample(1));
  const std::string ckpt = folder_ + "/ckpt/";
  const std::string address(32, 'a');
  // Files that an interrupted put() leaves, of this build and of earlier ones.
  for (const std::string& name :
       {address + ".safetensors.tmp-0123456789abcdef", std::string(".tmp-12-0123456789abcdef-3")}) {
    ASSERT_TRUE(fs_.write_file(ckpt + name, {}).ok());
  }
  const std::vector<std::string> theirs{".tmp-notes", "id_rsa", "net.safetensors",
                                        std::string(31, 'a') + ".safetensors", address + ".safetensor"};
  for (const std::string& name : theirs) ASSERT_TRUE(fs_.write_file(ckpt + name, {}).ok());
  std::filesystem::create_directory(ckpt + std::string(32, 'b') + ".safetensors");
  std::filesystem::create_symlink("id_rsa", ckpt + std::string(32, 'c') + ".safetensors");

  ASSERT_TRUE(store.remove_all_except({}).ok());

  for (const std::string& name : theirs) EXPECT_TRUE(fs_.exists(ckpt + name)) << name;
  EXPECT_EQ(fs_.list(folder_ + "/ckpt")->size(), theirs.size() + 2);
  EXPECT_EQ(store.get(a).error().code, Code::kNotFound);
}

TEST_F(Checkpoints, RefusesALinkedFolder) {
  std::filesystem::create_directories(folder_ + "-elsewhere");
  std::filesystem::create_directory_symlink(folder_ + "-elsewhere", folder_ + "/ckpt");
  ASSERT_TRUE(fs_.write_file(folder_ + "-elsewhere/" + std::string(32, 'a') + ".safetensors", {}).ok());
  CheckpointStore store(fs_, folder_);
  EXPECT_EQ(store.put(sample(1)).error().where, folder_ + "/ckpt");
  EXPECT_EQ(store.remove_all_except({}).error().where, folder_ + "/ckpt");
  EXPECT_FALSE(store.remove(std::string(32, 'a')).ok());
  EXPECT_EQ(fs_.list(folder_ + "-elsewhere")->size(), 1U);
  std::filesystem::remove_all(folder_ + "-elsewhere");
}

TEST_F(Checkpoints, LeavesNoPartialFileAfterAnyFault) {
  bool done = false;
  for (std::int64_t at = 0; !done; ++at) {
    std::filesystem::remove_all(folder_ + "/ckpt");
    FaultyFileSystem faulty(fs_, {.at = at});
    CheckpointStore store(faulty, folder_);

    const auto address = store.put(sample(1));

    done = address.ok();
    if (!done) {
      EXPECT_EQ(address.error().code, Code::kResourceExhausted);
    }
    CheckpointStore healthy(fs_, folder_);
    const std::string expected = *healthy.put(sample(1));
    EXPECT_TRUE(healthy.get(expected).ok());
    EXPECT_TRUE(healthy.remove_all_except({expected}).ok());
    EXPECT_EQ(fs_.list(folder_ + "/ckpt")->size(), 1U);
    ASSERT_LT(at, 20);
  }
}

TEST_F(Checkpoints, AcceptsPutsFromManyThreads) {
  CheckpointStore store(fs_, folder_);
  std::vector<std::string> addresses(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < addresses.size(); ++t) {
      threads.emplace_back([&, t] {
        // Two threads write the same content again and again.
        for (int i = 0; i < 10; ++i) addresses[t] = store.put(sample(static_cast<int>(t % 2))).ok() ? "ok" : "failed";
      });
    }
  }
  for (const std::string& a : addresses) EXPECT_EQ(a, "ok");
  EXPECT_TRUE(store.get(*store.put(sample(0))).ok());
  EXPECT_EQ(fs_.list(folder_ + "/ckpt")->size(), 2U);
}

// Stores of one process have equal counts, and a forked process equals its parent.
TEST_F(Checkpoints, AcceptsPutsFromManyStores) {
  constexpr int kPuts = 60;
  CheckpointStore inherited(fs_, folder_);
  const auto put_all = [&](CheckpointStore store, std::atomic<int>& failed) {
    for (int i = 0; i < kPuts; ++i) failed += store.put(sample(i)).ok() ? 0 : 1;
  };
  std::atomic<int> failed = 0;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    put_all(inherited, failed);
    ::_exit(failed == 0 ? 0 : 1);
  }
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { put_all(CheckpointStore(fs_, folder_), failed); });
    put_all(inherited, failed);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(fs_.list(folder_ + "/ckpt")->size(), static_cast<std::size_t>(kPuts)) << "no temporary file is left";
  for (int i = 0; i < kPuts; ++i) {
    const auto back = inherited.get(*inherited.put(sample(i)));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->tensors, sample(i).tensors);
  }
}

TEST_F(Checkpoints, TokensAreUniqueAcrossStores) {
  std::set<std::string> words;
  for (int store = 0; store < 50; ++store) {
    CheckpointStore one(fs_, folder_), copy = one;
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(words.insert(one.unique_token()).second);
      EXPECT_TRUE(words.insert(copy.unique_token()).second);
    }
  }
}

}  // namespace
}  // namespace lanista::store
