// Tasks that a rank refuses. tests/pipeline_proof.cpp tests valid tasks.
#include "lanista/exec/pipeline_parallel/stage_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "lanista/base/futex.h"
#include "lanista/base/rng.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/pipeline_parallel/shared_memory.h"
#include "lanista/exec/pipeline_parallel/stage_progress.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/ipc/worker_process.h"

namespace lanista::runtime {
namespace {

StageTask good() {
  using Kind = program::StagePass::Kind;
  StageTask task;
  task.model = "%0 = input(shape=[6])\n%1 = linear(%0, out=4)\n%2 = linear(%1, out=5)\n%3 = output(%2)\n";
  task.step = {"cross_entropy", "sgd"};
  task.build = engine::build_fingerprint();
  task.isa = kernels::isa_name(kernels::best_isa());
  task.max_batch = 8;
  task.stages.stages = {{.nodes = {graph::NodeId{1}}, .micro_batches = 1, .slots = 1, .successors = {1}},
                        {.nodes = {graph::NodeId{2}}, .micro_batches = 1, .slots = 1, .successors = {}}};
  task.stages.ranks = {{{Kind::kForward, 0, 0}, {Kind::kBackward, 0, 0}},
                       {{Kind::kForward, 1, 0}, {Kind::kBackward, 1, 0}}};
  task.stages.has_separate_memory = true;
  task.number = 5;
  task.rank = 1;
  return task;
}

class StageProcessThread {
 public:
  StageProcessThread() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    channel_ = engine::Channel(ends[0]);
    thread_ = std::jthread([end = ends[1]] { static_cast<void>(serve_stages(engine::Channel(end))); });
  }
  ~StageProcessThread() { channel_ = engine::Channel(-1); }

  /// Sends a task. Returns true if the rank accepts it within 20 seconds, whatever it does now.
  bool takes(const StageTask& task) {
    channel_.send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    const auto answer = channel_.receive(20);
    return answer && static_cast<StageWire>(answer->kind) == StageWire::kAccepted;
  }
  /// Sends a task and returns the text of its refusal.
  std::string refusal_of(const StageTask& task) {
    channel_.send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    const auto answer = channel_.receive(20);
    if (!answer || static_cast<StageWire>(answer->kind) != StageWire::kRefused) return "it is not refused";
    const auto refusal = engine::split_token(answer->text);
    EXPECT_TRUE(refusal && refusal->token == task.number);
    return refusal ? refusal->text : "";
  }

 private:
  engine::Channel channel_{-1};
  std::jthread thread_;
};

TEST(StageProcess, RefusesInvalidTasksAndKeepsListening) {
  StageProcessThread rank;
  const auto refusal = [&](const auto& spoil) {
    StageTask task = good();
    spoil(task);
    return rank.refusal_of(task);
  };
  const auto contains = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  const std::string other = refusal([](StageTask& task) { task.build = "0.0 build 0123"; });
  EXPECT_TRUE(contains(other, "allowed: the worker's own build, lanista 0.0 build 0123")) << other;
  const std::string first = refusal([](StageTask& task) { task.rank = 0; });
  EXPECT_TRUE(contains(first, "rank 0 belongs to the worker; allowed: 1 to 1")) << first;
  const std::string level = refusal([](StageTask& task) { task.isa = "abacus"; });
  EXPECT_TRUE(contains(level, "this CPU has no abacus")) << level;
  const std::string program = refusal([](StageTask& task) { task.bytes = 64; });
  EXPECT_TRUE(contains(program, "the program has another digest when it is compiled here")) << program;
  EXPECT_TRUE(contains(program, "bytes; allowed: 00000000000000000000000000000000 of 64")) << program;
  const std::string model = refusal([](StageTask& task) { task.model = "%0 = inputs\n"; });
  EXPECT_FALSE(contains(model, "it is not refused"));
  const std::string memory_limit = refusal([](StageTask& task) { task.stages.rank_bytes = 100; });
  EXPECT_TRUE(contains(memory_limit, "allowed are 100")) << memory_limit;
}

// Returns a task with shared memory, with the size and the digest of its program.
StageTask sharing(StageProcessThread& rank, SharedMemory& memory) {
  StageTask task = good();
  task.stages.has_separate_memory = false;
  const std::string answer = rank.refusal_of(task);  // "...: DIGEST of BYTES bytes; allowed: ..."
  const std::string before = "is compiled here: ";
  const auto at = answer.find(before);
  EXPECT_NE(at, std::string::npos) << answer;
  if (at == std::string::npos) return task;
  task.digest = Digest::from_hex(answer.substr(at + before.size(), 32)).value_or(Digest{});
  task.bytes = std::stoll(answer.substr(at + before.size() + 36));
  memory = *SharedMemory::create(task.bytes);
  task.memory = memory.path();
  return task;
}

TEST(StageProcess, RefusesMemoryOfAnotherOwner) {
  StageProcessThread rank;
  SharedMemory memory;
  const StageTask task = sharing(rank, memory);
  const auto refusal = [&](const std::string& path) {
    StageTask other = task;
    other.memory = path;
    return rank.refusal_of(other);
  };
  const std::string foreign_file = "/tmp/lanista_foreign_" + std::to_string(::getpid());
  std::ofstream(foreign_file) << std::string(static_cast<std::size_t>(task.bytes), 'x');
  const int file = ::open(foreign_file.c_str(), O_RDWR | O_CLOEXEC);
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  for (const std::string& path : {std::string(), foreign_file, std::string("/dev/zero"), own + "../fd/0",
                                  "/proc/" + std::to_string(::getppid()) + "/fd/0"}) {
    EXPECT_NE(refusal(path).find("it must be " + own + "NUMBER"), std::string::npos) << path;
  }
  EXPECT_NE(refusal(own + std::to_string(file)).find("the memory is not sealed"), std::string::npos)
      << refusal(own + std::to_string(file));
  const SharedMemory small = *SharedMemory::create(task.bytes - 64);
  EXPECT_NE(refusal(small.path()).find("it must have " + std::to_string(task.bytes)), std::string::npos);
  EXPECT_TRUE(rank.takes(task));
  ::close(file);
  std::ifstream unchanged(foreign_file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(unchanged), {}).find_first_not_of('x'), std::string::npos);
  ::unlink(foreign_file.c_str());
}

// If another process damages the progress board, a rank waits, fails or skips, and then still accepts its next task.
TEST(StageProcess, AcceptsItsNextTaskInAnyState) {
  StageProcessThread rank;
  SharedMemory memory;
  StageTask task = sharing(rank, memory);
  ASSERT_TRUE(rank.takes(task));
  Rng rng(17);
  const auto words = static_cast<std::size_t>(program::StageProgress::bytes(2)) / sizeof(SharedWord);
  for (std::size_t at = 0; at < words; ++at) {
    for (const std::uint32_t value : {0U, 1U, 0x7fffffffU, 0xffffffffU, static_cast<std::uint32_t>(rng.next())}) {
      auto* const board = reinterpret_cast<SharedWord*>(memory.data());
      board[at].store(value);
      board[0].fetch_add(1);  // a step begins
      futex_wake_all(board[0]);
    }
    if (at % 8 != 7) continue;
    SharedMemory next = *SharedMemory::create(task.bytes);
    task.memory = next.path();
    ++task.number;
    ASSERT_TRUE(rank.takes(task)) << "after word " << at;
    std::swap(memory, next);
  }
}

}  // namespace
}  // namespace lanista::runtime
