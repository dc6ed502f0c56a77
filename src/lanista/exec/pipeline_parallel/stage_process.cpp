#include "lanista/exec/pipeline_parallel/stage_process.h"

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <utility>

#include "lanista/exec/pipeline_parallel/shared_memory.h"
#include "lanista/exec/pipeline_parallel/stage_channel_transport.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"
#include "lanista/exec/pipeline_parallel/stage_worker.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/model/graph/text.h"

namespace lanista::runtime {
namespace {

constexpr double kReceiveTimeoutSeconds = 600;  // seconds; a closed connection ends the wait at once

Result<kernels::Isa> isa_named(const std::string& name) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    if (kernels::isa_name(isa) == name) return isa;
  }
  return Error{Code::kFailedPrecondition, "this CPU has no " + name, ""};
}

/// The remote ranks of a served program, which only give it the leader's memory layout.
class RanksOfTheLeader final : public program::RemoteRanks {
 public:
  std::byte* begin_step(const program::StageMemoryMap&) override {
    throw program::RankLost("this process cannot begin a step");
  }
  void check_alive() override {}
  void end_step() override {}
};

struct ServedRank {
  std::unique_ptr<program::StageWorker> member;
  SharedMemory memory;
};

/// Returns the process at the other end of the connection; 0: the system does not report it.
pid_t peer_process_of(const engine::Channel& channel) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(channel.socket(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

/// Compiles the program of a task; its memory belongs to process `maker`.
Result<ServedRank> load_task(const StageTask& task, pid_t maker) {
  if (task.build != engine::build_fingerprint()) {
    return Error{
        Code::kFailedPrecondition,
        "this is lanista " + engine::build_fingerprint() + "; allowed: the worker's own build, lanista " + task.build,
        ""};
  }
  if (task.rank == 0) {
    return Error{Code::kInvalidArgument,
                 "rank 0 belongs to the worker; allowed: 1 to " + std::to_string(task.stages.ranks.size() - 1), ""};
  }
  LANISTA_ASSIGN(const kernels::Isa isa, isa_named(task.isa));
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(task.model));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const autodiff::TrainingStep train, autodiff::derive_training_step(model, task.step, ops));
  LANISTA_ASSIGN(const autodiff::InferenceStep infer, autodiff::derive_inference_step(model, ops));
  program::Stages stages = task.stages;
  stages.remote_ranks = std::make_shared<RanksOfTheLeader>();
  program::ProgramOptions options{.max_batch = task.max_batch,
                                  .shards = task.shards,
                                  .accumulate = task.accumulate,
                                  .stages = &stages,
                                  .precision = task.precision};
  options.step_ops = &ops;
  ServedRank rank;
  LANISTA_ASSIGN(rank.member, program::StageWorker::compile(isa, train, infer, options));
  const program::StageMemoryMap& map = rank.member->map();
  if (map.program != task.digest || map.bytes != task.bytes) {
    return Error{Code::kFailedPrecondition,
                 "the program has another digest when it is compiled here: " + map.program.hex() + " of " +
                     std::to_string(map.bytes) + " bytes; allowed: " + task.digest.hex() + " of " +
                     std::to_string(task.bytes),
                 ""};
  }
  LANISTA_ASSIGN(rank.memory, stages.has_separate_memory ? SharedMemory::create_private(task.bytes)
                                                         : SharedMemory::open(task.memory, task.bytes, maker));
  return rank;
}

// Runs steps until a message of another kind arrives, and returns it.
Result<std::optional<engine::Message>> serve_over_channel(engine::Channel& channel, const ServedRank& rank,
                                                          std::uint64_t number) {
  StageChannelTransport post(rank.member->map(), rank.memory.data(), static_cast<std::uint32_t>(number), {&channel});
  rank.member->serve(
      rank.memory.data(), number, [&post] { return post.has_unread() || post.fault(); }, &post);
  if (auto message = post.take_unread()) return message;
  const auto fault = post.fault();
  if (fault && !fault->why.empty()) return Error{Code::kDataLoss, "the worker " + fault->why, ""};
  return std::optional<engine::Message>();
}

}  // namespace

Result<void> serve_stages(engine::Channel channel) {
  const auto answer = [&channel](const StageTask& task, StageWire kind, std::string_view text) {
    channel.send(static_cast<std::uint16_t>(kind), engine::with_token(task.number, text));
  };
  std::optional<engine::Message> message;
  while (!channel.closed()) {
    if (!message) message = channel.receive(kReceiveTimeoutSeconds);
    if (!message) continue;
    if (static_cast<StageWire>(message->kind) != StageWire::kTask) {
      return Error{Code::kDataLoss, "a message of the unknown kind " + std::to_string(message->kind), ""};
    }
    LANISTA_ASSIGN(const StageTask task, decode_stage_task(message->text));
    message.reset();
    auto rank = load_task(task, peer_process_of(channel));
    if (!rank) {
      answer(task, StageWire::kRefused, rank.error().text());
      continue;
    }
    answer(task, StageWire::kAccepted, "");
    if (task.stages.has_separate_memory) {
      LANISTA_ASSIGN(message, serve_over_channel(channel, *rank, task.rank));
      continue;
    }
    rank->member->serve(rank->memory.data(), static_cast<std::size_t>(task.rank), [&] {
      if (!message) message = channel.receive(0);
      return message.has_value() || channel.closed();
    });
  }
  return {};
}

}  // namespace lanista::runtime
