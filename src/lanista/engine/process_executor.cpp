#include "lanista/engine/process_executor.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/engine/messages.h"
#include "lanista/study/record_fields.h"

namespace lanista::engine::testing {
namespace {

// Kinds of messages on a channel.
constexpr char kOrder = 'o';   // an Order; a job is answered
constexpr char kTest = 't';    // what is to be measured (question); is answered
constexpr char kReport = 'r';  // a Report
constexpr char kDone = 'd';    // an answer: of a test, its metrics as an EpochReport
constexpr char kError = 'e';   // an answer: a BrokenReport

std::string error_text(const Error& error) { return encode(Report(BrokenReport{error})); }

std::string metrics_text(TrialId trial, const std::map<std::string, double>& metrics) {
  return encode(Report(EpochReport{{trial, 1, 1, metrics}}));
}

/// What is to be measured: a line of JSON with part, weights and shares, and a line for each job.
struct Question {
  std::vector<Tested> members;
  data::Part part = data::Part::kTest;
};

std::string question(std::span<const Tested> members, data::Part part) {
  nlohmann::json head{{"part", static_cast<int>(part)}};
  std::string jobs;
  for (const Tested& member : members) {
    head["members"].push_back({{"weights", member.weights}, {"share", member.share}});
    jobs += "\n" + encode(Order(member.job));
  }
  return head.dump() + jobs;
}

Result<Question> read_question(const std::string& text) {
  return study::fields::read_record<Question>("question", [&] {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    const auto head = nlohmann::json::parse(line);
    Question out{{}, static_cast<data::Part>(study::fields::integer(head, "part"))};
    for (const auto& member : study::fields::array(head, "members")) {
      if (!std::getline(lines, line)) throw study::fields::Malformed{"a member without a job"};
      const Order order = study::fields::good(decode_order(line));
      out.members.push_back({std::get<Job>(order), member.at("weights"), member.at("share")});
    }
    if (out.members.empty()) throw study::fields::Malformed{"nobody is asked about"};
    return out;
  });
}

bool is_of(const Report& report, TrialId trial) {
  const auto* epoch = std::get_if<EpochReport>(&report);
  const auto* failure = std::get_if<FailureReport>(&report);
  const auto* finished = std::get_if<FinishedReport>(&report);
  return (epoch != nullptr && epoch->measurement.trial == trial) || (failure != nullptr && failure->trial == trial) ||
         (finished != nullptr && finished->trial == trial);
}

Result<Order> heard(const Order& order) { return decode_order(encode(order)); }

}  // namespace

// In this process.

Result<void> WireExecutor::start(const Job& job) {
  LANISTA_ASSIGN(const Order order, heard(job));
  return inner_->start(std::get<Job>(order));
}

void WireExecutor::command(const Command& command) {
  const auto order = heard(command);
  LANISTA_CHECK(order.ok(), "a command is not read again: " + order.error().text());
  inner_->command(std::get<Command>(*order));
}

std::optional<Report> WireExecutor::next(double seconds) {
  const auto report = inner_->next(seconds);
  if (!report) return std::nullopt;
  auto told = decode_report(encode(*report));
  LANISTA_CHECK(told.ok(), "a report is not read again: " + told.error().text());
  return *std::move(told);
}

Result<std::map<std::string, double>> WireExecutor::measure(std::span<const Tested> members, data::Part part) {
  std::vector<Tested> told(members.begin(), members.end());
  for (Tested& member : told) {
    LANISTA_ASSIGN(const Order order, heard(member.job));
    member.job = std::get<Job>(order);
  }
  return inner_->measure(told, part);
}

// The channel.

Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      gone_(other.gone_) {}

Channel::~Channel() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
}

void Channel::send(char kind, std::string_view text) {
  std::array<char, sizeof(std::uint32_t)> length{};
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(length.data(), &size, sizeof(size));
  out_.append(length.data(), length.size());
  out_ += kind;
  out_ += text;
  pump(0);
}

std::optional<Channel::Message> Channel::receive(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (bool looked = false;; looked = true) {
    if (auto message = cut()) return message;
    if (gone_) in_.clear();  // half a message
    const std::chrono::duration<double, std::milli> left = until - std::chrono::steady_clock::now();
    if (gone_ || (looked && left.count() <= 0)) return std::nullopt;
    pump(static_cast<int>(std::clamp(std::ceil(left.count()), 0.0, 1e6)));
  }
}

void Channel::flush() {
  while (!out_.empty() && !gone_) pump(100);
}

