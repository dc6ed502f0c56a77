#include "lanista/search/study/select_branches.h"

#include <algorithm>
#include <sstream>

#include "lanista/base/printable.h"
#include "lanista/search/study/start_race.h"

namespace lanista::study {

std::int64_t discarded_selection_steps(const StudyView& view) {
  std::int64_t steps = 0;
  for (const TrialView& trial : view.trials) {
    for (const Measurement& measurement : trial.measurements) steps += discarded_steps(measurement.selecting);
  }
  return steps;
}

std::string selection_text(const StudyView& view) {
  std::int64_t checks = 0, on = 0;
  for (const TrialView& trial : view.trials) {
    for (const Measurement& measurement : trial.measurements) {
      if (measurement.selecting.empty()) continue;
      ++checks;
      on += std::ranges::any_of(measurement.selecting, [](const SelectBranch& b) { return b.kept && b.selects; });
    }
  }
  if (checks == 0) return {};
  const std::int64_t steps = discarded_selection_steps(view);
  return "chosen examples against all, at equal computation: " + std::to_string(checks) +
         (checks == 1 ? " check, " : " checks, ") + std::to_string(on) + " won by chosen ones; " +
         std::to_string(steps) + " steps (" + std::to_string(view.steps > 0 ? 100 * steps / view.steps : 0) +
         " % of all) were discarded";
}

std::string selection_text(const TrialView& trial) {
  std::ostringstream out;
  for (const Measurement& measurement : trial.measurements) {
    if (measurement.selecting.empty()) continue;
    out << "\nbefore epoch " << measurement.epoch << ", behind step " << measurement.selecting.front().step
        << ": chosen examples or all\n";
    for (const SelectBranch& branch : measurement.selecting) {
      out << (branch.kept ? "  > " : "    ") << (branch.selects ? "chosen" : "all") << "  " << branch.steps
          << " steps at the cost of " << branch.cost << ", " << printable(branch.metric) << " " << branch.value << "\n";
    }
  }
  return out.str();
}

}  // namespace lanista::study
