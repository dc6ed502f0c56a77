#include "lanista/exec/pipeline_parallel/stage_process_pool.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "lanista/base/futex.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/exec/pipeline_parallel/stage_channel_transport.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"

namespace lanista::runtime {
namespace {

constexpr double kCompileTimeoutSeconds = 120;                  // seconds
constexpr double kKillTimeoutSeconds = 5;                             // seconds, of who was killed
constexpr auto kStepTimeout = std::chrono::minutes(10);  // of who lives and says nothing
constexpr auto kHostRetryDelay = std::chrono::minutes(10);      // a host whose process came to nothing by itself
constexpr double kExitStatusWaitSeconds = 0.2;  // seconds between the end of a connection and that of a process

}  // namespace

/// One thread at a time: that of whoever has borrowed it.
class StageProcessPool::ProcessGroup {
 public:
  ProcessGroup(const StageHosts& hosts, const std::function<void(const LostRank&)>& on_loss)
      : hosts_(hosts), on_loss_(on_loss), host_retry_at_(hosts.hosts.size()) {}
  ~ProcessGroup() {
    transport_.reset();
    for (const StageProcess& stage_process : processes_) static_cast<void>(reap(stage_process));
  }

  /// All that are wanted have made this program, and wait.
  std::byte* begin(std::uint64_t program, const StageTask& task, const nn::StageMemoryMap& map) {
    if (program_ != program || num_used_ == 0) load_program(program, task, map);
    began_ = std::chrono::steady_clock::now();
    check_alive();
    return memory_.data();
  }
  void check_alive() {
    if (num_used_ == 0) throw nn::RankLost("a place of a pipeline is gone");
    if (transport_) {
      if (const auto fault = transport_->fault()) fail_lost(fault->end, fault->why);
    } else {
      for (std::size_t i = 0; i < num_used_; ++i) {
        engine::Channel& channel = *processes_[i].launched.channel;
        if (channel.receive(0)) fail_lost(i, "said what nobody asked for");
        if (channel.closed()) fail_lost(i, "");
      }
    }
    if (std::chrono::steady_clock::now() - began_ > kStepTimeout) fail_lost(0, "is silent");
  }
  nn::StageTransport* transport() const { return transport_.get(); }
  std::uint64_t program() const { return program_; }

  bool is_busy = false;  // under the crews' mutex

 private:
  struct StageProcess {
    engine::LaunchedWorker launched;
    std::size_t host = 0;
    bool has_accepted_task = false;  // it has taken a task
  };
  struct ProcessEnd {
    std::string text;
    bool has_ended_by_itself = false;  // it has ended by itself, or spoke so that it was ended
  };

  void load_program(std::uint64_t program, StageTask task, const nn::StageMemoryMap& map) {
    const std::size_t wanted = task.stages.ranks.size() - 1;
    transport_.reset();
    // Whoever was lost since is not told of this program: its place is another one's.
    reap_exited();
    while (processes_.size() < wanted) start_process();
    program_ = 0;
    num_used_ = wanted;
    SharedMemory before = std::move(memory_);
    auto made = hosts_.has_separate_memory ? SharedMemory::create_private(task.bytes) : SharedMemory::create(task.bytes);
    if (!made) throw std::bad_alloc();
    memory_ = *std::move(made);
    if (!hosts_.has_separate_memory) task.memory = memory_.path();
    task.build = engine::build_fingerprint();
    task.number = ++tasks_;
    for (std::size_t i = 0; i < wanted; ++i) {
      task.rank = i + 1;
      processes_[i].launched.channel->send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    }
    // They wait at what was before.
    if (before.data() != nullptr && !hosts_.has_separate_memory) futex_wake_all(*reinterpret_cast<SharedWord*>(before.data()));
    for (std::size_t i = 0; i < wanted; ++i) receive(i);
    if (hosts_.has_separate_memory) {
      std::vector<engine::Channel*> ends;
      for (std::size_t i = 0; i < wanted; ++i) ends.push_back(&*processes_[i].launched.channel);
      transport_ = std::make_unique<StageChannelTransport>(map, memory_.data(), 0, std::move(ends), hosts_.heartbeat_timeout_s);
    }
    program_ = program;
  }

