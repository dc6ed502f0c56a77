#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/exec/pipeline_parallel/stage_inbox.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"

namespace lanista::runtime {

/// One place's end of the channels between places that do not see each other's memory. All of them go to the first
/// place, which hands on what is for others: so everybody hears things in the order in which they came about, and no
/// place has to be reached by another one than who began it. A thread of its own listens, and keeps the place's memory
/// up to date; whoever computes speaks. Two threads: that of the place, and its own.
class StageChannelTransport final : public nn::StageTransport {
 public:
  /// `channels` are those of places 1, 2, ... at place 0; at another place that of place 0 alone. They, and the memory, are
  /// not to be touched meanwhile. An end of place 0 that is silent for `heartbeat_timeout_s` is at fault. Throws
  /// std::system_error.
  StageChannelTransport(nn::StageMemoryMap map, std::byte* memory, std::uint32_t own, std::vector<engine::Channel*> channels,
            double heartbeat_timeout_s = kHeartbeatTimeoutSeconds);
  StageChannelTransport(const StageChannelTransport&) = delete;
  StageChannelTransport& operator=(const StageChannelTransport&) = delete;
  ~StageChannelTransport() override;

  void send(const nn::StageSignal& signal) override;
  /// Waits while more is on its way than is kept.
  void write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) override;

  /// Neither listens nor speaks any longer; the ends are the caller's again. Once.
  void end();

  struct Fault {
    std::size_t end = 0;
    std::string why;  ///< empty: it is gone
  };
  /// The first end that is gone, or has said what it must not.
  std::optional<Fault> fault();
  /// At another place than 0: what came that is not for this; the thread has ended then.
  bool has_unread();
  std::optional<engine::Message> take_unread();

  static constexpr double kHeartbeatTimeoutSeconds = 30;  ///< seconds
  /// Bytes that an end has not taken yet. Strings that grow take some times as much (nn::Stages::rank_bytes knows it).
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{1} << 20;

 private:
  void listen(const std::stop_token& stop);
  void wait_for_io();
  bool receive_all(std::size_t end);
  Result<void> handle_message(std::size_t end, engine::Message& message);
  Result<void> handle_bytes(std::size_t end, const engine::Message& message);
  Result<void> handle_signal(std::size_t end, const engine::Message& message);
  void exchange_heartbeats();
  void send(std::size_t end, StageWire kind, std::string_view text);
  void wake() const;
  void wait_for_send_buffer(std::size_t end);

  const nn::StageMemoryMap map_;
  std::byte* const memory_;
  const std::uint32_t own_rank_;
  const std::chrono::duration<double> heartbeat_timeout_;
  nn::StageInbox inbox_;  // of the thread
  std::vector<engine::Channel*> channels_;
  int wake_descriptor_ = -1;  // a descriptor that can be read when there is more to write

  std::mutex mutex_;  // of all channels, and of what follows
  std::condition_variable bytes_sent_;
  std::vector<std::chrono::steady_clock::time_point> last_received_;
  std::vector<std::optional<std::string>> faults_;  // of each end
  std::optional<engine::Message> unread_;
  std::jthread thread_;  // last
};

}  // namespace lanista::runtime
