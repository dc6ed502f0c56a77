#include "lanista/search/halving/rung_ranking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/search/halving/rung.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {

void RungRanking::add(TrialId trial, std::vector<double> losses, double violation) {
  ++count_;
  if (std::any_of(losses.begin(), losses.end(), [](double loss) { return std::isnan(loss); })) return;
  results_.insert({violation, std::move(losses), trial});
}

std::vector<TrialId> RungRanking::best(std::int64_t places) const {
  const std::size_t wanted = std::min(static_cast<std::size_t>(places), results_.size());
  std::vector<TrialId> out;
  if (wanted == 0) return out;
  if (results_.begin()->losses.size() == 1) {
    for (auto result = results_.begin(); out.size() < wanted; ++result) out.push_back(result->trial);
    return out;
  }
  std::vector<std::vector<double>> points;
  std::vector<double> violations;
  for (const Result& result : results_) {
    points.push_back(result.losses);
    violations.push_back(result.violation);
  }
  const std::vector<std::int64_t> fronts = study::non_dominated_ranks(points, violations);
  for (std::int64_t front = 0; out.size() < wanted; ++front) {
    std::vector<const Result*> there;
    auto result = results_.begin();
    for (std::size_t i = 0; i < fronts.size(); ++i, ++result) {
      if (fronts[i] == front) there.push_back(&*result);
    }
    take_front(there, wanted - out.size(), out);
  }
  return out;
}

void RungRanking::take_front(const std::vector<const Result*>& front, std::size_t places, std::vector<TrialId>& out) {
  places = std::min(places, front.size());
  std::vector<std::vector<double>> points;
  for (const Result* result : front) points.push_back(result->losses);
  std::set<std::size_t> taken;
  if (!points.empty() && std::is_sorted(points.begin(), points.end())) {  // otherwise their violations differ
    for (const std::size_t i : epsilon_net(points, static_cast<std::int64_t>(places))) {
      if (taken.insert(i).second) out.push_back(front[i]->trial);
    }
  }
  for (std::size_t i = 0; i < front.size() && taken.size() < places; ++i) {
    if (taken.insert(i).second) out.push_back(front[i]->trial);  // equal to selected points
  }
}

}  // namespace lanista::search
