#include "lanista/study/noise.h"

#include <algorithm>
#include <cmath>

#include "lanista/study/metric.h"

namespace lanista::study {
namespace {

/// Of labels accuracy is a share of labels, several of which stand in a row together.
bool is_share_of_rows(std::string_view measured, bool multilabel) {
  const auto found = find_metric(validation_metric(measured));
  if (!found) return false;
  const std::string& name = found->metric.name;
  return multilabel ? name == "exact_match" : name == "accuracy" || name == "top<k>";
}

}  // namespace

Interval score_interval(double share, std::int64_t rows) {
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 %
  const double n = static_cast<double>(rows), z2 = kZ * kZ / n;
  const double center = share + z2 / 2, half = kZ * std::sqrt((share * (1 - share) + z2 / 4) / n);
  return {std::max(0.0, (center - half) / (1 + z2)), std::min(1.0, (center + half) / (1 + z2))};
}

std::optional<NoiseBand> noise_band(const StudyView& view, const std::vector<Standing>& ranked) {
  const auto& goals = view.config.goals;
  const bool multilabel = view.data.is_object() && view.data.value("multilabel", false);
  if (goals.size() != 1 || !goals[0].maximize || !is_share_of_rows(goals[0].metric, multilabel)) return std::nullopt;
  if (view.config.strategy.repeat > 1 || ranked.empty() || ranked[0].violation > 0) return std::nullopt;
  const auto score = [](const Standing& standing) { return -standing.losses.at(0).second; };
  const auto rows = view.data.is_object() ? view.data.find("split_rows") : view.data.end();
  if (ranked[0].losses.at(0).first || rows == view.data.end() || !rows->is_array() || rows->size() != 3) return std::nullopt;
  NoiseBand out{.band = {}, .rows = (*rows)[1].get<std::int64_t>()};
  if (out.rows < 1) return std::nullopt;
  out.band = score_interval(score(ranked[0]), out.rows);
  out.trials = std::ranges::count_if(ranked, [&](const Standing& standing) {
    return standing.violation == 0 && !standing.losses.at(0).first && score(standing) >= out.band.low;
  });
  return out;
}

}  // namespace lanista::study
