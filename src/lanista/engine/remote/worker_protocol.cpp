#include "lanista/engine/remote/worker_protocol.h"

#include <charconv>
#include <sstream>
#include <variant>

#include "lanista/base/real_json.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/io/store/record_json.h"
#include "lanista/search/study/record_table.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using namespace study::fields;

constexpr std::size_t kMaxErrorBytes = 16384;
constexpr std::size_t kKiB = 1024, kMiB = kKiB * kKiB;

std::string one_line(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

void table(FieldTable& t, Hello& hello) {
  t("protocol", hello.protocol)("build", hello.build)("process", hello.process);
  if (t.has("host", true)) t("host", hello.host);  // absent in older builds, which must receive the error
}

using Trials = std::vector<TrialId>;
void id_table(FieldTable& t, TrialId& trial) { t("trial", trial); }
void table(FieldTable& t, Trials& trials) { t.list("trials", trials, id_table); }
using Metrics = std::map<std::string, double>;
void table(FieldTable& t, Metrics& metrics) { t("metrics", metrics); }

}  // namespace

std::size_t max_message_bytes(std::uint16_t kind) {
  switch (static_cast<WireKind>(kind)) {
    case WireKind::kHello:
      return 64 * kKiB;
    case WireKind::kReady:
    case WireKind::kHeartbeat:
      return 64;
    case WireKind::kReport:
      return 8 * kMiB;
    case WireKind::kActiveTrials:
    case WireKind::kWelcome:
      return 4 * kMiB;
    case WireKind::kRefused:
    case WireKind::kAnswer:
    case WireKind::kNoAnswer:
    case WireKind::kBroken:
    case WireKind::kRejected:
      return kMiB;
    case WireKind::kStart:
    case WireKind::kCommand:
    case WireKind::kQuestion:
      return FrameReader::kMaxBytes;
  }
  return 0;
}

std::size_t max_message_bytes_before_hello(std::uint16_t kind) {
  return static_cast<WireKind>(kind) == WireKind::kHello ? max_message_bytes(kind) : 0;
}

std::string encode(const Hello& hello) { return one_line(write_table(hello, table)); }

Result<Hello> decode_hello(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_table<Hello>("hello", in, table);
}

Result<void> check_hello(const Hello& hello, const std::string& build) {
  if (hello.protocol == kWorkerProtocol && hello.build == build) return {};
  return Error{Code::kFailedPrecondition,
               "a worker of lanista " + hello.build + " (protocol " + std::to_string(hello.protocol) +
                   ") cannot work for this engine; allowed: the engine's own build, lanista " + build + " (protocol " +
                   std::to_string(kWorkerProtocol) + ")",
               "process " + std::to_string(hello.process)};
}

std::string encode(const Welcome& welcome) {
  return one_line({{"lease_seconds", real_json(welcome.lease_seconds)}}) + "\n" + encode(welcome.worker_config);
}

Result<Welcome> decode_welcome(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return Error{Code::kDataLoss, "broken welcome: no worker configuration", ""};
  LANISTA_ASSIGN(const json in, store::parse_record_json(text.substr(0, end)));
  LANISTA_ASSIGN(WorkerConfig worker_config, decode_worker_config(text.substr(end + 1)));
  return read_record<Welcome>("welcome", [&] {
    Welcome welcome{real(in, "lease_seconds"), std::move(worker_config)};
    if (!(welcome.lease_seconds > 0)) throw Malformed{"'lease_seconds' is not above 0"};
    return welcome;
  });
}

std::string encode(const Trials& trials) { return one_line(write_table(trials, table)); }

Result<Trials> decode_trials(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_table<Trials>("list of trials", in, table);
}

// One line with part, weights and shares, and a line for each job.
std::string encode(const MeasureRequest& question) {
  json head{{"part", static_cast<int>(question.part)}, {"members", json::array()}};
  std::string jobs;
  for (const EvaluatedMember& member : question.members) {
    head["members"].push_back({{"weights", member.weights}, {"share", real_json(member.share)}});
    jobs += "\n" + encode(ExecutorRequest(member.job));
  }
  return one_line(head) + jobs;
}

Result<MeasureRequest> decode_measure_request(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  LANISTA_ASSIGN(const json head, store::parse_record_json(line));
  return read_record<MeasureRequest>("question", [&] {
    const std::int64_t part = integer(head, "part");
    if (part < 0 || part > static_cast<std::int64_t>(data::Part::kTest)) throw Malformed{"no such part"};
    MeasureRequest out{{}, static_cast<data::Part>(part)};
    for (const json& member : array(head, "members")) {
      if (!std::getline(lines, line)) throw Malformed{"a member without a job"};
      ExecutorRequest order = good(decode_executor_request(line));
      auto* job = std::get_if<Job>(&order);
      if (job == nullptr) throw Malformed{"a member has a command in the place of a job"};
      out.members.push_back({std::move(*job), study::fields::text(member, "weights"), real(member, "share")});
    }
    if (out.members.empty()) throw Malformed{"the request has no member"};
    return out;
  });
}

std::string encode_measured_metrics(const Metrics& metrics) { return one_line(write_table(metrics, table)); }

Result<Metrics> decode_measured_metrics(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_table<Metrics>("answer", in, table);
}

std::string encode(const Error& error) {
  Error cut = error;
  if (cut.message.size() > kMaxErrorBytes) cut.message.resize(kMaxErrorBytes);
  if (cut.where.size() > kMaxErrorBytes) cut.where.resize(kMaxErrorBytes);
  return encode(Report(ExecutorErrorReport{std::move(cut)}));
}

Result<ExecutorErrorReport> read_error(std::string_view text) {
  LANISTA_ASSIGN(Report report, decode_report(text));
  auto* broken = std::get_if<ExecutorErrorReport>(&report);
  if (broken == nullptr) return Error{Code::kDataLoss, "a report where an error was due", ""};
  return std::move(*broken);
}

Error decode_error(std::string_view text) {
  auto read = read_error(text);
  return read ? std::move(read->error) : std::move(read).error();
}

}  // namespace lanista::engine