/// Reads and writes what can be read and written; where that is nothing, waits for something.
void Channel::pump(int milliseconds) {
  pollfd poll{socket_, static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  if (::poll(&poll, 1, milliseconds) <= 0) return;
  if ((poll.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    std::array<char, 65536> bytes{};
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) in_.append(bytes.data(), static_cast<std::size_t>(got));
    const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (got <= 0 && !later) gone_ = true;
  }
  if ((poll.revents & POLLOUT) != 0) {
    const ssize_t put = ::send(socket_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) out_.erase(0, static_cast<std::size_t>(put));
  }
}

std::optional<Channel::Message> Channel::cut() {
  std::uint32_t size = 0;
  if (in_.size() < sizeof(size) + 1) return std::nullopt;
  std::memcpy(&size, in_.data(), sizeof(size));
  const std::size_t head = sizeof(size) + 1;
  if (in_.size() - head < size) return std::nullopt;
  Message message{in_[head - 1], in_.substr(head, size)};
  in_.erase(0, head + size);
  return message;
}

// The parent.

ProcessExecutor::ProcessExecutor(const std::function<void(Channel&)>& work) {
  std::array<int, 2> ends{};
  LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "no pair of sockets");
  child_ = ::fork();
  LANISTA_CHECK(child_ >= 0, "no child");
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    int code = 0;
    try {
      Channel channel(ends[1]);
      work(channel);
    } catch (...) {
      code = 1;
    }
    ::_exit(code);  // the parent's objects are not the child's to destroy
  }
  ::close(ends[1]);
  channel_.emplace(ends[0]);
}

ProcessExecutor::~ProcessExecutor() {
  channel_.reset();
  ::waitpid(child_, nullptr, 0);
}

void ProcessExecutor::take(const Channel::Message& message) {
  auto report = decode_report(message.text);
  if (message.kind != kReport || !report) {
    broken_ = Error{Code::kDataLoss, "the worker process says what is no report", ""};
  } else {
    reports_.push_back(*std::move(report));
  }
}

/// What to say of a broken executor.
std::optional<Report> ProcessExecutor::told() {
  if (!broken_ && channel_->closed()) broken_ = Error{Code::kUnavailable, "the worker process is gone", ""};
  if (broken_) return BrokenReport{*broken_};
  return std::nullopt;
}

/// None: the executor is broken. Error: of the answer.
Result<std::optional<Report>> ProcessExecutor::answer() {
  while (!told()) {
    const auto message = channel_->receive(1);
    if (!message) continue;
    if (message->kind == kDone && message->text.empty()) return std::optional<Report>(PausedReport{});
    const bool answers = message->kind == kDone || message->kind == kError;
    auto report = decode_report(message->text);
    if (!answers || !report) {
      take(*message);
    } else if (const auto* error = std::get_if<BrokenReport>(&*report); message->kind == kError && error != nullptr) {
      return error->error;
    } else {
      return std::optional<Report>(*std::move(report));
    }
  }
  return std::optional<Report>();
}

Result<void> ProcessExecutor::start(const Job& job) {
  channel_->send(kOrder, encode(Order(job)));
  LANISTA_TRY(answer());
  std::erase_if(reports_, [&](const Report& report) { return is_of(report, job.trial); });
  return {};
}

void ProcessExecutor::command(const Command& command) { channel_->send(kOrder, encode(Order(command))); }

std::optional<Report> ProcessExecutor::next(double seconds) {
  if (reports_.empty() && !broken_) {
    if (const auto message = channel_->receive(seconds)) take(*message);
  }
  if (reports_.empty()) return told();
  Report report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

Result<std::map<std::string, double>> ProcessExecutor::measure(std::span<const Tested> members, data::Part part) {
  channel_->send(kTest, question(members, part));
  LANISTA_ASSIGN(const auto report, answer());
  const auto* metrics = report ? std::get_if<EpochReport>(&*report) : nullptr;
  if (metrics == nullptr) return Error{Code::kUnavailable, "the worker process is gone", ""};
  return metrics->measurement.metrics;
}

// The child.

namespace {

/// Answers; false: it is no question.
bool answer_question(Channel& channel, Executor& executor, const std::string& text) {
  const auto asked = read_question(text);
  if (!asked) return false;
  const auto metrics = executor.measure(asked->members, asked->part);
  const TrialId first = asked->members.front().job.trial;
  channel.send(metrics ? kDone : kError, metrics ? metrics_text(first, *metrics) : error_text(metrics.error()));
  return true;
}

/// Obeys; false: it is no order.
bool obey(Channel& channel, Executor& executor, const Channel::Message& message) {
  if (message.kind == kTest) return answer_question(channel, executor, message.text);
  const auto order = decode_order(message.text);
  if (!order) return false;
  if (const auto* command = std::get_if<Command>(&*order)) {
    executor.command(*command);
    return true;
  }
  const auto started = executor.start(std::get<Job>(*order));
  channel.send(started ? kDone : kError, started ? "" : error_text(started.error()));
  return true;
}

}  // namespace

void serve(Channel& channel, Executor& executor) {
  bool tells = false;
  while (!channel.closed()) {
    if (const auto message = channel.receive(tells ? 0 : 0.001)) {
      if (!obey(channel, executor, *message)) {
        channel.send(kReport, error_text({Code::kDataLoss, "the worker process was told what is no order", ""}));
        return channel.flush();
      }
      continue;  // orders first
    }
    const auto report = executor.next(0);
    tells = report.has_value();
    if (!report) continue;
    channel.send(kReport, encode(*report));
    if (std::holds_alternative<BrokenReport>(*report)) return channel.flush();
  }
}

}  // namespace lanista::engine::testing
