#include "lanista/exec/pipeline_parallel/stage_process.h"

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <utility>

#include "lanista/ipc/worker_process.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/model/graph/text.h"
#include "lanista/exec/pipeline_parallel/stage_member.h"
#include "lanista/exec/pipeline_parallel/shared_memory.h"
#include "lanista/exec/pipeline_parallel/stage_post.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"

namespace lanista::runtime {
namespace {

constexpr double kLongWait = 600;  // seconds; who is called off hears it at once

Result<kernels::Isa> level_of(const std::string& name) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    if (kernels::isa_name(isa) == name) return isa;
  }
  return Error{Code::kFailedPrecondition, "this CPU has no " + name, ""};
}

/// At a place that is another process's, its memory laid out as theirs.
class Theirs final : public nn::StagePlaces {
 public:
  std::byte* enter(const nn::StageMap&) override { throw nn::PlacesLost("this process begins no step"); }
  void look() override {}
  void leave() override {}
};

struct Place {
  std::unique_ptr<nn::StageMember> member;
  SharedMemory memory;
};

/// The process that made this connection; 0: the system does not report it.
pid_t peer_of(const engine::Channel& channel) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(channel.socket(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

/// Makes the program of a task; its memory is of process `maker`.
Result<Place> take(const StageTask& task, pid_t maker) {
  if (task.build != engine::build_fingerprint()) {
    return Error{
        Code::kFailedPrecondition,
        "this is lanista " + engine::build_fingerprint() + "; allowed: the worker's own build, lanista " + task.build,
        ""};
  }
  if (task.place == 0) {
    return Error{Code::kInvalidArgument,
                 "place 0 is the worker's own; allowed: 1 to " + std::to_string(task.stages.places.size() - 1), ""};
  }
  LANISTA_ASSIGN(const kernels::Isa isa, level_of(task.isa));
  LANISTA_ASSIGN(const graph::Graph model, graph::parse(task.model));
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
  LANISTA_ASSIGN(const step::TrainingStep train, step::derive_training_step(model, task.step, ops));
  LANISTA_ASSIGN(const step::InferenceStep infer, step::derive_inference_step(model, ops));
  nn::Stages stages = task.stages;
  stages.elsewhere = std::make_shared<Theirs>();
  nn::ProgramOptions options{.max_batch = task.max_batch,
                             .shards = task.shards,
                             .accumulate = task.accumulate,
                             .stages = &stages,
                             .precision = task.precision};
  options.step_ops = &ops;
  Place place;
  LANISTA_ASSIGN(place.member, nn::StageMember::compile(isa, train, infer, options));
  const nn::StageMap& map = place.member->map();
  if (map.program != task.digest || map.bytes != task.bytes) {
    return Error{Code::kFailedPrecondition,
                 "the program is another one when it is made here: " + map.program.hex() + " of " +
                     std::to_string(map.bytes) + " bytes; allowed: " + task.digest.hex() + " of " +
                     std::to_string(task.bytes),
                 ""};
  }
  LANISTA_ASSIGN(place.memory,
                 stages.apart ? SharedMemory::of_one(task.bytes) : SharedMemory::open(task.memory, task.bytes, maker));
  return place;
}

// Steps, until something comes that is none of them.
Result<std::optional<engine::Message>> serve_apart(engine::Channel& channel, const Place& place, std::uint64_t number) {
  StagePost post(place.member->map(), place.memory.data(), static_cast<std::uint32_t>(number), {&channel});
  place.member->serve(
      place.memory.data(), number, [&post] { return post.has_heard() || post.fault(); }, &post);
  if (auto heard = post.take_heard()) return heard;
  const auto fault = post.fault();
  if (fault && !fault->why.empty()) return Error{Code::kDataLoss, "the worker " + fault->why, ""};
  return std::optional<engine::Message>();
}

}  // namespace

Result<void> serve_stages(engine::Channel channel) {
  const auto answer = [&channel](const StageTask& task, StageWire kind, std::string_view text) {
    channel.send(static_cast<std::uint16_t>(kind), engine::with_token(task.number, text));
  };
  std::optional<engine::Message> heard;
  while (!channel.closed()) {
    if (!heard) heard = channel.receive(kLongWait);
    if (!heard) continue;
    if (static_cast<StageWire>(heard->kind) != StageWire::kTask) {
      return Error{Code::kDataLoss, "a message of the unknown kind " + std::to_string(heard->kind), ""};
    }
    LANISTA_ASSIGN(const StageTask task, decode_stage_task(heard->text));
    heard.reset();
    auto place = take(task, peer_of(channel));
    if (!place) {
      answer(task, StageWire::kRefused, place.error().text());
      continue;
    }
    answer(task, StageWire::kTaken, "");
    if (task.stages.apart) {
      LANISTA_ASSIGN(heard, serve_apart(channel, *place, task.place));
      continue;
    }
    place->member->serve(place->memory.data(), static_cast<std::size_t>(task.place), [&] {
      if (!heard) heard = channel.receive(0);
      return heard.has_value() || channel.closed();
    });
  }
  return {};
}

}  // namespace lanista::runtime
