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
#include "lanista/exec/pipeline_parallel/stage_inbox.h"
#include "lanista/exec/pipeline_parallel/stage_wire.h"
#include "lanista/ipc/channel.h"

namespace lanista::runtime {

/// One rank's end of the channels between ranks with separate memory.
///
/// All channels lead to rank 0, which forwards messages for other ranks. So every rank receives messages in one order,
/// and needs a connection to rank 0 only. The object has a thread that receives messages and applies them to the rank's
/// memory. The rank's own thread sends.
class StageChannelTransport final : public program::StageTransport {
 public:
  /// `memory` is the rank's copy of the memory of `map`, and `own` its rank. `channels` are those to ranks 1, 2, ... on
  /// rank 0; on another rank only that to rank 0.
  ///
  /// The caller must not use the channels until end(). On rank 0, a channel that is silent for `heartbeat_timeout_s`
  /// seconds has failed. Throws std::system_error.
  StageChannelTransport(program::StageMemoryMap map, std::byte* memory, std::uint32_t own,
                        std::vector<engine::Channel*> channels, double heartbeat_timeout_s = kHeartbeatTimeoutSeconds);
  StageChannelTransport(const StageChannelTransport&) = delete;
  StageChannelTransport& operator=(const StageChannelTransport&) = delete;
  ~StageChannelTransport() override;

  void send(const program::StageSignal& signal) override;
  /// Sends bytes to offset `at` of the memory of rank `rank`. Waits while more than kMaxUnsentBytes are unsent. Bytes
  /// for a failed channel are dropped.
  void write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) override;

  /// Stops sending and receiving, and returns the channels to the caller. Afterwards fault() reports channel 0. A
  /// second call does nothing.
  void end();

  /// A channel that is closed, silent or has broken the protocol.
  struct Fault {
    std::size_t end = 0;  ///< Index in `channels` of the constructor.
    std::string why;      ///< Reason for people; empty: the channel is closed.
  };
  /// Returns the failed channel with the lowest index; nothing if all work.
  std::optional<Fault> fault();
  /// True if a message that is not of this protocol has arrived, on a rank other than 0. The receiving thread has then
  /// ended.
  bool has_unread();
  /// Removes and returns the message of has_unread(); nothing if there is none.
  std::optional<engine::Message> take_unread();

  static constexpr double kHeartbeatTimeoutSeconds = 30;  ///< Default of the constructor's `heartbeat_timeout_s`.
  /// Most unsent bytes of a channel before write() waits. Buffers that grow use a small multiple of it, which
  /// program::Stages::rank_bytes includes.
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

  const program::StageMemoryMap map_;
  std::byte* const memory_;
  const std::uint32_t own_rank_;
  const std::chrono::duration<double> heartbeat_timeout_;
  program::StageInbox inbox_;  // for the thread
  std::vector<engine::Channel*> channels_;
  int wake_descriptor_ = -1;  // readable when there is more to send

  std::mutex mutex_;  // protects the channels and the following fields
  std::condition_variable bytes_sent_;
  std::vector<std::chrono::steady_clock::time_point> last_received_;
  std::vector<std::optional<std::string>> faults_;  // of each channel
  std::optional<engine::Message> unread_;
  std::jthread thread_;  // must be the last member
};

}  // namespace lanista::runtime
