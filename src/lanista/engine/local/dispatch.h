#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/autodiff/max_cached_lanes.h"

namespace lanista::runtime {

/// What the executor and the worker that has a trial in hand tell each other at any moment.
struct TrialSignals {
  std::atomic<bool> abandon = false;            ///< the executor's word: nobody waits for the trial any more
  std::atomic<bool> needs_exclusive_memory = false;  ///< the worker's: memory was short beside others
};

/// What a worker tells of a trial when it lets go of it.
struct Progress {
  std::int64_t epochs_done = 0;
  bool is_over = false;      ///< finished, parked or failed: nothing more to do
  bool is_unsaved = false;   ///< it has steps that no checkpoint has
  bool holds_state = false;  ///< in memory, so that parking it frees some
};

/// How a trial ends; as it was asked when a worker took the trial for its end.
struct EndRequest {
  bool pauses_trial = false;  ///< its end is a rest: its state goes into the store
  bool keep_weights = false;
};

/// A started trial, as who hands out work sees it: what the engine asked of it, and how far it is. Whoever keeps
/// tickets guards them, the signals apart; workers never see one. While a worker has the trial in hand, `progress` is
/// what it was before.
struct DispatchEntry {
  DispatchEntry(const engine::Job& job, const Digest& program, bool trains_alone);

  // For good.
  const TrialId trial;
  const Digest key;  ///< of the programs it can be a lane of
  const double priority;
  const double logical_start, logical_epoch;
  const bool runs_alone;  ///< has no lanes beside it: it was there when the process crashed

  // What the engine asked since.
  std::int64_t group = 0;    ///< in the plan; 0: it trains alone
  std::int64_t allowed_epochs = 0;  ///< epochs
  bool finish_requested = false;
  bool pause_requested = false;
  bool keep_weights = false;
  std::string session;  ///< where helpers may share its steps; empty: there are none

  bool running = false;     ///< a worker has it in hand
  std::int64_t work_item_id = 0;  ///< with those of the same number
  Progress progress;
  TrialSignals signals;

  // What follows.
  bool is_gone() const { return progress.is_over || signals.abandon; }
  bool is_ready_to_end() const { return (finish_requested || pause_requested) && progress.epochs_done >= allowed_epochs; }
  EndRequest end_request() const { return {.pauses_trial = pause_requested && !finish_requested, .keep_weights = keep_weights}; }
  bool needs_training() const { return !is_gone() && !is_ready_to_end() && progress.epochs_done < allowed_epochs; }
  bool can_share_program() const { return needs_training() && !runs_alone && !signals.needs_exclusive_memory; }
  /// Has a worker something to do here? While `pausing`, everything is to be saved, nothing trained.
  bool has_work(bool pausing) const { return !is_gone() && (pausing ? progress.is_unsaved : is_ready_to_end() || needs_training()); }
  /// Logical time of the end of its next epoch.
  double next_logical_time() const { return logical_start + static_cast<double>(progress.epochs_done + 1) * logical_epoch; }
};

using DispatchEntries = std::map<TrialId, DispatchEntry>;

/// Who works, and how.
struct DispatchCapacity {
  std::int64_t workers = 1;
  std::int64_t busy = 0;                     ///< of the workers
  std::int64_t lanes = step::kDefaultLanes;  ///< that a program has
  bool pausing = false;
  std::int64_t machines = 0;  ///< that lanes of one program are shared out among at a time; 0: every free worker
};

enum class WorkKind { kTrain, kFinish, kSave };

/// What a worker does in one go.
struct Work {
  WorkKind kind = WorkKind::kTrain;
  std::vector<TrialId> trials;  ///< several only to be trained; none: nothing to do
  EndRequest end_request = {};           ///< of a trial that is to finish
};

/// What a free worker does next: the idle trial with work whose next epoch is earliest in logical time and, if that is
/// training, others of its group in the plan, so many that every free worker finds some; where a program may have so
/// many machines only, all of them, and whoever comes when they are out waits. A pure function.
Work next_work(const DispatchEntries& entries, const DispatchCapacity& capacity);

}  // namespace lanista::runtime
