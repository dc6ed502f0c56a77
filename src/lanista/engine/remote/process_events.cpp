#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/process_executor_impl.h"
#include "lanista/ipc/host_name.h"

// Messages from worker processes. ReportCheck checks everything before it changes a state. A worker that sends an
// invalid message is dropped.
namespace lanista::engine {
namespace {

constexpr int kMaxMeasureAttempts = 3;
constexpr double kWaitSeconds = 0.25;            ///< Seconds of one wait for an event.
constexpr std::size_t kMaxStageTextBytes = 400;  ///< Bytes of a worker's text about its own process.

/// Whether the error reports a lack of memory of the worker's process, and not of one object.
bool is_out_of_memory(const Error& error) { return error.code == Code::kResourceExhausted && error.where.empty(); }

}  // namespace

void ProcessExecutor::Impl::handle_event(const Fleet::FleetEvent& event) {
  if (const auto* ready = std::get_if<Fleet::Ready>(&event)) handle_ready(*ready);
  if (const auto* accepted = std::get_if<Fleet::WorkerMessage>(&event))
    handle_message(accepted->worker, accepted->message);
  if (const auto* lost = std::get_if<Fleet::Lost>(&event)) mark_lost(*lost);
  if (const auto* all = std::get_if<Fleet::Broken>(&event)) fail_all(all->error);
  send_helpers();
}

void ProcessExecutor::Impl::fail_all(const Error& error) {
  if (!broken) broken = error;
}

void ProcessExecutor::Impl::handle_ready(const Fleet::Ready& ready) {
  last_start_reports[ready.worker] = {
      static_cast<std::int64_t>(ready.worker), ready.process, true, "", {}, 0, ready.host};
  reports.emplace_back(last_start_reports[ready.worker]);
  for (const Leases::Reassignment& moved : leases.rebalance_to(ready.worker, excluded_workers())) {
    if (moved.from) send_command(*moved.from, Finish{moved.trial, false, true});
  }
  std::vector<TrialId> waiting;
  for (const auto& [trial, lease] : leases.all()) {
    if (!lease.is_sent) waiting.push_back(trial);
  }
  send(waiting);
}

void ProcessExecutor::Impl::handle_message(std::size_t worker, const Message& message) {
  if (dropped_workers.contains(worker)) return;  // sent after the message for which it is dropped
  const auto accepted = dispatch_message(worker, message);
  if (accepted) return;
  dropped_workers.insert(worker);
  // A worker that is not ready has ended. Its loss follows as an event, and another process may already replace it.
  if (is_ready(worker)) fleet->end_misbehaving(worker, accepted.error().message);
}

Result<void> ProcessExecutor::Impl::dispatch_message(std::size_t worker, const Message& message) {
  switch (static_cast<WireKind>(message.kind)) {
    case WireKind::kReport:
      return handle_report(worker, message.text);
    case WireKind::kRefused:
      return handle_refusal(worker, message.text);
    case WireKind::kActiveTrials:
      return handle_active_trials(worker, message.text);
    case WireKind::kAnswer:
    case WireKind::kNoAnswer:
      return handle_answer(worker, message);
    case WireKind::kBroken:
      return handle_worker_error(worker, message.text);
    default:
      return Error{Code::kDataLoss, "sent a message of kind " + std::to_string(message.kind), ""};
  }
}

Result<void> ProcessExecutor::Impl::handle_report(std::size_t worker, const std::string& text) {
  const auto tokened = split_token(text);
  if (!tokened) return unreadable_message(tokened.error());
  auto decoded = decode_report(tokened->text);
  if (!decoded) return unreadable_message(decoded.error());
  if (std::holds_alternative<AllPausedReport>(*decoded)) return handle_paused(worker);
  if (auto* lost = std::get_if<WorkerReport>(&*decoded)) return handle_lost_stage(worker, std::move(*lost));
  const auto trial = trial_of(*decoded);
  const Lease* lease = trial ? leases.find(*trial) : nullptr;
  LANISTA_TRY(check.on_report(worker, tokened->token, *decoded, lease));
  const std::int64_t num_reported_epochs = lease != nullptr ? lease->num_reported_epochs : 0,
                     saved = lease != nullptr ? lease->saved_step : 0;
  LANISTA_ASSIGN(auto accepted, leases.accept_report(worker, tokened->token, *std::move(decoded), clock.now()));
  if (!accepted) return {};
  note_progress(worker, *accepted, num_reported_epochs, saved);
  if (const auto* span = std::get_if<SpanReport>(&*accepted)) helping.note(*span);
  reports.push_back(*std::move(accepted));
  return {};
}

void ProcessExecutor::Impl::note_progress(std::size_t worker, const Report& report, std::int64_t reported_before,
                                          std::int64_t saved_before) {
  const auto* epoch = std::get_if<EpochReport>(&report);
  const auto* saved = std::get_if<CheckpointReport>(&report);
  const bool is_new = (epoch != nullptr && epoch->measurement.epoch > reported_before) ||
                      (saved != nullptr && saved->step > saved_before) ||
                      std::holds_alternative<FinishedReport>(report) ||
                      std::holds_alternative<TrialPausedReport>(report);
  if (is_new) fleet->note_progress(worker);
}

Result<void> ProcessExecutor::Impl::handle_paused(std::size_t worker) {
  if (!pausing_workers.contains(worker)) return Error{Code::kDataLoss, "reported a pause that was not requested", ""};
  mark_worker_paused(worker);
  return {};
}

/// A worker lost one of its own processes and continues. This reports the loss and the worker as started again.
Result<void> ProcessExecutor::Impl::handle_lost_stage(std::size_t worker, WorkerReport lost) {
  LANISTA_TRY(check.on_stage_loss(lost));
  const WorkerReport& back = last_start_reports[worker];
  lost.worker = back.worker;
  lost.host = back.host;
  lost.reason = visible_text(lost.reason, kMaxStageTextBytes);
  reports.emplace_back(std::move(lost));
  reports.emplace_back(back);
  return {};
}

Result<void> ProcessExecutor::Impl::handle_refusal(std::size_t worker, const std::string& text) {
  const auto tokened = split_token(text);
  if (!tokened) return unreadable_message(tokened.error());
  const std::string_view all = tokened->text;
  const auto line = all.find('\n');
  if (line == std::string_view::npos) return unreadable_message({Code::kDataLoss, "a refusal without a reason", ""});
  const auto trials = decode_trials(all.substr(0, line));
  if (!trials) return unreadable_message(trials.error());
  if (trials->size() != 1) return Error{Code::kDataLoss, "refused not exactly one trial", ""};
  const auto reason = read_error(all.substr(line + 1));
  if (!reason) return unreadable_message(reason.error());
  LANISTA_TRY(check.on_refusal(worker, tokened->token, trials->front()));
  if (leases.retry_from_older(trials->front(), tokened->token, reason->error)) {
    send(*trials);
    return {};
  }
  LANISTA_ASSIGN(auto accepted,
                 leases.accept_report(worker, tokened->token, FailureReport{trials->front(), 1, reason->error.text()},
                                      clock.now()));
  if (accepted) reports.push_back(*std::move(accepted));
  return {};
}

Result<void> ProcessExecutor::Impl::handle_active_trials(std::size_t worker, const std::string& text) {
  auto trials = decode_trials(text);
  if (!trials) return unreadable_message(trials.error());
  LANISTA_TRY(check.on_active_trials(worker, *trials));
  leases.on_active_trials(worker, *std::move(trials));
  return {};
}

Result<void> ProcessExecutor::Impl::handle_answer(std::size_t worker, const Message& message) {
  if (measuring_worker != worker) return Error{Code::kDataLoss, "answered a measurement that was not requested", ""};
  if (static_cast<WireKind>(message.kind) == WireKind::kAnswer) {
    auto metrics = decode_measured_metrics(message.text);
    if (!metrics) return unreadable_message(metrics.error());
    LANISTA_TRY(ReportCheck::on_answer(*metrics, measured_part));
    answers.insert_or_assign(worker, std::move(metrics));
  } else {
    auto error = read_error(message.text);
    if (!error) return unreadable_message(error.error());
    answers.insert_or_assign(worker, std::move(error->error));
  }
  measuring_worker.reset();
  fleet->note_progress(worker);
  return {};
}

Result<void> ProcessExecutor::Impl::handle_worker_error(std::size_t worker, const std::string& text) {
  const auto error = read_error(text);
  if (!error) return unreadable_message(error.error());
  if (is_out_of_memory(error->error)) {
    const std::string reason = "ran out of memory (" + visible_text(error->error.message, kMaxStageTextBytes) + ")";
    if (is_ready(worker)) fleet->mark_lost(worker, true, reason);
    return {};
  }
  fail_all(error->error);
  return {};
}

void ProcessExecutor::Impl::mark_lost(const Fleet::Lost& lost) {
  helping.mark_lost(lost.worker, leases);
  check.on_worker_lost(lost.worker);
  dropped_workers.erase(lost.worker);
  if (measuring_worker == lost.worker) measuring_worker.reset();
  Leases::Loss loss = leases.mark_lost(lost.worker, lost.own_fault, lost.reason, clock.now());
  last_loss_reasons[lost.worker] = lost.reason;
  reports.emplace_back(WorkerReport{static_cast<std::int64_t>(lost.worker), lost.process, false, lost.reason,
                                    loss.restarted_trials, loss.seconds, lost.host, std::move(loss.costs),
                                    lost.is_dropped});
  for (FailureReport& failure : loss.failed) reports.emplace_back(std::move(failure));
  mark_worker_paused(lost.worker);
  if (fleet->is_expected(lost.worker)) return;  // the process that replaces it gets its trials
  std::vector<bool> excluded_workers = ready();
  excluded_workers.flip();
  leases.move_from(lost.worker, excluded_workers);
  send(loss.restarted_trials);
}

std::optional<std::size_t> ProcessExecutor::Impl::idle_worker() const {
  const std::vector<std::int64_t> loads = leases.trials_per_worker();
  std::optional<std::size_t> best;
  for (std::size_t worker = 0; worker < loads.size(); ++worker) {
    if (is_ready(worker) && (!best || loads[worker] < loads[*best])) best = worker;
  }
  return best;
}

bool ProcessExecutor::Impl::has_waited_too_long() {
  if (pause_signal == nullptr || pause_signal->load() == 0) return false;
  if (!wait_deadline_seconds) wait_deadline_seconds = clock.now() + pause_seconds();
  return clock.now() >= *wait_deadline_seconds;
}

std::optional<std::size_t> ProcessExecutor::Impl::wait_for_worker() {
  while (start_workers() && !broken && !is_pausing && !has_waited_too_long()) {
    if (const auto worker = idle_worker()) return worker;
    if (const auto event = fleet->next(kWaitSeconds)) handle_event(*event);
  }
  return std::nullopt;
}

Result<std::map<std::string, double>> ProcessExecutor::Impl::measure(const std::string& question, data::Part part) {
  for (int tried = 0; tried < kMaxMeasureAttempts; ++tried) {
    const auto worker = wait_for_worker();
    if (!worker) break;
    answers.erase(*worker);
    last_loss_reasons.erase(*worker);
    measuring_worker = worker;
    measured_part = part;
    fleet->send(*worker, WireKind::kQuestion, question);
    while (!broken && !last_loss_reasons.contains(*worker) && !has_waited_too_long()) {
      if (const auto answer = answers.find(*worker); answer != answers.end()) return answer->second;
      if (const auto event = fleet->next(kWaitSeconds)) handle_event(*event);
    }
    if (!broken && !last_loss_reasons.contains(*worker)) {
      fleet->mark_lost(*worker, false, "did not answer a measurement before the study's pause");
      break;
    }
    if (!broken && tried + 1 == kMaxMeasureAttempts) {
      return Error{Code::kUnavailable,
                   "a worker process " + last_loss_reasons.at(*worker) + " while it measured, " +
                       std::to_string(kMaxMeasureAttempts) + " times in a row",
                   ""};
    }
  }
  if (!broken && has_waited_too_long()) {
    return Error{Code::kUnavailable, "interrupted by a pause while a worker process measured", ""};
  }
  return broken ? *broken : Error{Code::kUnavailable, "no worker process is left", ""};
}

}  // namespace lanista::engine