  // Where the fewest are, of hosts that could be reached, or were not tried for long: that takes its time.
  void start_process() {
    std::vector<std::size_t> count(hosts_.hosts.size());
    for (const StageProcess& stage_process : processes_) ++count[stage_process.host];
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (host_retry_at_[i] > std::chrono::steady_clock::now()) count[i] = SIZE_MAX;
    }
    const auto fewest = std::ranges::min_element(count);
    if (*fewest == SIZE_MAX) throw nn::RankLost("no host has a place for a pipeline; they are asked again later");
    const auto host = static_cast<std::size_t>(fewest - count.begin());
    auto begun = hosts_.hosts[host].launch("");
    if (!begun) throw nn::RankLost(begun.error().text());
    processes_.push_back({*std::move(begun), host});
  }

  // Its answer to the last task; what it said of those before is of no use any more.
  void receive(std::size_t i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kCompileTimeoutSeconds);
    engine::Channel& channel = *processes_[i].launched.channel;
    while (true) {
      const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
      const auto answer = channel.receive(std::max(0.0, left.count()));
      if (channel.closed()) fail_lost(i, channel.fault() ? "says " + channel.fault()->message : "");
      if (!answer) fail_lost(i, "makes no program");
      const auto kind = static_cast<StageWire>(answer->kind);
      if (kind == StageWire::kBytes || kind == StageWire::kSignal || kind == StageWire::kHeartbeat) continue;
      const auto answer_body = engine::split_token(answer->text);
      if (!answer_body || (kind != StageWire::kAccepted && kind != StageWire::kRefused)) {
        fail_lost(i, "said what nobody asked for: a message of kind " + std::to_string(answer->kind));
      }
      if (answer_body->token != tasks_) continue;
      if (kind == StageWire::kAccepted) {
        processes_[i].has_accepted_task = true;
        return;
      }
      fail_lost(i, "refuses: " + answer_body->text);
    }
  }

  void reap_exited() {
    std::erase_if(processes_, [&](StageProcess& stage_process) {
      while (stage_process.launched.channel->receive(0)) {
      }
      if (!stage_process.launched.channel->closed()) return false;
      report_loss(stage_process, reap(stage_process).text);
      return true;
    });
  }

  void report_loss(const StageProcess& stage_process, const std::string& reason) const {
    if (on_loss_) on_loss_({stage_process.launched.process, reason, hosts_.hosts[stage_process.host].host});
  }
  /// How it ended, or was ended.
  static ProcessEnd reap(const StageProcess& stage_process) {
    const bool is_gone = stage_process.launched.channel->closed();
    const auto how = engine::wait_for_exit(stage_process.launched.process, is_gone ? kExitStatusWaitSeconds : 0);
    if (how) return {how->as_launcher_exit().text(), how->as_launcher_exit().signal == 0};
    ::kill(stage_process.launched.process, SIGKILL);
    static_cast<void>(engine::wait_for_exit(stage_process.launched.process, kKillTimeoutSeconds));
    return {"was ended", true};
  }

  [[noreturn]] void fail_lost(std::size_t i, const std::string& why) {
    if (transport_) {  // whoever does the step has a pointer to it
      transport_->send({.kind = nn::StageSignal::Kind::kStop, .reason = "a place is gone"});
      transport_->end();
    }
    const StageProcess lost_process = std::move(processes_[i]);
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
    program_ = 0;
    num_used_ = 0;
    const ProcessEnd end = reap(lost_process);
    if (hosts_.has_separate_memory && !lost_process.has_accepted_task && end.has_ended_by_itself) {
      host_retry_at_[lost_process.host] = std::chrono::steady_clock::now() + kHostRetryDelay;
    }
    const std::string& reason = why.empty() ? end.text : why;
    report_loss(lost_process, reason);
    const std::string& host = hosts_.hosts[lost_process.host].host;
    throw nn::RankLost("process " + std::to_string(lost_process.launched.process) + (host.empty() ? "" : " on " + host) +
                         " at place " + std::to_string(i + 1) + " of a pipeline " + reason);
  }

  const StageHosts& hosts_;
  const std::function<void(const LostRank&)>& on_loss_;
  std::vector<StageProcess> processes_;
  std::size_t num_used_ = 0;  // by the program at hand; 0: whatever comes is made anew
  std::uint64_t program_ = 0;
  std::uint64_t tasks_ = 0;  // that were told so far
  std::vector<std::chrono::steady_clock::time_point> host_retry_at_;  // of each host
  SharedMemory memory_;
  std::unique_ptr<StageChannelTransport> transport_;  // where places do not see the memory, of the program at hand
  std::chrono::steady_clock::time_point began_;
};

