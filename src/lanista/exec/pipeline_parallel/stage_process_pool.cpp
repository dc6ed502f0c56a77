#include "lanista/exec/pipeline_parallel/stage_process_pool.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "lanista/base/futex.h"
#include "lanista/exec/pipeline_parallel/stage_channel_transport.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"
#include "lanista/ipc/numbered_text.h"

namespace lanista::runtime {
namespace {

constexpr double kCompileTimeoutSeconds = 120;              // seconds
constexpr double kKillTimeoutSeconds = 5;                   // seconds until a killed process is gone
constexpr auto kStepTimeout = std::chrono::minutes(10);     // of one step; then the process of rank 1 is lost
constexpr auto kHostRetryDelay = std::chrono::minutes(10);  // for a host where a process failed to start
constexpr double kExitStatusWaitSeconds = 0.2;              // from the end of a connection to that of its process

}  // namespace

/// The processes of one step. One thread at a time: that of the borrower.
class StageProcessPool::ProcessGroup {
 public:
  ProcessGroup(const StageHosts& hosts, const std::function<void(const LostRank&)>& on_loss)
      : hosts_(hosts), on_loss_(on_loss), host_retry_at_(hosts.hosts.size()) {}
  ~ProcessGroup() {
    transport_.reset();
    for (const StageProcess& stage_process : processes_) static_cast<void>(reap(stage_process));
  }

  /// Returns the memory of a step after all its ranks have compiled this program.
  std::byte* begin(std::uint64_t program, const StageTask& task, const program::StageMemoryMap& map) {
    if (program_ != program || num_used_ == 0) load_program(program, task, map);
    began_ = std::chrono::steady_clock::now();
    check_alive();
    return memory_.data();
  }
  void check_alive() {
    if (num_used_ == 0) throw program::RankLost("a rank of a pipeline is gone");
    if (transport_) {
      if (const auto fault = transport_->fault()) fail_lost(fault->end, fault->why);
    } else {
      for (std::size_t i = 0; i < num_used_; ++i) {
        engine::Channel& channel = *processes_[i].launched.channel;
        if (channel.receive(0)) fail_lost(i, "sent an unexpected message");
        if (channel.closed()) fail_lost(i, "");
      }
    }
    if (std::chrono::steady_clock::now() - began_ > kStepTimeout) fail_lost(0, "is silent");
  }
  program::StageTransport* transport() const { return transport_.get(); }
  std::uint64_t program() const { return program_; }

  bool is_busy = false;  // protected by the mutex of the pool

 private:
  struct StageProcess {
    engine::LaunchedWorker launched;
    std::size_t host = 0;
    bool has_accepted_task = false;  // once
  };
  struct ProcessEnd {
    std::string text;
    bool has_ended_by_itself = false;  // or broke the protocol and was ended
  };

  void load_program(std::uint64_t program, StageTask task, const program::StageMemoryMap& map) {
    const std::size_t wanted = task.stages.ranks.size() - 1;
    transport_.reset();
    // A process that was lost since does not receive this program; its rank goes to another one.
    reap_exited();
    while (processes_.size() < wanted) start_process();
    program_ = 0;
    num_used_ = wanted;
    SharedMemory before = std::move(memory_);
    auto made =
        hosts_.has_separate_memory ? SharedMemory::create_private(task.bytes) : SharedMemory::create(task.bytes);
    if (!made) throw std::bad_alloc();
    memory_ = *std::move(made);
    if (!hosts_.has_separate_memory) task.memory = memory_.path();
    task.build = engine::build_fingerprint();
    task.number = ++tasks_;
    for (std::size_t i = 0; i < wanted; ++i) {
      task.rank = i + 1;
      processes_[i].launched.channel->send(static_cast<std::uint16_t>(StageWire::kTask), encode(task));
    }
    // They wait at the memory of the task before.
    if (before.data() != nullptr && !hosts_.has_separate_memory)
      futex_wake_all(*reinterpret_cast<SharedWord*>(before.data()));
    for (std::size_t i = 0; i < wanted; ++i) receive(i);
    if (hosts_.has_separate_memory) {
      std::vector<engine::Channel*> ends;
      for (std::size_t i = 0; i < wanted; ++i) ends.push_back(&*processes_[i].launched.channel);
      transport_ =
          std::make_unique<StageChannelTransport>(map, memory_.data(), 0, std::move(ends), hosts_.heartbeat_timeout_s);
    }
    program_ = program;
  }

