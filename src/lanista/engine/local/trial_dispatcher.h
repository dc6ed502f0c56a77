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

/// The object between engine and workers: it has the commands for trials, the worker of each trial, and the reports.
///
/// One mutex guards everything. The dispatcher owns the slots of idle trials. A worker that takes a slot owns it alone
/// until it returns it. Thread-safe.
class TrialDispatcher {
 public:
  /// Slots of several trials; no slot is null.
  using Slots = std::vector<std::unique_ptr<TrialSlot>>;
  /// What a worker takes at once: work with the slots of its trials, or, without slots, help for another worker's
  /// trial.
  struct WorkItem {
    Work work;                                   ///< What to do; no trials if it is help.
    Slots slots;                                 ///< Slots of `work.trials`, in the same order.
    std::string session = {};                    ///< AcceptHelpers::session of its one trial; empty: no helpers.
    std::optional<engine::HelpTrial> help = {};  ///< The trial of another worker to help; absent: it is work.
    bool cannot_help = false;                    ///< Set by the worker. True: it cannot help this trial.
  };

  /// Programs have `lanes` lanes. `max_executables` is as in DispatchCapacity. No work is given before open().
  /// `on_evict` is called, under the mutex, for every slot that is removed before the dispatcher is destroyed.
  /// `on_ready`, if set, is called under the mutex when next() has a report; it must not call the dispatcher.
  explicit TrialDispatcher(std::int64_t lanes, std::function<void(TrialSlot&)> on_evict = {},
                           std::function<void()> on_ready = {}, std::int64_t max_executables = 0)
      : lanes_(lanes),
        max_executables_(max_executables),
        on_evict_(std::move(on_evict)),
        on_ready_(std::move(on_ready)) {}

  // For the engine.

  /// Adds a trial, or one that resumes. Its unread reports of an earlier start are dropped, and `repeats`, the
  /// measurements that its checkpoint holds, become its first reports. With `runs_alone` it never
  /// shares a program with other trials. If a worker still has an earlier slot of the trial, the call waits until it is
  /// returned. A failed dispatcher ignores the call; next() returns the error.
  void add_trial(std::unique_ptr<TrialSlot> slot, bool runs_alone, const std::vector<study::Measurement>& repeats);
  /// Applies a command. A command for an unknown trial has no effect.
  void command(const engine::Command& command);
  /// The next report in order of arrival; waits at most `seconds`. nullopt: none arrived in time. A failed dispatcher
  /// returns its error as an ExecutorErrorReport on each call.
  std::optional<engine::Report> next(double seconds);

  // For workers.

  /// Sets the number of workers and begins to give work.
  void open(std::int64_t workers);
  /// Ends all work for good: take() returns nullopt, and running trials are abandoned.
  void close();
  /// Waits for the next work item of a free worker, which then owns its slots. nullopt: the dispatcher is closed.
  std::optional<WorkItem> take();
  /// Takes back a work item with its slots. A trial that is over is removed.
  void return_item(WorkItem item);
  /// Adds a report for the engine. If there is no memory for it, the dispatcher fails, because the engine would wait
  /// for the report.
  void post(engine::Report report);
  /// Fails the dispatcher permanently; next() then returns this error. Only the first failure counts.
  void fail_all(Code code, const char* reason);
  /// True: a helper must stop at the end of its epoch, because there may be other work. The flag lives as long as the
  /// dispatcher.
  const std::atomic<bool>& helper_should_leave() const { return helper_should_leave_; }
  /// True: a helper must stop at once. The flag lives as long as the dispatcher.
  const std::atomic<bool>& helper_must_stop() const { return helper_must_stop_; }
  /// True: PauseAll was received, so states are saved and nothing trains. The flag lives as long as the dispatcher.
  const std::atomic<bool>& pausing() const { return pausing_; }

  // For a lack of memory.

  /// Takes the slots of idle trials with a state in memory, so that the caller can spill the states. Empty: there are
  /// none. The caller owns the slots until return_idle_slots().
  Slots take_idle_slots();
  /// Takes back the slots of take_idle_slots().
  void return_idle_slots(Slots slots);
  /// Gives no new work until resume_dispatch(), and waits until all work items are returned.
  void pause_dispatch();
  /// Gives work again after pause_dispatch().
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
