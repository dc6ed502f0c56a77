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

/// Flags that the executor and the worker of a trial exchange while it trains. Thread-safe.
struct TrialSignals {
  std::atomic<bool> abandon = false;  ///< Set by the executor. True: the trial's results are not needed any more.
  /// Set by the worker. True: memory was short with other trials, so it trains alone.
  std::atomic<bool> needs_exclusive_memory = false;
};

/// How far a trial is when a worker returns it.
struct Progress {
  std::int64_t epochs_done = 0;  ///< Number of complete epochs.
  bool is_over = false;          ///< True: it has finished, paused or failed, so no work remains.
  /// True: it has done steps since the last attempt to store a checkpoint, or since the state from which it resumed.
  bool is_unsaved = false;
  bool holds_state = false;  ///< True: its state is in memory, so that spilling it frees memory.
};

/// How a trial ends: the request of the engine when a worker takes the trial for its end.
struct EndRequest {
  bool pauses_trial = false;  ///< True: it pauses, and its state goes to the checkpoint store. False: it finishes.
  bool keep_weights = false;  ///< True: its weights are stored when it finishes.
};

/// A started trial from the view of the dispatcher: the engine's commands and its progress. The owner guards all fields
/// except the signals; workers see the signals only. While a worker has the trial, `progress` holds the value before.
struct DispatchEntry {
  /// An entry for a job without commands. `program` is the key of the programs in which the trial can be a lane.
  /// `trains_alone` is as `runs_alone`.
  DispatchEntry(const engine::Job& job, const Digest& program, bool trains_alone);

  // Constant.
  const TrialId trial;                        ///< The trial.
  const Digest key;                           ///< Key of the programs in which it can be a lane.
  const double priority;                      ///< Job::priority; higher values are taken first.
  const double logical_start, logical_epoch;  ///< Job::logical_start and Job::logical_epoch.
  const bool runs_alone;                      ///< True: it shares no steps, because it was active in a crash.

  // Set by commands of the engine.
  std::int64_t group = 0;           ///< Number of its lane group, from 1; 0: it trains alone.
  std::int64_t allowed_epochs = 0;  ///< Last epoch that it may train.
  bool finish_requested = false;    ///< True: Finish was received.
  bool pause_requested = false;     ///< True: PauseTrial was received.
  bool keep_weights = false;        ///< Finish::keep_weights.
  std::string session;              ///< AcceptHelpers::session; empty: no helpers.

  bool running = false;           ///< True: a worker has it.
  std::int64_t work_item_id = 0;  ///< Number of the work item in which the worker has it.
  Progress progress;              ///< Its progress when it was last returned.
  TrialSignals signals;           ///< Flags that its worker reads.

  // Derived.

  /// True if no work remains: it is over or abandoned.
  bool is_gone() const { return progress.is_over || signals.abandon; }
  /// True if its end or pause is requested and it has trained its allowed epochs.
  bool is_ready_to_end() const {
    return (finish_requested || pause_requested) && progress.epochs_done >= allowed_epochs;
  }
  /// How it ends, by the commands received so far: it pauses if a pause and no finish was requested, else it finishes;
  /// and whether its weights are stored.
  EndRequest end_request() const {
    return {.pauses_trial = pause_requested && !finish_requested, .keep_weights = keep_weights};
  }
  /// True if it has allowed epochs to train.
  bool needs_training() const { return !is_gone() && !is_ready_to_end() && progress.epochs_done < allowed_epochs; }
  /// True if it may train as a lane together with other trials.
  bool can_share_program() const { return needs_training() && !runs_alone && !signals.needs_exclusive_memory; }
  /// True if a worker has something to do for it. While `pausing`, unsaved states are saved and nothing trains.
  bool has_work(bool pausing) const {
    return !is_gone() && (pausing ? progress.is_unsaved : is_ready_to_end() || needs_training());
  }
  /// Logical time at the end of its next epoch.
  double next_logical_time() const {
    return logical_start + static_cast<double>(progress.epochs_done + 1) * logical_epoch;
  }
};

/// All started trials, by id.
using DispatchEntries = std::map<TrialId, DispatchEntry>;

/// The workers and their limits at one moment.
struct DispatchCapacity {
  std::int64_t workers = 1;                      ///< Number of workers.
  std::int64_t busy = 0;                         ///< Number of workers with a work item.
  std::int64_t lanes = autodiff::kDefaultLanes;  ///< Most lanes of a program.
  bool pausing = false;                          ///< True: states are saved and nothing trains.
  std::int64_t max_executables = 0;  ///< Most executables of one program in use at a time; 0: one for each worker.
};

/// Kind of a work item: train an epoch, end or pause a trial, or save its state while the executor pauses.
enum class WorkKind { kTrain, kFinish, kSave };

/// What one worker does next.
struct Work {
  WorkKind kind = WorkKind::kTrain;  ///< What to do.
  std::vector<TrialId> trials;       ///< Its trials: several only for training; empty: there is no work now.
  EndRequest end_request = {};       ///< How the trial ends, for kFinish.
};

/// The next work of a free worker. It takes an idle trial with work, of the highest priority and then with the earliest
/// next epoch in logical time. For training it adds trials of the same lane group and program, but leaves some for the
/// other free workers.
///
/// A trial that needs exclusive memory is taken only if no worker is busy; while it runs, there is no other work. If
/// the number of executables is limited, all trials of the group are added, and later ones wait. Empty `trials`: no
/// work now. A pure function.
Work next_work(const DispatchEntries& entries, const DispatchCapacity& capacity);

}  // namespace lanista::runtime
