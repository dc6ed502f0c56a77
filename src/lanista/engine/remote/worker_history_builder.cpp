#include "lanista/engine/remote/worker_history_builder.h"

#include <algorithm>

namespace lanista::engine {
namespace {

/// Number of the host, from 1; a new host is added at the end. 0: no name.
std::size_t host_number(std::vector<study::WorkerHistory::Host>& hosts, const std::string& name) {
  if (name.empty()) return 0;
  const auto known = std::ranges::find(hosts, name, &study::WorkerHistory::Host::name);
  const auto number = static_cast<std::size_t>(known - hosts.begin()) + 1;
  if (known == hosts.end()) hosts.push_back({name});
  return number;
}

}  // namespace

void WorkerHistoryBuilder::add(const WorkerReport& report, study::WorkerHistory& history) {
  std::erase_if(history.present, [&](const auto& present) { return present.worker == report.worker; });
  if (report.has_started) {
    const auto position =
        std::ranges::find_if(history.present, [&](const auto& p) { return p.worker > report.worker; });
    history.present.insert(position, {report.worker, report.process, report.host});
    host_number(history.hosts, report.host);
    return;
  }
  ++history.lost;
  history.lost_seconds = std::max(history.lost_seconds, report.seconds);
  history.last = {report.worker, report.process, report.reason, std::ssize(report.trials), report.seconds, report.host};
  if (report.host.empty()) return;
  ++history.hosts[host_number(history.hosts, report.host) - 1].lost;
  for (const auto& [trial, seconds] : report.costs) {
    record_move(trial, report.worker, report.host, history);  // it moved there and was lost again before its next epoch
    open_moves_[trial] = history.moves.size();
    history.moves.push_back({.trial = trial, .from = report.worker, .from_host = report.host, .seconds = seconds});
  }
}

void WorkerHistoryBuilder::record_move(TrialId trial, std::int64_t worker, const std::string& host,
                                       study::WorkerHistory& history) {
  const auto lost = open_moves_.find(trial);
  if (lost == open_moves_.end()) return;
  study::WorkerHistory::Move& move = history.moves[lost->second];
  move.to = worker;
  move.to_host = host;
  open_moves_.erase(lost);
}

study::Span WorkerHistoryBuilder::with_host(study::Span span, study::WorkerHistory& history) {
  const auto present = std::ranges::find(history.present, span.worker, &study::WorkerHistory::Present::worker);
  // With several devices in one process, the device takes the role of the host.
  const std::string host = present == history.present.end() ? span.device : present->host;
  span.host = host_number(history.hosts, host);
  record_move(span.trial, span.worker, host, history);
  return span;
}

}  // namespace lanista::engine
