#include "lanista/engine/local/trial_dispatcher.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>
#include <variant>

namespace lanista::runtime {

// For the engine.

void TrialDispatcher::add_trial(std::unique_ptr<TrialSlot> slot, bool runs_alone,
                                const std::vector<study::Measurement>& repeats) {
  const TrialId trial = slot->job.trial;
  std::unique_lock lock(mutex_);
  helper_should_leave_ = true;
  worker_freed_.wait(lock, [&] {
    const auto before = entries_.find(trial);
    return before == entries_.end() || !before->second.running || failure_code_;
  });
  if (failure_code_) return;
  erase(trial);
  drop_reports(trial);
  for (const auto& measurement : repeats) reports_.emplace_back(engine::EpochReport{measurement});
  notify_report_ready();
  auto& slot_entry = slots_[trial];
  DispatchEntry& entry = entries_.try_emplace(trial, slot->job, slot->key, runs_alone).first->second;
  entry.progress = slot->progress();
  slot->signals = &entry.signals;
  slot_entry = std::move(slot);
}

void TrialDispatcher::command(const engine::Command& command) {
  const std::lock_guard lock(mutex_);
  helper_should_leave_ = true;
  if (std::holds_alternative<engine::PauseAll>(command)) {
    pausing_ = helper_must_stop_ = true;
    if (workers_ == 0) {
      reports_.emplace_back(engine::AllPausedReport{});
      notify_report_ready();
    }
  } else if (const auto* arranged = std::get_if<engine::UpdateGroups>(&command)) {
    update_groups(*arranged);
  } else if (const auto* allowed = std::get_if<engine::Allow>(&command)) {
    allow(*allowed);
  } else if (const auto* pause = std::get_if<engine::PauseTrial>(&command)) {
    if (const auto it = entries_.find(pause->trial); it != entries_.end()) it->second.pause_requested = true;
  } else if (const auto* asked = std::get_if<engine::Finish>(&command)) {
    finish(*asked);
  } else if (const auto* widen = std::get_if<engine::AcceptHelpers>(&command)) {
    if (const auto it = entries_.find(widen->trial); it != entries_.end()) it->second.session = widen->session;
  } else if (const auto* help = std::get_if<engine::HelpTrial>(&command)) {
    help_.reset();
    if (!help->session.empty()) help_ = *help;
  }
  work_changed_.notify_all();
}

void TrialDispatcher::allow(const engine::Allow& allowed) {
  const auto it = entries_.find(allowed.trial);
  if (it != entries_.end()) it->second.allowed_epochs = std::max(it->second.allowed_epochs, allowed.epoch);
}

void TrialDispatcher::update_groups(const engine::UpdateGroups& arranged) {
  for (const plan::Regrouping::Part& part : arranged.changes.parts) {
    for (const TrialId trial : part.trials) {
      if (const auto it = entries_.find(trial); it != entries_.end()) it->second.group = part.group;
    }
  }
  for (const engine::Allow& allowed : arranged.allow) allow(allowed);
}

void TrialDispatcher::finish(const engine::Finish& finish) {
  const auto it = entries_.find(finish.trial);
  if (it == entries_.end()) return;
  DispatchEntry& entry = it->second;
  entry.finish_requested = true;
  entry.keep_weights = finish.keep_weights;
  if (finish.abandon) entry.signals.abandon = true;
  if (entry.signals.abandon && !entry.running) erase(finish.trial);
}

std::optional<engine::Report> TrialDispatcher::next(double seconds) {
  std::unique_lock lock(mutex_);
  report_arrived_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return !reports_.empty() || failure_code_; });
  if (failure_code_) return engine::ExecutorErrorReport{Error{*failure_code_, failure_text_.data(), ""}};
  if (reports_.empty()) return std::nullopt;
  engine::Report report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

void TrialDispatcher::notify_report_ready() {
  report_arrived_.notify_all();
  if (on_ready_) on_ready_();
}

void TrialDispatcher::drop_reports(TrialId trial) {
  std::erase_if(reports_, [trial](const engine::Report& report) {
    const auto* epoch = std::get_if<engine::EpochReport>(&report);
    const auto* failure = std::get_if<engine::FailureReport>(&report);
    const auto* finished = std::get_if<engine::FinishedReport>(&report);
    return (epoch != nullptr && epoch->measurement.trial == trial) || (failure != nullptr && failure->trial == trial) ||
           (finished != nullptr && finished->trial == trial);
  });
}

// For workers.

void TrialDispatcher::open(std::int64_t workers) {
  const std::lock_guard lock(mutex_);
  workers_ = workers;
  is_dispatch_paused_ = false;
  work_changed_.notify_all();
}

