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
  std::atomic<bool> abandon = false;  ///< Set by the executor: the trial's results are not needed any more.
  std::atomic<bool> needs_exclusive_memory = false;  ///< Set by the worker: memory was short with other trials.
};

/// Progress of a trial when a worker returns it.
struct Progress {
  std::int64_t epochs_done = 0;  ///< Complete epochs.
  bool is_over = false;          ///< Finished, paused or failed: no work remains.
  bool is_unsaved = false;       ///< It has steps that no checkpoint has.
  bool holds_state = false;      ///< Its state is in memory, so that spilling it frees memory.
};

/// How a trial ends, as requested when a worker takes it for its end.
struct EndRequest {
  bool pauses_trial = false;  ///< A pause: its state goes to the checkpoint store.
  bool keep_weights = false;  ///< Store its weights.
};

/// A started trial from the view of the dispatcher: the engine's commands and its progress. The owner guards all fields
/// except the signals; workers see the signals only. While a worker has the trial, `progress` holds the value before.
struct DispatchEntry {
  /// `program` is the key of the programs in which the trial can be a lane.
  DispatchEntry(const engine::Job& job, const Digest& program, bool trains_alone);

  // Constant.
  const TrialId trial;                        ///< The trial.
  const Digest key;                           ///< Key of the programs in which it can be a lane.
  const double priority;                      ///< As in Job.
  const double logical_start, logical_epoch;  ///< As in Job.
  const bool runs_alone;                      ///< It shares no steps, because it was active in a crash.

  // Set by commands of the engine.
  std::int64_t group = 0;           ///< Number of its lane group; 0: it trains alone.
  std::int64_t allowed_epochs = 0;  ///< Last epoch that it may train.
  bool finish_requested = false;    ///< Finish was received.
  bool pause_requested = false;     ///< PauseTrial was received.
  bool keep_weights = false;        ///< As in Finish.
  std::string session;              ///< Session of helpers; empty: no helpers.

  bool running = false;           ///< A worker has it.
  std::int64_t work_item_id = 0;  ///< Number of that worker's work item.
  Progress progress;              ///< As last returned.
  TrialSignals signals;           ///< Flags that its worker reads.

  // Derived.

  /// Whether no work remains.
  bool is_gone() const { return progress.is_over || signals.abandon; }
  /// Whether it has trained its allowed epochs and a request to end it is present.
  bool is_ready_to_end() const {
    return (finish_requested || pause_requested) && progress.epochs_done >= allowed_epochs;
  }
  /// How it ends.
  EndRequest end_request() const {
    return {.pauses_trial = pause_requested && !finish_requested, .keep_weights = keep_weights};
  }
  /// Whether it has epochs to train.
  bool needs_training() const { return !is_gone() && !is_ready_to_end() && progress.epochs_done < allowed_epochs; }
  /// Whether it may train as a lane together with other trials.
  bool can_share_program() const { return needs_training() && !runs_alone && !signals.needs_exclusive_memory; }
  /// Whether a worker has work with it. While `pausing`, states are saved and nothing trains.
  bool has_work(bool pausing) const {
    return !is_gone() && (pausing ? progress.is_unsaved : is_ready_to_end() || needs_training());
  }
  /// Logical time at the end of its next epoch.
  double next_logical_time() const {
    return logical_start + static_cast<double>(progress.epochs_done + 1) * logical_epoch;
  }
};

/// All started trials.
using DispatchEntries = std::map<TrialId, DispatchEntry>;

/// The workers and their limits.
struct DispatchCapacity {
  std::int64_t workers = 1;                  ///< Number of workers.
  std::int64_t busy = 0;                     ///< Workers with a work item.
  std::int64_t lanes = step::kDefaultLanes;  ///< Most lanes of a program.
  bool pausing = false;                      ///< States are saved and nothing trains.
  std::int64_t max_executables = 0;          ///< Most copies of one program in use; 0: one for each worker.
};

/// Kind of a work item: train an epoch, end a trial, or save its state.
enum class WorkKind { kTrain, kFinish, kSave };

/// One work item of a worker.
struct Work {
  WorkKind kind = WorkKind::kTrain;  ///< What to do.
  std::vector<TrialId> trials;       ///< Several only for training; empty: no work.
  EndRequest end_request = {};       ///< Of kFinish.
};

/// The next work item of a free worker. It takes the idle trial with work and the earliest next epoch in logical time.
/// For training it adds trials of the same lane group, but leaves work for the other free workers. If the number of
/// copies of a program is limited, it adds all of them, and later trials wait. A pure function.
Work next_work(const DispatchEntries& entries, const DispatchCapacity& capacity);

}  // namespace lanista::runtime
