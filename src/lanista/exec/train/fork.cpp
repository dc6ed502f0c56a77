#include "lanista/exec/train/fork.h"

#include <utility>

#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/trial_progress.h"

namespace lanista::train {

TrainerState forked_state(TrainerState other, std::uint64_t trial_seed,
                          const std::vector<study::Measurement>& measurements) {
  auto own = nlohmann::json::array();
  for (const study::Measurement& each : measurements) own.push_back(study::measurement_json(each));
  other.facts["measurements"] = own.dump();
  other.facts["epoch"] = std::to_string(measurements.size());
  other.kept.clear();
  set_state_seed(other.tensors, trial_seed);
  return other;
}

Result<TrainerState> own_or_forked_state(TrainerState state, TrialId from, std::uint64_t trial_seed,
                                         const std::vector<study::Measurement>& measurements) {
  LANISTA_ASSIGN(const std::vector<study::Measurement> found, read_measurements(state.facts));
  if (found.empty() || found.front().trial != from) return state;
  return forked_state(std::move(state), trial_seed, measurements);
}

}  // namespace lanista::train
