#include "lanista/search/study/host_usage.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "lanista/search/study/worker_usage.h"

namespace lanista::study {
namespace {

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string at_most(double seconds) {
  char text[48];
  std::snprintf(text, sizeof text, seconds < 100 ? "at most %.3g s" : "at most %.0f s", seconds);
  return text;
}

}  // namespace

std::vector<HostUsage> host_usage(const StudyView& view) {
  const WorkerHistory& workers = view.workers;
  std::vector<HostUsage> out;
  if (workers.hosts.empty()) return out;
  const WorkerUsage use = worker_usage(view);
  std::set<std::string> devices;
  for (const Span& span : view.spans) {
    if (!span.device.empty()) devices.insert(span.device);
  }
  const double all = use.busy_seconds();
  for (std::size_t k = 0; k < workers.hosts.size(); ++k) {
    const auto worked = use.busy_at.find(k + 1);
    out.push_back({workers.hosts[k].name, 0, workers.hosts[k].lost,
                   worked == use.busy_at.end() || !(all > 0) ? 0 : worked->second / all});
    out.back().is_device = devices.contains(workers.hosts[k].name);
  }
  std::ranges::sort(out, {}, &HostUsage::name);
  for (const auto& each : workers.present) {
    const auto host = std::ranges::lower_bound(out, each.host, {}, &HostUsage::name);
    if (host != out.end() && host->name == each.host) ++host->present;
  }
  return out;
}

std::string host_text(const HostUsage& use, bool has_ended) {
  char share[32];
  std::snprintf(share, sizeof share, "%.0f %% of the work", 100 * use.share);
  return use.name + ": " + (has_ended || use.is_device ? "" : counted(use.present, "worker") + ", ") + share +
         (use.lost > 0 ? ", " + counted(use.lost, "worker") + " lost" : "");
}

std::string device_of(const StudyView& view, const TrialView& trial) {
  if (!trial.device.empty()) return trial.device;
  const auto last = std::find_if(view.spans.rbegin(), view.spans.rend(),
                                 [&](const Span& span) { return span.trial == trial.id && !span.device.empty(); });
  return last == view.spans.rend() ? std::string() : last->device;
}

std::string host_of(const WorkerHistory& workers, std::int64_t worker) {
  const auto present = std::ranges::find(workers.present, worker, &WorkerHistory::Present::worker);
  return present == workers.present.end() ? std::string() : present->host;
}

std::string worker_text(std::int64_t worker, const std::string& host) {
  return "worker " + std::to_string(worker) + (host.empty() ? "" : " on " + host);
}

std::vector<WorkerHistory::Move> moves_of(const StudyView& view, TrialId trial) {
  std::vector<WorkerHistory::Move> out;
  std::ranges::copy_if(view.workers.moves, std::back_inserter(out),
                       [trial](const WorkerHistory::Move& move) { return move.trial == trial; });
  return out;
}

std::string move_text(const WorkerHistory::Move& move) {
  const bool is_next = move.to == move.from && move.to_host == move.from_host;
  return "from " + worker_text(move.from, move.from_host) + " to " +
         (!move.to  ? "none so far"
          : is_next ? "the next process of that worker there"
                    : worker_text(*move.to, move.to_host)) +
         ": " + at_most(move.seconds) + " of its work lost";
}

MoveCounts move_counts(const StudyView& view) {
  MoveCounts out;
  std::set<TrialId> trials;
  for (const WorkerHistory::Move& move : view.workers.moves) {
    ++out.moves;
    trials.insert(move.trial);
    out.seconds += move.seconds;
  }
  out.trials = std::ssize(trials);
  return out;
}

std::string moves_text(const MoveCounts& counts) {
  if (counts.moves == 0) return "";
  return counted(counts.trials, "trial") + " moved" +
         (counts.moves > counts.trials ? " " + counted(counts.moves, "time") : "") + ", " + at_most(counts.seconds) +
         " of work lost";
}

}  // namespace lanista::study
