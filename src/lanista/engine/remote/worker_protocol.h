#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/ipc/frame_reader.h"
#include "lanista/ipc/numbered_text.h"
#include "lanista/engine/remote/worker_config.h"

// What engine and worker process say to each other over a Channel: kinds of messages, and the forms of their texts
// where those are more than messages.h has. Free functions; thread-safe. Errors of readers: kDataLoss.
namespace lanista::engine {

inline constexpr std::int64_t kWorkerProtocol = 3;

// After its hello, a worker numbers its messages: each text begins with the message's number (with_token), from 1 on. So
// a message that is lost, repeated or moved on its way is noticed with the next one.
enum class WireKind : std::uint16_t {
  // Of the worker.
  kHello = 1,     ///< the first: a Hello
  kReady = 2,     ///< after the welcome: orders may come
  kReport = 3,    ///< a token and a Report
  kRefused = 4,   ///< a token and, as a ExecutorErrorReport, why the trial cannot be started
  kAnswer = 5,    ///< to a question: metrics
  kNoAnswer = 6,  ///< to a question: why not, as a ExecutorErrorReport
  kActiveTrials = 7,    ///< the trials whose steps are computed from now on
  kBroken = 8,    ///< a ExecutorErrorReport; nothing follows
  // Of the engine.
  kWelcome = 20,    ///< a Welcome
  kRejected = 21,  ///< why not, as a ExecutorErrorReport; nothing follows
  kStart = 22,      ///< a token and a Job
  kCommand = 23,    ///< a Command
  kQuestion = 24,   ///< a MeasureRequest
  // Of both.
  kHeartbeat = 40,  ///< I am here; every quarter of a lease, and every second at least
};

/// The most bytes that the text of a message of this kind may have; 0 also where there is no such kind.
std::size_t max_message_bytes(std::uint16_t kind);
/// The same for a peer from which no hello has arrived: it may send nothing else.
std::size_t max_message_bytes_before_hello(std::uint16_t kind);

/// Who knocks.
struct Hello {
  std::int64_t protocol = kWorkerProtocol;
  std::string build;  ///< build_fingerprint()
  std::int64_t process = 0;
  std::string host = {};  ///< local_host_name(); untrusted as all of it, see host.h
};
std::string encode(const Hello& hello);
Result<Hello> decode_hello(std::string_view text);
/// Errors: kFailedPrecondition (another version: which, and which is allowed).
Result<void> check_hello(const Hello& hello, const std::string& build);

struct Welcome {
  double lease_seconds = 10;
  WorkerConfig worker_config;
};
std::string encode(const Welcome& welcome);
Result<Welcome> decode_welcome(std::string_view text);

std::string encode(const std::vector<TrialId>& trials);
Result<std::vector<TrialId>> decode_trials(std::string_view text);

/// What is to be measured.
struct MeasureRequest {
  std::vector<EvaluatedMember> members;
  data::Part part = data::Part::kTest;
};
std::string encode(const MeasureRequest& question);
Result<MeasureRequest> decode_measure_request(const std::string& text);

std::string encode_measured_metrics(const std::map<std::string, double>& metrics);
Result<std::map<std::string, double>> decode_measured_metrics(std::string_view text);

/// A message above 16 KiB is cut.
std::string encode(const Error& error);
/// What is no error is one of its own.
Error decode_error(std::string_view text);
/// The error that a text holds. Errors: kDataLoss (it holds none).
Result<ExecutorErrorReport> read_error(std::string_view text);

}  // namespace lanista::engine
