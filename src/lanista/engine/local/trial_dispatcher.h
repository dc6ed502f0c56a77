#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/local/dispatch.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/search/study/trial.h"

namespace lanista::runtime {

/// The object between engine and workers: commands for trials, the worker of each trial, and reports.
///
/// One mutex guards everything. The dispatcher owns the slots of idle trials. A worker that takes a slot owns it alone
/// until it returns it. Thread-safe.
class TrialDispatcher {
 public:
  /// Slots of trials.
  using Slots = std::vector<std::unique_ptr<TrialSlot>>;
  /// Work with the slots of its trials, in order; or, without slots, help for another worker's trial.
  struct WorkItem {
    Work work;                                   ///< What to do.
    Slots slots;                                 ///< Slots of work.trials.
    std::string session = {};                    ///< Session in which helpers share the steps of its one trial.
    std::optional<engine::HelpTrial> help = {};  ///< The trial to help.
    bool cannot_help = false;                    ///< Set by the helper: it cannot help this trial.
  };

  /// Programs have `lanes` lanes, and at most `max_executables` copies (DispatchCapacity). No work is given before
  /// open(). `on_evict` is called, under the mutex, for every slot that is removed before the dispatcher is.
  /// `on_ready`, if set, is called when next() has a report.
  explicit TrialDispatcher(std::int64_t lanes, std::function<void(TrialSlot&)> on_evict = {},
                           std::function<void()> on_ready = {}, std::int64_t max_executables = 0)
      : lanes_(lanes),
        max_executables_(max_executables),
        on_evict_(std::move(on_evict)),
        on_ready_(std::move(on_ready)) {}

  // For the engine.

  /// Adds a trial, or one that returns. Its unread reports of before are dropped, and it reports `repeats` first. If a
  /// worker still has an earlier slot of the trial, the call waits for it. A failed dispatcher ignores the call; next()
  /// returns the error.
  void add_trial(std::unique_ptr<TrialSlot> slot, bool runs_alone, const std::vector<study::Measurement>& repeats);
  /// Applies a command.
  void command(const engine::Command& command);
  /// The next report; waits at most `seconds`. A failed dispatcher returns its error.
  std::optional<engine::Report> next(double seconds);

  // For workers.

  /// Sets the number of workers and begins to give out work.
  void open(std::int64_t workers);
  /// Ends all work: take() returns nothing, and running trials are abandoned.
  void close();
  /// Waits for the next work item of a free worker. nullopt: the dispatcher is closed.
  std::optional<WorkItem> take();
  /// Returns a work item with its slots.
  void return_item(WorkItem item);
  /// Adds a report. If there is no memory for it, the dispatcher fails, because the engine would wait for the report.
  void post(engine::Report report);
  /// Fails the dispatcher permanently; next() returns this error.
  void fail_all(Code code, const char* reason);
  /// Whether a helper must stop at the end of its epoch, because there may be other work.
  const std::atomic<bool>& helper_should_leave() const { return helper_should_leave_; }
  /// Whether a helper must stop at once.
  const std::atomic<bool>& helper_must_stop() const { return helper_must_stop_; }
  /// Whether states are saved and nothing trains.
  const std::atomic<bool>& pausing() const { return pausing_; }

  // For a lack of memory.

  /// The slots of idle trials with a state in memory. The caller returns them.
  Slots take_idle_slots();
  /// Returns the slots of take_idle_slots().
  void return_idle_slots(Slots slots);
  /// Gives out no work until resume_dispatch(), and waits for all work items that are out.
  void pause_dispatch();
  /// Gives out work again.
  void resume_dispatch();

 private:
  // These need the mutex.
  void allow(const engine::Allow& allowed);
  void update_groups(const engine::UpdateGroups& arranged);
  void finish(const engine::Finish& finish);
  std::optional<WorkItem> take_help();
  std::unique_ptr<TrialSlot> take_slot(TrialId trial);
  void put_slot(std::unique_ptr<TrialSlot> slot);
  void erase(TrialId trial);
  void drop_reports(TrialId trial);
  void notify_report_ready();

  const std::int64_t lanes_, max_executables_;
  const std::function<void(TrialSlot&)> on_evict_;
  const std::function<void()> on_ready_;
  std::atomic<bool> pausing_ = false;
  std::atomic<bool> helper_should_leave_ = false, helper_must_stop_ = false;

  std::mutex mutex_;  // Guards all that follows.
  std::condition_variable work_changed_, report_arrived_, worker_freed_;
  DispatchEntries entries_;
  std::map<TrialId, std::unique_ptr<TrialSlot>> slots_;  // Slot of every entry; null while a worker has it.
  std::deque<engine::Report> reports_;
  std::int64_t workers_ = 0, busy_ = 0, num_items_ = 0;
  std::optional<engine::HelpTrial> help_;  // Command for a free worker.
  bool is_helping_ = false;                // A worker helps.
  bool is_dispatch_paused_ = true;         // No work is given out.
  bool closed_ = false;
  bool is_pause_reported_ = false;
  std::optional<Code> failure_code_;
  std::array<char, 200> failure_text_{};  // An array, because the cause may be a lack of memory.
};

}  // namespace lanista::runtime
