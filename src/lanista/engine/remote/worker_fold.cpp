#include "lanista/engine/remote/worker_fold.h"

#include <algorithm>

namespace lanista::engine {
namespace {

/// From 1; a host that is not there is put behind the others. 0: none.
std::size_t number_of(std::vector<study::WorkerFates::Host>& hosts, const std::string& name) {
  if (name.empty()) return 0;
  const auto known = std::ranges::find(hosts, name, &study::WorkerFates::Host::name);
  const auto number = static_cast<std::size_t>(known - hosts.begin()) + 1;
  if (known == hosts.end()) hosts.push_back({name});
  return number;
}

}  // namespace

void WorkerFold::tell(const WorkerReport& told, study::WorkerFates& fates) {
  std::erase_if(fates.present, [&](const auto& present) { return present.worker == told.worker; });
  if (told.came) {
    const auto behind = std::ranges::find_if(fates.present, [&](const auto& p) { return p.worker > told.worker; });
    fates.present.insert(behind, {told.worker, told.process, told.host});
    number_of(fates.hosts, told.host);
    return;
  }
  ++fates.lost;
  fates.lost_seconds = std::max(fates.lost_seconds, told.seconds);
  fates.last = {told.worker, told.process, told.reason, std::ssize(told.trials), told.seconds, told.host};
  if (told.host.empty()) return;
  ++fates.hosts[number_of(fates.hosts, told.host) - 1].lost;
  for (const auto& [trial, seconds] : told.costs) {
    settle(trial, told.worker, told.host, fates);  // it got there and was lost again before its next epoch
    lost_[trial] = fates.moves.size();
    fates.moves.push_back({.trial = trial, .from = told.worker, .from_host = told.host, .seconds = seconds});
  }
}

void WorkerFold::settle(TrialId trial, std::int64_t worker, const std::string& host, study::WorkerFates& fates) {
  const auto lost = lost_.find(trial);
  if (lost == lost_.end()) return;
  study::WorkerFates::Move& move = fates.moves[lost->second];
  move.to = worker;
  move.to_host = host;
  lost_.erase(lost);
}

study::Span WorkerFold::placed(study::Span span, study::WorkerFates& fates) {
  const auto present = std::ranges::find(fates.present, span.worker, &study::WorkerFates::Present::worker);
  // Of several devices the one that computed it stands where a host would.
  const std::string host = present == fates.present.end() ? span.device : present->host;
  span.host = number_of(fates.hosts, host);
  settle(span.trial, span.worker, host, fates);
  return span;
}

}  // namespace lanista::engine
