#include "lanista/schedule/helpers.h"

#include <algorithm>

namespace lanista::schedule {

std::map<std::size_t, TrialId> assign_helpers(std::span<const Widenable> trials, std::span<const std::size_t> idle,
                                              const std::map<std::size_t, TrialId>& present) {
  std::map<TrialId, std::int64_t> helpers;
  std::map<std::size_t, TrialId> out;
  const auto wants = [&](const Widenable& trial) { return helpers[trial.trial] < trial.most; };
  const auto join = [&](std::size_t worker, TrialId trial) {
    out[worker] = trial;
    ++helpers[trial];
  };
  const auto stay = [&](bool with_work) {
    for (const std::size_t worker : idle) {
      const auto before = present.find(worker);
      if (before == present.end() || out.contains(worker)) continue;
      const auto trial = std::ranges::find(trials, before->second, &Widenable::trial);
      if (trial != trials.end() && trial->has_work == with_work && wants(*trial)) join(worker, trial->trial);
    }
  };
  stay(true);
  for (const std::size_t worker : idle) {
    const Widenable* best = nullptr;
    if (out.contains(worker)) continue;
    for (const Widenable& trial : trials) {
      if (!trial.has_work || !wants(trial)) continue;
      if (best == nullptr || helpers[trial.trial] < helpers[best->trial]) best = &trial;
    }
    if (best != nullptr) join(worker, best->trial);
  }
  stay(false);
  return out;
}

}  // namespace lanista::schedule