void TrialDispatcher::close() {
  const std::lock_guard lock(mutex_);
  closed_ = helper_should_leave_ = helper_must_stop_ = true;
  for (auto& [id, entry] : entries_) entry.signals.abandon = true;  // a running epoch ends at its next step
  work_changed_.notify_all();
}

std::optional<TrialDispatcher::WorkItem> TrialDispatcher::take() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    const DispatchCapacity capacity{
        .workers = workers_, .busy = busy_, .lanes = lanes_, .pausing = pausing_, .max_executables = max_executables_};
    Work work = is_dispatch_paused_ ? Work{} : next_work(entries_, capacity);
    if (!work.trials.empty()) {
      WorkItem item{std::move(work), {}};
      const bool is_one = item.work.kind == WorkKind::kTrain && item.work.trials.size() == 1;
      if (is_one) item.session = entries_.at(item.work.trials.front()).session;
      item.slots.reserve(item.work.trials.size());
      ++num_items_;
      for (const TrialId trial : item.work.trials) item.slots.push_back(take_slot(trial));
      ++busy_;
      return item;
    }
    if (auto help = take_help()) return help;
    if (pausing_ && !is_dispatch_paused_ && !is_pause_reported_ && busy_ == 0) {
      is_pause_reported_ = true;
      reports_.emplace_back(engine::AllPausedReport{});
      notify_report_ready();
    }
    work_changed_.wait(lock);
  }
  return std::nullopt;
}

std::optional<TrialDispatcher::WorkItem> TrialDispatcher::take_help() {
  helper_should_leave_ = false;
  if (!help_ || is_helping_ || is_dispatch_paused_ || pausing_) return std::nullopt;
  is_helping_ = true;
  ++busy_;
  WorkItem item;
  item.help = help_;
  return item;
}

void TrialDispatcher::return_item(WorkItem item) {
  const std::lock_guard lock(mutex_);
  --busy_;
  if (item.help) {
    is_helping_ = false;
    if (item.cannot_help && help_ && help_->session == item.help->session) help_.reset();
  }
  for (auto& slot : item.slots) put_slot(std::move(slot));
  worker_freed_.notify_all();
  work_changed_.notify_all();
}

void TrialDispatcher::post(engine::Report report) {
  try {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    notify_report_ready();
  } catch (const std::bad_alloc&) {
    fail_all(Code::kResourceExhausted, "out of memory");
  }
}

void TrialDispatcher::fail_all(Code code, const char* reason) {
  const std::lock_guard lock(mutex_);
  if (!failure_code_) {
    failure_code_ = code;
    std::snprintf(failure_text_.data(), failure_text_.size(), "%s", reason);
  }
  notify_report_ready();
  worker_freed_.notify_all();
}

TrialDispatcher::Slots TrialDispatcher::take_idle_slots() {
  const std::lock_guard lock(mutex_);
  std::vector<TrialId> idle;
  for (const auto& [id, entry] : entries_) {
    if (!entry.running && entry.progress.holds_state) idle.push_back(id);
  }
  Slots slots;
  slots.reserve(idle.size());
  for (const TrialId trial : idle) slots.push_back(take_slot(trial));
  return slots;
}

void TrialDispatcher::return_idle_slots(Slots slots) {
  const std::lock_guard lock(mutex_);
  for (auto& slot : slots) put_slot(std::move(slot));
  worker_freed_.notify_all();
  if (!slots.empty()) work_changed_.notify_all();
}

void TrialDispatcher::pause_dispatch() {
  std::unique_lock lock(mutex_);
  is_dispatch_paused_ = helper_should_leave_ = true;
  worker_freed_.wait(lock, [&] { return busy_ == 0 || failure_code_; });
}

void TrialDispatcher::resume_dispatch() {
  const std::lock_guard lock(mutex_);
  is_dispatch_paused_ = false;
  work_changed_.notify_all();
}

// Slots.

std::unique_ptr<TrialSlot> TrialDispatcher::take_slot(TrialId trial) {
  DispatchEntry& entry = entries_.at(trial);
  entry.running = true;
  entry.work_item_id = num_items_;
  return std::move(slots_.at(trial));
}

// Allocates no memory, because the caller may have run out of it.
void TrialDispatcher::put_slot(std::unique_ptr<TrialSlot> slot) {
  const TrialId trial = slot->job.trial;
  DispatchEntry& entry = entries_.at(trial);
  entry.running = false;
  entry.progress = slot->progress();
  slots_.at(trial) = std::move(slot);
  if (entry.is_gone()) erase(trial);
}

void TrialDispatcher::erase(TrialId trial) {
  if (const auto it = slots_.find(trial); it != slots_.end()) {
    if (it->second && on_evict_) on_evict_(*it->second);
    slots_.erase(it);
  }
  entries_.erase(trial);
}

}  // namespace lanista::runtime
