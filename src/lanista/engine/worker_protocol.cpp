#include "lanista/engine/worker_protocol.h"

#include <charconv>
#include <sstream>
#include <variant>

#include "lanista/base/real_json.h"
#include "lanista/engine/messages.h"
#include "lanista/store/record_json.h"
#include "lanista/study/record_fields.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using study::fields::good;
using study::fields::integer;
using study::fields::Malformed;
using study::fields::read_record;

std::string one_line(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string encode(const Hello& hello) {
  return one_line(
      {{"protocol", hello.protocol}, {"build", hello.build}, {"process", hello.process}, {"host", hello.host}});
}

Result<Hello> decode_hello(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_record<Hello>("hello", [&] {
    Hello hello{integer(in, "protocol"), study::fields::text(in, "build"), integer(in, "process")};
    if (in.contains("host")) hello.host = study::fields::text(in, "host");  // other builds are to hear that they are
    return hello;
  });
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
  return one_line({{"lease_seconds", real_json(welcome.lease_seconds)}}) + "\n" + encode(welcome.brief);
}

Result<Welcome> decode_welcome(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return Error{Code::kDataLoss, "broken welcome: no brief", ""};
  LANISTA_ASSIGN(const json in, store::parse_record_json(text.substr(0, end)));
  LANISTA_ASSIGN(WorkerBrief brief, decode_brief(text.substr(end + 1)));
  return read_record<Welcome>("welcome", [&] {
    Welcome welcome{study::fields::real(in, "lease_seconds"), std::move(brief)};
    if (!(welcome.lease_seconds > 0)) throw Malformed{"'lease_seconds' is not above 0"};
    return welcome;
  });
}

std::string with_token(std::uint64_t token, std::string_view text) {
  std::string out = std::to_string(token) + "\n";
  return out.append(text);
}

Result<Tokened> split_token(const std::string& text) {
  Tokened out;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out.token);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != '\n') {
    return Error{Code::kDataLoss, "a message without the number of its lease", ""};
  }
  out.text.assign(read.ptr + 1, end);
  return out;
}

std::string encode(const std::vector<TrialId>& trials) {
  json out = json::array();
  for (const TrialId trial : trials) out.push_back({{"trial", trial.value}});
  return one_line({{"trials", std::move(out)}});
}

Result<std::vector<TrialId>> decode_trials(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_record<std::vector<TrialId>>("list of trials", [&] {
    std::vector<TrialId> trials;
    for (const json& each : study::fields::array(in, "trials")) trials.push_back(study::fields::trial(each, "trial"));
    return trials;
  });
}

// A line with part, weights and shares, and a line for each job.
std::string encode(const Question& question) {
  json head{{"part", static_cast<int>(question.part)}, {"members", json::array()}};
  std::string jobs;
  for (const Tested& member : question.members) {
    head["members"].push_back({{"weights", member.weights}, {"share", real_json(member.share)}});
    jobs += "\n" + encode(Order(member.job));
  }
  return one_line(head) + jobs;
}

Result<Question> decode_question(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  LANISTA_ASSIGN(const json head, store::parse_record_json(line));
  return read_record<Question>("question", [&] {
    const std::int64_t part = integer(head, "part");
    if (part < 0 || part > static_cast<std::int64_t>(data::Part::kTest)) throw Malformed{"no such part"};
    Question out{{}, static_cast<data::Part>(part)};
    for (const json& member : study::fields::array(head, "members")) {
      if (!std::getline(lines, line)) throw Malformed{"a member without a job"};
      Order order = good(decode_order(line));
      auto* job = std::get_if<Job>(&order);
      if (job == nullptr) throw Malformed{"a member whose job is a command"};
      out.members.push_back(
          {std::move(*job), study::fields::text(member, "weights"), study::fields::real(member, "share")});
    }
    if (out.members.empty()) throw Malformed{"nobody is asked about"};
    return out;
  });
}

std::string encode_metrics(const std::map<std::string, double>& metrics) {
  return one_line({{"metrics", study::fields::metrics_json(metrics)}});
}

Result<std::map<std::string, double>> decode_metrics(std::string_view text) {
  LANISTA_ASSIGN(const json in, store::parse_record_json(text));
  return read_record<std::map<std::string, double>>("answer", [&] { return study::fields::metrics(in, "metrics"); });
}

std::string encode(const Error& error) { return encode(Report(BrokenReport{error})); }

Error decode_error(std::string_view text) {
  auto report = decode_report(text);
  if (!report) return std::move(report).error();
  if (auto* broken = std::get_if<BrokenReport>(&*report)) return std::move(broken->error);
  return {Code::kDataLoss, "a report where an error was due", ""};
}

}  // namespace lanista::engine
