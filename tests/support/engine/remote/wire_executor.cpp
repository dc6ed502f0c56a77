#include "support/engine/remote/wire_executor.h"

#include <variant>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/engine/remote/messages.h"

namespace lanista::engine::testing {
namespace {

Result<ExecutorRequest> decoded_copy(const ExecutorRequest& order) { return decode_executor_request(encode(order)); }

}  // namespace

Result<void> WireExecutor::start(const Job& job) {
  LANISTA_ASSIGN(const ExecutorRequest order, decoded_copy(job));
  return inner_->start(std::get<Job>(order));
}

void WireExecutor::command(const Command& command) {
  const auto order = decoded_copy(command);
  LANISTA_CHECK(order.ok(), "a command is not read again: " + order.error().text());
  inner_->command(std::get<Command>(*order));
}

std::optional<Report> WireExecutor::next(double seconds) {
  const auto report = inner_->next(seconds);
  if (!report) return std::nullopt;
  auto decoded = decode_report(encode(*report));
  LANISTA_CHECK(decoded.ok(), "a report is not read again: " + decoded.error().text());
  return *std::move(decoded);
}

Result<std::map<std::string, double>> WireExecutor::measure(std::span<const EvaluatedMember> members, data::Part part) {
  std::vector<EvaluatedMember> decoded(members.begin(), members.end());
  for (EvaluatedMember& member : decoded) {
    LANISTA_ASSIGN(const ExecutorRequest order, decoded_copy(member.job));
    member.job = std::get<Job>(order);
  }
  return inner_->measure(decoded, part);
}

}  // namespace lanista::engine::testing
