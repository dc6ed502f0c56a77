// What a place makes of tasks that it cannot take. Those that it can are in tests/pipeline_proof.cpp.
#include "lanista/runtime/stage_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

#include "lanista/engine/worker_process.h"
#include "lanista/engine/worker_protocol.h"
#include "lanista/kernels/kernels.h"
#include "lanista/runtime/stage_task.h"
#include "lanista/runtime/stage_wire.h"

namespace lanista::runtime {
namespace {

StageTask good() {
  using Kind = nn::StagePass::Kind;
  StageTask task;
  task.model = "%0 = input(shape=[6])\n%1 = linear(%0, out=4)\n%2 = linear(%1, out=5)\n%3 = output(%2)\n";
  task.step = {"cross_entropy", "sgd"};
  task.build = engine::build_fingerprint();
  task.isa = kernels::isa_name(kernels::best_isa());
  task.max_batch = 8;
  task.stages.stages = {{.nodes = {graph::NodeId{1}}, .micro_batches = 1, .slots = 1, .after = {1}},
                        {.nodes = {graph::NodeId{2}}, .micro_batches = 1, .slots = 1, .after = {}}};
  task.stages.places = {{{Kind::kForward, 0, 0}, {Kind::kBackward, 0, 0}}, {{Kind::kForward, 1, 0}, {Kind::kBackward, 1, 0}}};
  task.stages.apart = true;
  task.number = 5;
  task.place = 1;
  return task;
}

class Place {
 public:
  Place() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    channel_ = engine::Channel(ends[0]);
    thread_ = std::jthread([end = ends[1]] { static_cast<void>(serve_stages(engine::Channel(end))); });
  }
  ~Place() { channel_ = engine::Channel(-1); }

  /// Its refusal.
  std::string told(const StageTask& task) {
    channel_.send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    const auto answer = channel_.receive(20);
    if (!answer || static_cast<StageWire>(answer->kind) != StageWire::kRefused) return "it is not refused";
    const auto said = engine::split_token(answer->text);
    EXPECT_TRUE(said && said->token == task.number);
    return said ? said->text : "";
  }

 private:
  engine::Channel channel_{-1};
  std::jthread thread_;
};

TEST(StageProcess, RefusesWhatItCannotTakeAndListensOn) {
  Place place;
  const auto refusal = [&](const auto& spoil) {
    StageTask task = good();
    spoil(task);
    return place.told(task);
  };
  const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  const std::string other = refusal([](StageTask& task) { task.build = "0.0 build 0123"; });
  EXPECT_TRUE(says(other, "allowed: the worker's own build, lanista 0.0 build 0123")) << other;
  const std::string first = refusal([](StageTask& task) { task.place = 0; });
  EXPECT_TRUE(says(first, "place 0 is the worker's own; allowed: 1 to 1")) << first;
  const std::string level = refusal([](StageTask& task) { task.isa = "abacus"; });
  EXPECT_TRUE(says(level, "this CPU has no abacus")) << level;
  const std::string program = refusal([](StageTask& task) { task.bytes = 64; });
  EXPECT_TRUE(says(program, "the program is another one when it is made here")) << program;
  EXPECT_TRUE(says(program, "bytes; allowed: 00000000000000000000000000000000 of 64")) << program;
  const std::string model = refusal([](StageTask& task) { task.model = "%0 = inputs\n"; });
  EXPECT_FALSE(says(model, "it is not refused"));
  const std::string room = refusal([](StageTask& task) { task.stages.place_bytes = 100; });
  EXPECT_TRUE(says(room, "allowed are 100")) << room;
}

}  // namespace
}  // namespace lanista::runtime