  // Starts a process on the host with the fewest, except hosts that failed a short time ago.
  void start_process() {
    std::vector<std::size_t> count(hosts_.hosts.size());
    for (const StageProcess& stage_process : processes_) ++count[stage_process.host];
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (host_retry_at_[i] > std::chrono::steady_clock::now()) count[i] = SIZE_MAX;
    }
    const auto fewest = std::ranges::min_element(count);
    if (*fewest == SIZE_MAX)
      throw program::RankLost("no host can start a rank of a pipeline; the hosts are tried again later");
    const auto host = static_cast<std::size_t>(fewest - count.begin());
    auto begun = hosts_.hosts[host].launch("");
    if (!begun) throw program::RankLost(begun.error().text());
    processes_.push_back({*std::move(begun), host});
  }

  // Receives the answer to the last task; answers to earlier tasks are ignored.
  void receive(std::size_t i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kCompileTimeoutSeconds);
    engine::Channel& channel = *processes_[i].launched.channel;
    while (true) {
      const std::chrono::duration<double> left = until - std::chrono::steady_clock::now();
      const auto answer = channel.receive(std::max(0.0, left.count()));
      if (channel.closed()) fail_lost(i, channel.fault() ? "sent " + channel.fault()->message : "");
      if (!answer) fail_lost(i, "did not compile the program in time");
      const auto kind = static_cast<StageWire>(answer->kind);
      if (kind == StageWire::kBytes || kind == StageWire::kSignal || kind == StageWire::kHeartbeat) continue;
      const auto answer_body = engine::split_token(answer->text);
      if (!answer_body || (kind != StageWire::kAccepted && kind != StageWire::kRefused)) {
        fail_lost(i, "sent an unexpected message of kind " + std::to_string(answer->kind));
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
  /// Ends a process if it still runs, and returns how it ended.
  static ProcessEnd reap(const StageProcess& stage_process) {
    const bool is_gone = stage_process.launched.channel->closed();
    const auto how = engine::wait_for_exit(stage_process.launched.process, is_gone ? kExitStatusWaitSeconds : 0);
    if (how) return {how->as_launcher_exit().text(), how->as_launcher_exit().signal == 0};
    ::kill(stage_process.launched.process, SIGKILL);
    static_cast<void>(engine::wait_for_exit(stage_process.launched.process, kKillTimeoutSeconds));
    return {"was ended", true};
  }

  [[noreturn]] void fail_lost(std::size_t i, const std::string& why) {
    if (transport_) {  // the thread of the step has a pointer to it
      transport_->send({.kind = program::StageSignal::Kind::kStop, .reason = "a rank is gone"});
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
    throw program::RankLost("process " + std::to_string(lost_process.launched.process) +
                            (host.empty() ? "" : " on " + host) + " at rank " + std::to_string(i + 1) +
                            " of a pipeline " + reason);
  }

  const StageHosts& hosts_;
  const std::function<void(const LostRank&)>& on_loss_;
  std::vector<StageProcess> processes_;
  std::size_t num_used_ = 0;  // by the current program; 0: the next one compiles
  std::uint64_t program_ = 0;
  std::uint64_t tasks_ = 0;                                           // sent so far
  std::vector<std::chrono::steady_clock::time_point> host_retry_at_;  // of each host
  SharedMemory memory_;
  std::unique_ptr<StageChannelTransport> transport_;  // of the current program, with separate memory
  std::chrono::steady_clock::time_point began_;
};

/// The remote ranks of one program, on any free group of processes.
class StageProcessPool::BorrowedGroup final : public program::RemoteRanks {
 public:
  BorrowedGroup(StageProcessPool& process_pool, std::uint64_t program, StageTask task)
      : pool_(process_pool), program_(program), task_(std::move(task)) {}
  ~BorrowedGroup() override { end_step(); }

  std::byte* begin_step(const program::StageMemoryMap& map) override {
    task_.bytes = map.bytes;
    task_.digest = map.program;
    group_ = &pool_.borrow(program_);
    try {
      return group_->begin(program_, task_, map);
    } catch (...) {
      end_step();
      throw;
    }
  }
  void check_alive() override { group_->check_alive(); }
  program::StageTransport* transport() override { return group_->transport(); }
  void end_step() override {
    if (ProcessGroup* const group = std::exchange(group_, nullptr)) pool_.give_back(*group);
  }

 private:
  StageProcessPool& pool_;
  const std::uint64_t program_;
  StageTask task_;
  ProcessGroup* group_ = nullptr;  // during a step
};

StageProcessPool::StageProcessPool(StageHosts hosts, std::function<void(const LostRank&)> on_loss)
    : hosts_(std::move(hosts)), on_loss_(std::move(on_loss)) {}

StageProcessPool::~StageProcessPool() = default;

std::shared_ptr<program::RemoteRanks> StageProcessPool::ranks(StageTask task) {
  const std::lock_guard lock(mutex_);
  return std::make_shared<BorrowedGroup>(*this, ++programs_, std::move(task));
}

// Prefers a group that has compiled this program, then one without program, then any.
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
