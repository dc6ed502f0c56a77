#include "lanista/engine/local/trial_board.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>
#include <variant>

namespace lanista::runtime {

// The engine's side.

void TrialBoard::place(std::unique_ptr<TrialSlot> slot, bool solo, const std::vector<study::Measurement>& repeats) {
  const TrialId trial = slot->job.trial;
  std::unique_lock lock(mutex_);
  helper_called_ = true;
  worker_rested_.wait(lock, [&] {
    const auto before = tickets_.find(trial);
    return before == tickets_.end() || !before->second.running || broken_;
  });
  if (broken_) return;
  erase(trial);
  forget_reports(trial);
  for (const auto& measurement : repeats) reports_.emplace_back(engine::EpochReport{measurement});
  ring();
  auto& place_of_slot = slots_[trial];
  Ticket& ticket = tickets_.try_emplace(trial, slot->job, slot->key, solo).first->second;
  ticket.progress = slot->progress();
  slot->signals = &ticket.signals;
  place_of_slot = std::move(slot);
}

void TrialBoard::command(const engine::Command& command) {
  const std::lock_guard lock(mutex_);
  helper_called_ = true;
  if (std::holds_alternative<engine::PauseAll>(command)) {
    pausing_ = helper_stops_ = true;
    if (workers_ == 0) {
      reports_.emplace_back(engine::PausedReport{});
      ring();
    }
  } else if (const auto* arranged = std::get_if<engine::Arrange>(&command)) {
    arrange(*arranged);
  } else if (const auto* allowed = std::get_if<engine::Allow>(&command)) {
    allow(*allowed);
  } else if (const auto* park = std::get_if<engine::Park>(&command)) {
    if (const auto it = tickets_.find(park->trial); it != tickets_.end()) it->second.park_asked = true;
  } else if (const auto* asked = std::get_if<engine::Finish>(&command)) {
    finish(*asked);
  } else if (const auto* widen = std::get_if<engine::Widen>(&command)) {
    if (const auto it = tickets_.find(widen->trial); it != tickets_.end()) it->second.session = widen->session;
  } else if (const auto* help = std::get_if<engine::Help>(&command)) {
    help_.reset();
    if (!help->session.empty()) help_ = *help;
  }
  work_changed_.notify_all();
}

void TrialBoard::allow(const engine::Allow& allowed) {
  const auto it = tickets_.find(allowed.trial);
  if (it != tickets_.end()) it->second.allowed = std::max(it->second.allowed, allowed.epoch);
}

void TrialBoard::arrange(const engine::Arrange& arranged) {
  for (const schedule::Regrouping::Part& part : arranged.changes.parts) {
    for (const TrialId trial : part.trials) {
      if (const auto it = tickets_.find(trial); it != tickets_.end()) it->second.group = part.group;
    }
  }
  for (const engine::Allow& allowed : arranged.allow) allow(allowed);
}

void TrialBoard::finish(const engine::Finish& finish) {
  const auto it = tickets_.find(finish.trial);
  if (it == tickets_.end()) return;
  Ticket& ticket = it->second;
  ticket.finish_asked = true;
  ticket.keep_weights = finish.keep_weights;
  if (finish.abandon) ticket.signals.abandon = true;
  if (ticket.signals.abandon && !ticket.running) erase(finish.trial);
}

std::optional<engine::Report> TrialBoard::next(double seconds) {
  std::unique_lock lock(mutex_);
  report_arrived_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !reports_.empty() || broken_; });
  if (broken_) return engine::BrokenReport{Error{*broken_, broken_by_.data(), ""}};
  if (reports_.empty()) return std::nullopt;
  engine::Report report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

void TrialBoard::ring() {
  report_arrived_.notify_all();
  if (bell_) bell_();
}

void TrialBoard::forget_reports(TrialId trial) {
  std::erase_if(reports_, [trial](const engine::Report& report) {
    const auto* epoch = std::get_if<engine::EpochReport>(&report);
    const auto* failure = std::get_if<engine::FailureReport>(&report);
    const auto* finished = std::get_if<engine::FinishedReport>(&report);
    return (epoch != nullptr && epoch->measurement.trial == trial) || (failure != nullptr && failure->trial == trial) ||
           (finished != nullptr && finished->trial == trial);
  });
}

// The workers' side.

void TrialBoard::open(std::int64_t workers) {
  const std::lock_guard lock(mutex_);
  workers_ = workers;
  quiet_ = false;
  work_changed_.notify_all();
}

