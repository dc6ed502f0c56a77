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

/// Where the engine and the workers meet: what is asked of trials, who has which of them in hand, and what they told.
///
/// One mutex guards all of it, and none of it is reached without. Slots of trials that nobody works on lie here; taking
/// one makes the taker its only owner until it is given back. Thread-safe.
class TrialDispatcher {
 public:
  using Slots = std::vector<std::unique_ptr<TrialSlot>>;
  /// Work with the slots of its trials, in their order; or, without any, help for another executor's trial.
  struct WorkItem {
    Work work;
    Slots slots;
    std::string session = {};  ///< where helpers may share the steps of its one trial
    std::optional<engine::HelpTrial> help = {};
    bool cannot_help = false;  ///< the helper's word: it cannot
  };

  /// Programs have so many lanes, and each so many machines (DispatchCapacity). Nothing is handed out before open(). `on_evict` is
  /// called, under the board's mutex, with every slot that goes before the board does, and so is `on_ready`, if there is
  /// one, where next() has something.
  explicit TrialDispatcher(std::int64_t lanes, std::function<void(TrialSlot&)> on_evict = {},
                      std::function<void()> on_ready = {}, std::int64_t machines = 0)
      : lanes_(lanes), machines_(machines), on_evict_(std::move(on_evict)), on_ready_(std::move(on_ready)) {}

  // The engine's side.

  /// A trial comes, or comes back: what was not heard of it is forgotten, and it tells first what it `repeats`. It may
  /// be here before the worker that parked or abandoned it has let go of it, which is waited for. Nothing happens where
  /// the board is broken: next() tells why.
  void add_trial(std::unique_ptr<TrialSlot> slot, bool runs_alone, const std::vector<study::Measurement>& repeats);
  void command(const engine::Command& command);
  /// The next report, waiting at most `seconds`; of a broken board that it is.
  std::optional<engine::Report> next(double seconds);

  // The workers' side.

  /// So many workers are there.
  void open(std::int64_t workers);
  /// Nobody is waited for any more: take() gives nothing, and who trains is told to leave off.
  void close();
  /// What a free worker does next; waits for it. None: the board was closed.
  std::optional<WorkItem> take();
  void return_item(WorkItem item);
  /// A report that is lost would be waited for, so without memory for one there are no more at all.
  void post(engine::Report report);
  /// For good.
  void fail_all(Code code, const char* reason);
  /// Who helps leaves at the end of an epoch: there is something else to do, or may be.
  const std::atomic<bool>& helper_should_leave() const { return helper_should_leave_; }
  /// Or at once.
  const std::atomic<bool>& helper_must_stop() const { return helper_must_stop_; }
  /// Everything is to be saved, nothing trained.
  const std::atomic<bool>& pausing() const { return pausing_; }

  // Memory is short.

  /// The slots that nobody works on and that have a state in memory; to be given back.
  Slots take_idle_slots();
  void return_idle_slots(Slots slots);
  /// Nothing is handed out until wake(); what was, is waited for.
  void pause_dispatch();
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

  const std::int64_t lanes_, machines_;
  const std::function<void(TrialSlot&)> on_evict_;
  const std::function<void()> on_ready_;
  std::atomic<bool> pausing_ = false;
  std::atomic<bool> helper_should_leave_ = false, helper_must_stop_ = false;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable work_changed_, report_arrived_, worker_freed_;
  DispatchEntries entries_;
  std::map<TrialId, std::unique_ptr<TrialSlot>> slots_;  // of every ticket; null while a worker has it in hand
  std::deque<engine::Report> reports_;
  std::int64_t workers_ = 0, busy_ = 0, num_items_ = 0;
  std::optional<engine::HelpTrial> help_;  // to be given
  bool is_helping_ = false;                // somebody does
  bool is_dispatch_paused_ = true;  // nothing is handed out
  bool closed_ = false;
  bool is_pause_reported_ = false;
  std::optional<Code> failure_code_;
  std::array<char, 200> failure_text_{};  // an array, since it may be told that there is no memory
};

}  // namespace lanista::runtime
