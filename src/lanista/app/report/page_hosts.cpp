#include <algorithm>

#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/hosts.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;

constexpr std::size_t kMostHosts = 500, kMostMoved = 1'000, kMostMoves = 20, kName = 100;

/// In sentences, by trial.
json moves_json(const StudyView& view) {
  json out = json::object();
  for (const study::WorkerFates::Move& move : view.workers.moves) {
    const std::string trial = std::to_string(move.trial.value);
    if (!out.contains(trial) && out.size() == kMostMoved) continue;
    json& moves = out[trial];
    if (moves.size() < kMostMoves) moves.push_back(clipped(study::move_text(move), 3 * kName));
  }
  return out;
}

}  // namespace

json host_facts(const StudyView& view) {
  const auto& hosts = view.workers.hosts;
  if (hosts.empty()) return {};
  json names = json::array(), uses = json::array();
  for (std::size_t k = 0; k < std::min(kMostHosts, hosts.size()); ++k) names.push_back(clipped(hosts[k].name, kName));
  for (const study::HostUse& use : study::host_uses(view)) {
    if (uses.size() == kMostHosts) break;
    uses.push_back(
        {{"name", clipped(use.name, kName)}, {"present", use.present}, {"lost", use.lost}, {"share", use.share}});
    if (use.is_device) uses.back()["device"] = true;
  }
  return {{"names", std::move(names)},
          {"uses", std::move(uses)},
          {"count", hosts.size()},
          {"moved", study::moves_text(study::move_counts(view))},
          {"moves", moves_json(view)}};
}

}  // namespace lanista::report