void TrialBoard::close() {
  const std::lock_guard lock(mutex_);
  closed_ = helper_called_ = helper_stops_ = true;
  for (auto& [id, ticket] : tickets_) ticket.signals.abandon = true;  // a running epoch ends at its next step
  work_changed_.notify_all();
}

std::optional<TrialBoard::Errand> TrialBoard::take() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    const Crew crew{.workers = workers_, .busy = busy_, .lanes = lanes_, .pausing = pausing_, .machines = machines_};
    Work work = quiet_ ? Work{} : next_work(tickets_, crew);
    if (!work.trials.empty()) {
      Errand errand{std::move(work), {}};
      const bool is_one = errand.work.kind == WorkKind::kTrain && errand.work.trials.size() == 1;
      if (is_one) errand.session = tickets_.at(errand.work.trials.front()).session;
      errand.slots.reserve(errand.work.trials.size());
      ++errands_;
      for (const TrialId trial : errand.work.trials) errand.slots.push_back(take_slot(trial));
      ++busy_;
      return errand;
    }
    if (auto help = take_help()) return help;
    if (pausing_ && !quiet_ && !paused_told_ && busy_ == 0) {
      paused_told_ = true;
      reports_.emplace_back(engine::PausedReport{});
      ring();
    }
    work_changed_.wait(lock);
  }
  return std::nullopt;
}

std::optional<TrialBoard::Errand> TrialBoard::take_help() {
  helper_called_ = false;
  if (!help_ || helps_ || quiet_ || pausing_) return std::nullopt;
  helps_ = true;
  ++busy_;
  Errand errand;
  errand.help = help_;
  return errand;
}

void TrialBoard::give_back(Errand errand) {
  const std::lock_guard lock(mutex_);
  --busy_;
  if (errand.help) {
    helps_ = false;
    if (errand.gives_up && help_ && help_->session == errand.help->session) help_.reset();
  }
  for (auto& slot : errand.slots) put_slot(std::move(slot));
  worker_rested_.notify_all();
  work_changed_.notify_all();
}

void TrialBoard::post(engine::Report report) {
  try {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    ring();
  } catch (const std::bad_alloc&) {
    break_down(Code::kResourceExhausted, "out of memory");
  }
}

void TrialBoard::break_down(Code code, const char* reason) {
  const std::lock_guard lock(mutex_);
  if (!broken_) {
    broken_ = code;
    std::snprintf(broken_by_.data(), broken_by_.size(), "%s", reason);
  }
  ring();
  worker_rested_.notify_all();
}

// Memory is short.

TrialBoard::Slots TrialBoard::take_idle() {
  const std::lock_guard lock(mutex_);
  std::vector<TrialId> idle;
  for (const auto& [id, ticket] : tickets_) {
    if (!ticket.running && ticket.progress.holds_state) idle.push_back(id);
  }
  Slots slots;
  slots.reserve(idle.size());
  for (const TrialId trial : idle) slots.push_back(take_slot(trial));
  return slots;
}

void TrialBoard::give_back_idle(Slots slots) {
  const std::lock_guard lock(mutex_);
  for (auto& slot : slots) put_slot(std::move(slot));
  worker_rested_.notify_all();
  if (!slots.empty()) work_changed_.notify_all();
}

void TrialBoard::hush() {
  std::unique_lock lock(mutex_);
  quiet_ = helper_called_ = true;
  worker_rested_.wait(lock, [&] { return busy_ == 0 || broken_; });
}

void TrialBoard::wake() {
  const std::lock_guard lock(mutex_);
  quiet_ = false;
  work_changed_.notify_all();
}

// Slots.

std::unique_ptr<TrialSlot> TrialBoard::take_slot(TrialId trial) {
  Ticket& ticket = tickets_.at(trial);
  ticket.running = true;
  ticket.errand = errands_;
  return std::move(slots_.at(trial));
}

// Takes no memory: who gives back may have none.
void TrialBoard::put_slot(std::unique_ptr<TrialSlot> slot) {
  const TrialId trial = slot->job.trial;
  Ticket& ticket = tickets_.at(trial);
  ticket.running = false;
  ticket.progress = slot->progress();
  slots_.at(trial) = std::move(slot);
  if (ticket.gone()) erase(trial);
}

void TrialBoard::erase(TrialId trial) {
  if (const auto it = slots_.find(trial); it != slots_.end()) {
    if (it->second && farewell_) farewell_(*it->second);
    slots_.erase(it);
  }
  tickets_.erase(trial);
}

}  // namespace lanista::runtime
