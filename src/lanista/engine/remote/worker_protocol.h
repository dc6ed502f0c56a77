#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/ipc/frame_reader.h"
#include "lanista/ipc/numbered_text.h"

// Messages between engine and worker process over a Channel: their kinds, and the texts that messages.h does not have.
// All functions are thread-safe. Errors of readers: kDataLoss.
namespace lanista::engine {

/// Version of the protocol; both sides must have the same.
inline constexpr std::int64_t kWorkerProtocol = 3;

/// Kind of a message. After its hello a worker numbers its messages: each text begins with the number, from 1 on
/// (with_token). The engine thus notices a lost, repeated or reordered message with the next one.
enum class WireKind : std::uint16_t {
  // From the worker.
  kHello = 1,         ///< The first message: a Hello.
  kReady = 2,         ///< After the welcome: it can receive jobs.
  kReport = 3,        ///< A token and a Report.
  kRefused = 4,       ///< A token and an ExecutorErrorReport: the trial cannot start.
  kAnswer = 5,        ///< Answer to a MeasureRequest: metrics.
  kNoAnswer = 6,      ///< Answer to a MeasureRequest: an ExecutorErrorReport.
  kActiveTrials = 7,  ///< The trials in the steps that are computed from now on.
  kBroken = 8,        ///< An ExecutorErrorReport; the last message.
  // From the engine.
  kWelcome = 20,   ///< A Welcome.
  kRejected = 21,  ///< An ExecutorErrorReport; the last message.
  kStart = 22,     ///< A token and a Job.
  kCommand = 23,   ///< A Command.
  kQuestion = 24,  ///< A MeasureRequest.
  // From both.
  kHeartbeat = 40,  ///< Sent every quarter of a lease, at least every second.
};

/// Most bytes in the text of a message of this kind; 0 for an unknown kind.
std::size_t max_message_bytes(std::uint16_t kind);
/// Most bytes in the text of a message from a peer without a hello; 0 for every kind but hello.
std::size_t max_message_bytes_before_hello(std::uint16_t kind);

/// First message of a worker. Its content is untrusted.
struct Hello {
  std::int64_t protocol = kWorkerProtocol;  ///< Version of the protocol.
  std::string build;                        ///< build_fingerprint().
  std::int64_t process = 0;                 ///< Process id.
  std::string host = {};                    ///< local_host_name(); see host.h.
};
/// The text of a hello.
std::string encode(const Hello& hello);
/// Reads a hello.
Result<Hello> decode_hello(std::string_view text);
/// Checks protocol and build. Errors: kFailedPrecondition (another version; the text has both).
Result<void> check_hello(const Hello& hello, const std::string& build);

/// The engine's answer to a hello.
struct Welcome {
  double lease_seconds = 10;   ///< Length of a lease.
  WorkerConfig worker_config;  ///< Configuration of the worker.
};
/// The text of a welcome.
std::string encode(const Welcome& welcome);
/// Reads a welcome.
Result<Welcome> decode_welcome(std::string_view text);

/// The text of a list of trials.
std::string encode(const std::vector<TrialId>& trials);
/// Reads a list of trials.
Result<std::vector<TrialId>> decode_trials(std::string_view text);

/// A request to measure stored weights.
struct MeasureRequest {
  std::vector<EvaluatedMember> members;  ///< As in Executor::measure.
  data::Part part = data::Part::kTest;   ///< Part of the data.
};
/// The text of a measurement request.
std::string encode(const MeasureRequest& question);
/// Reads a measurement request.
Result<MeasureRequest> decode_measure_request(const std::string& text);

/// The text of measured metrics.
std::string encode_measured_metrics(const std::map<std::string, double>& metrics);
/// Reads measured metrics.
Result<std::map<std::string, double>> decode_measured_metrics(std::string_view text);

/// The text of an error. A message above 16 KiB is cut.
std::string encode(const Error& error);
/// Reads an error. An invalid text becomes an error that describes it.
Error decode_error(std::string_view text);
/// Reads an error. Errors: kDataLoss (the text is invalid).
Result<ExecutorErrorReport> read_error(std::string_view text);

}  // namespace lanista::engine
