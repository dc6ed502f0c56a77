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
/// (with_token). The engine thus notices a lost, repeated or reordered message when the next one arrives.
enum class WireKind : std::uint16_t {
  // From the worker.
  kHello = 1,         ///< The first message: a Hello.
  kReady = 2,         ///< After the welcome: it can receive jobs.
  kReport = 3,        ///< A lease token (0: the report is of no trial) and a Report.
  kRefused = 4,       ///< A lease token, a list of one trial and an ExecutorErrorReport: the trial cannot start.
  kAnswer = 5,        ///< Answer to a MeasureRequest: metrics by name.
  kNoAnswer = 6,      ///< Answer to a MeasureRequest that failed: an ExecutorErrorReport.
  kActiveTrials = 7,  ///< The trials in the steps that are computed from now on.
  kBroken = 8,        ///< An ExecutorErrorReport of the worker itself; its last message.
  // From the engine.
  kWelcome = 20,   ///< A Welcome: the answer to a valid hello.
  kRejected = 21,  ///< An ExecutorErrorReport: the answer to an invalid hello, and the last message.
  kStart = 22,     ///< A lease token and a Job.
  kCommand = 23,   ///< A Command.
  kQuestion = 24,  ///< A MeasureRequest.
  // From both.
  kHeartbeat = 40,  ///< An empty text, sent every quarter of a lease and at least every second.
};

/// Most bytes that the text of a message of this kind may have; 0 for an unknown kind.
std::size_t max_message_bytes(std::uint16_t kind);
/// Most bytes that the text of a message of this kind may have if the peer has not sent a hello; 0 for every kind but
/// hello.
std::size_t max_message_bytes_before_hello(std::uint16_t kind);

/// First message of a worker. Its content is not trusted.
struct Hello {
  std::int64_t protocol = kWorkerProtocol;  ///< Its kWorkerProtocol.
  std::string build;                        ///< Its build_fingerprint().
  std::int64_t process = 0;                 ///< Its process id.
  std::string host = {};                    ///< Its local_host_name() (host.h); empty: unknown.
};
/// The message text of a hello.
std::string encode(const Hello& hello);
/// Reads the text of a hello. Errors: kDataLoss (malformed).
Result<Hello> decode_hello(std::string_view text);
/// Checks that a hello has this protocol and the build fingerprint `build`. Errors: kFailedPrecondition (another one;
/// the text has both).
Result<void> check_hello(const Hello& hello, const std::string& build);

/// The engine's answer to a hello.
struct Welcome {
  double lease_seconds = 10;   ///< Length of a lease in seconds.
  WorkerConfig worker_config;  ///< Configuration of the worker.
};
/// The message text of a welcome.
std::string encode(const Welcome& welcome);
/// Reads the text of a welcome. Errors: kDataLoss (malformed).
Result<Welcome> decode_welcome(std::string_view text);

/// The message text of a list of active trials.
std::string encode(const std::vector<TrialId>& trials);
/// Reads the text of a list of trials, in its order. Errors: kDataLoss (malformed).
Result<std::vector<TrialId>> decode_trials(std::string_view text);

/// A request to a worker to measure stored weights, as Executor::measure.
struct MeasureRequest {
  std::vector<EvaluatedMember> members;  ///< Trials to measure or to blend, at least one.
  data::Part part = data::Part::kTest;   ///< Part of the data on which they are measured.
};
/// The message text of a measurement request.
std::string encode(const MeasureRequest& question);
/// Reads the text of a measurement request. Errors: kDataLoss (malformed).
Result<MeasureRequest> decode_measure_request(const std::string& text);

/// The message text of measured metrics by name.
std::string encode_measured_metrics(const std::map<std::string, double>& metrics);
/// Reads the text of measured metrics. Errors: kDataLoss (malformed).
Result<std::map<std::string, double>> decode_measured_metrics(std::string_view text);

/// The message text of an error. An error message above 16 KiB is cut.
std::string encode(const Error& error);
/// Reads the text of an error. An invalid text gives an error that describes it.
Error decode_error(std::string_view text);
/// Reads the text of an error. Errors: kDataLoss (the text is invalid).
Result<ExecutorErrorReport> read_error(std::string_view text);

}  // namespace lanista::engine
