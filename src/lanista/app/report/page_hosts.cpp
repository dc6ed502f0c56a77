#include <algorithm>

#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/host_usage.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;

constexpr std::size_t kMaxHosts = 500, kMaxMoved = 1'000, kMaxMoves = 20, kName = 100;

/// The moves of trials in sentences, by trial.
json moves_json(const StudyView& view) {
  json out = json::object();
  for (const study::WorkerHistory::Move& move : view.workers.moves) {
    const std::string trial = std::to_string(move.trial.value);
    if (!out.contains(trial) && out.size() == kMaxMoved) continue;
    json& moves = out[trial];
    if (moves.size() < kMaxMoves) moves.push_back(clip_utf8(study::move_text(move), 3 * kName));
  }
  return out;
}

}  // namespace

json host_facts(const StudyView& view) {
  const auto& hosts = view.workers.hosts;
  if (hosts.empty()) return {};
  json names = json::array(), uses = json::array();
  for (std::size_t k = 0; k < std::min(kMaxHosts, hosts.size()); ++k) names.push_back(clip_utf8(hosts[k].name, kName));
  for (const study::HostUsage& use : study::host_usage(view)) {
    if (uses.size() == kMaxHosts) break;
    uses.push_back(
        {{"name", clip_utf8(use.name, kName)}, {"present", use.present}, {"lost", use.lost}, {"share", use.share}});
    if (use.is_device) uses.back()["device"] = true;
  }
  return {{"names", std::move(names)},
          {"uses", std::move(uses)},
          {"count", hosts.size()},
          {"moved", study::moves_text(study::move_counts(view))},
          {"moves", moves_json(view)}};
}

}  // namespace lanista::report