/// The places of one program, at whatever crew is free.
class StageProcessPool::BorrowedGroup final : public nn::RemoteRanks {
 public:
  BorrowedGroup(StageProcessPool& process_pool, std::uint64_t program, StageTask task)
      : groups_(process_pool), program_(program), task_(std::move(task)) {}
  ~BorrowedGroup() override { end_step(); }

  std::byte* begin_step(const nn::StageMemoryMap& map) override {
    task_.bytes = map.bytes;
    task_.digest = map.program;
    group_ = &groups_.borrow(program_);
    try {
      return group_->begin(program_, task_, map);
    } catch (...) {
      end_step();
      throw;
    }
  }
  void check_alive() override { group_->check_alive(); }
  nn::StageTransport* transport() override { return group_->transport(); }
  void end_step() override {
    if (ProcessGroup* const group = std::exchange(group_, nullptr)) groups_.give_back(*group);
  }

 private:
  StageProcessPool& groups_;
  const std::uint64_t program_;
  StageTask task_;
  ProcessGroup* group_ = nullptr;  // during a step
};

StageProcessPool::StageProcessPool(StageHosts hosts, std::function<void(const LostRank&)> on_loss)
    : hosts_(std::move(hosts)), on_loss_(std::move(on_loss)) {}

StageProcessPool::~StageProcessPool() = default;

std::shared_ptr<nn::RemoteRanks> StageProcessPool::ranks(StageTask task) {
  const std::lock_guard lock(mutex_);
  return std::make_shared<BorrowedGroup>(*this, ++programs_, std::move(task));
}

// The crew that has this program already, else one that has none, else any.
StageProcessPool::ProcessGroup& StageProcessPool::borrow(std::uint64_t program) {
  const std::lock_guard lock(mutex_);
  ProcessGroup* best = nullptr;
  for (const auto& group : groups_) {
    if (group->is_busy) continue;
    if (group->program() == program) {
      best = group.get();
      break;
    }
    if (best == nullptr || (best->program() != 0 && group->program() == 0)) best = group.get();
  }
  if (best == nullptr) best = groups_.emplace_back(std::make_unique<ProcessGroup>(hosts_, on_loss_)).get();
  best->is_busy = true;
  return *best;
}

void StageProcessPool::give_back(ProcessGroup& group) {
  const std::lock_guard lock(mutex_);
  group.is_busy = false;
}

StageHosts local_stage_hosts(std::string program) {
  return {.hosts = {{engine::launch_command({program.empty() ? "/proc/self/exe" : std::move(program), "stage"})}}};
}

StageHosts remote_stage_hosts(const std::vector<engine::RemoteLauncher>& ranks) {
  StageHosts out{.hosts = {}, .has_separate_memory = true};
  for (const engine::RemoteLauncher& rank : ranks) {
    if (rank.arguments.empty()) {
      out.hosts.push_back(local_stage_hosts().hosts.front());
    } else {
      out.hosts.push_back({engine::launch_command(rank.arguments), rank.host});
    }
  }
  return out;
}

}  // namespace lanista::runtime
