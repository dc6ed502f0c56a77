#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/engine/executor.h"
#include "lanista/runtime/parked_state.h"
#include "lanista/study/trial.h"
#include "lanista/train/trial_run.h"

namespace lanista::runtime {

/// A started trial inside the executor. The flags are the executor's (under its mutex, except the atomic ones); run and
/// counters belong to the worker that runs the slot.
struct TrialSlot {
  engine::Job job;
  Digest key;                                ///< of the programs it can be a lane of
  std::int64_t most_lanes = 1;               ///< that it shares a step with, itself included
  std::optional<train::TrialRun> run;        ///< absent: not begun
  std::optional<train::TrainerState> state;  ///< it begins with
  std::optional<ParkedState> parked;         ///< what `run` goes on from, while it has no memory
  std::int64_t epochs_done = 0;
  std::int64_t saved_step = 0;
  double saved_at = 0;  ///< clock seconds

  std::int64_t allowed = 0;
  bool running = false;
  bool solo = false;      ///< has no lanes beside it: it was there when the process crashed
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
    if (pausing) return run.has_value() && run->step_count() != saved_step;
    return finish_wanted() || wants_training();
  }
  bool wants_training() const { return !gone() && !finish_wanted() && epochs_done < allowed; }
  bool takes_company() const { return wants_training() && !solo && !wants_to_be_alone; }

  double next_time() const { return job.logical_start + static_cast<double>(epochs_done + 1) * job.logical_epoch; }
};

using TrialSlots = std::map<TrialId, std::unique_ptr<TrialSlot>>;

/// Who works on slots, and how.
struct Crew {
  std::int64_t workers = 1;
  std::int64_t busy = 0;  ///< of the workers
  bool pausing = false;   ///< everything is to be saved, nothing trained
};

enum class WorkKind { kTrain, kFinish, kSave };

/// What a worker does in one go.
struct Work {
  WorkKind kind = WorkKind::kTrain;
  std::vector<TrialSlot*> slots;  ///< several only to be trained; none: nothing to do
};

/// Of a worker, unless somebody says otherwise: enough to share batches and programs; more only makes others wait for
/// the last of them.
inline constexpr std::int64_t kDefaultLanes = 8;

/// Lanes that pay where each has so many bytes of state: as many as a core's second cache holds beside the activations,
/// so that no lane's weights push out another's from step to step; then lanes are not slower than trials one by one.
/// Between 1 and kDefaultLanes.
std::int64_t lanes_that_pay(std::int64_t state_bytes);

/// What a free worker does next: the idle slot with work whose next epoch is earliest in logical time and, if that is
/// training, others that can be lanes beside it, so many that every free worker finds some.
Work next_work(const TrialSlots& slots, const Crew& crew);

/// Hash of names, shapes and bytes of all tensors.
Digest state_hash(const train::TrainerState& state);

/// Metrics of a stored state on the test part.
Result<std::map<std::string, double>> test_weights(const train::TrainerInput& input, const train::TrainerState& state);

}  // namespace lanista::runtime
