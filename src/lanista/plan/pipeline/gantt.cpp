#include <algorithm>
#include <array>
#include <cstdio>

#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

std::string gantt(const SimulationResult& simulation, const std::vector<std::string>& labels, std::size_t columns) {
  static constexpr std::string_view kLetters = "FBIW  R ";
  std::string out;
  if (simulation.seconds <= 0 || columns == 0) return out;
  const double cell = simulation.seconds / static_cast<double>(columns);
  for (std::uint32_t p = 0; p < labels.size(); ++p) {
    std::vector<std::array<double, 8>> filled(columns, std::array<double, 8>{});
    for (const Span& span : simulation.spans) {
      if (span.rank != p || span.end <= span.begin) continue;
      const auto first = static_cast<std::size_t>(span.begin / cell);
      for (std::size_t c = first; c < columns && static_cast<double>(c) * cell < span.end; ++c) {
        const double from = std::max(span.begin, static_cast<double>(c) * cell);
        const double to = std::min(span.end, static_cast<double>(c + 1) * cell);
        filled[c][static_cast<std::size_t>(span.action.kind)] += std::max(0.0, to - from);
      }
    }
    std::string line, label = labels[p];
    for (const auto& parts : filled) {
      double busy = 0;
      for (const double part : parts) busy += part;
      const auto most = std::ranges::max_element(parts) - parts.begin();
      line += busy < cell / 2 ? '.' : kLetters[static_cast<std::size_t>(most)];
    }
    char busy[32];
    std::snprintf(busy, sizeof busy, " %3.0f %%", 100 * simulation.busy_seconds[p] / simulation.seconds);
    label.resize(std::max<std::size_t>(label.size(), 6), ' ');
    out += "  " + label + " |" + line + "|" + busy + "\n";
  }
  return out;
}

std::string gantt(const SimulationResult& simulation, const Schedule& schedule, const PipelinePlan& plan,
                  std::size_t columns) {
  std::vector<std::string> labels;
  for (const RankSchedule& rank : schedule.ranks) {
    std::string& label = labels.emplace_back();
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      if (plan.stages[s].devices == rank.devices) label += (label.empty() ? "" : ",") + std::to_string(s);
    }
  }
  return gantt(simulation, labels, columns);
}

}  // namespace lanista::pipeline
