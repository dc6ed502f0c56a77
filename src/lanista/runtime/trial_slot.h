#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/engine/executor.h"
#include "lanista/study/trial.h"
#include "lanista/train/trainer.h"

namespace lanista::runtime {

/// A started trial inside the executor. The flags are the executor's (under its mutex, except the atomic ones); trainer,
/// state and counters belong to the worker that runs the slot.
struct TrialSlot {
  engine::Job job;
  std::optional<train::Trainer> trainer;     ///< absent: not begun, or parked
  std::optional<train::TrainerState> state;  ///< of a parked or restored trial
  std::int64_t epochs_done = 0;
  std::int64_t saved_step = 0;
  double saved_at = 0;  ///< clock seconds

  std::int64_t allowed = 0;
  bool state_unsaved = false;  ///< parked with steps that no checkpoint has
  bool running = false;
  bool finished = false;  ///< finished or failed: nothing more to do
  bool finish_asked = false;
  bool keep_weights = false;
  std::atomic<bool> wants_to_be_alone = false;  ///< memory was short beside others; its worker writes, others look
  std::atomic<bool> abandon = false;

  bool finish_wanted() const { return finish_asked && epochs_done >= allowed; }
  bool gone() const { return finished || abandon; }

  /// Has a worker something to do here?
  bool has_work(bool pausing) const {
    if (gone()) return false;
    if (pausing) return state_unsaved || (trainer.has_value() && trainer->step_count() != saved_step);
    return finish_wanted() || epochs_done < allowed;
  }

  double next_time() const { return job.logical_start + static_cast<double>(epochs_done + 1) * job.logical_epoch; }
};

/// Hash of names, shapes and bytes of all tensors.
Digest state_hash(const train::TrainerState& state);

/// Metrics of a stored state on the test part.
Result<std::map<std::string, double>> test_weights(const train::TrainerInput& input, const train::TrainerState& state);

}  // namespace lanista::runtime
