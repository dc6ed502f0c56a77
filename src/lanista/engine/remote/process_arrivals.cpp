#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "lanista/ipc/host.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/process_executor_impl.h"

// What arrives from worker processes: everything is checked (ReportCheck) before it changes any state, and a worker
// that sends what no honest worker sends is dropped.
namespace lanista::engine {
namespace {

constexpr int kMeasureTries = 3;
constexpr double kLook = 0.25;               ///< seconds
constexpr std::size_t kMostPlaceText = 400;  ///< bytes that a worker says about a process of its own

/// One that says that there is no memory, of nothing in particular, speaks of its process.
bool is_of_the_process(const Error& error) { return error.code == Code::kResourceExhausted && error.where.empty(); }

}  // namespace

void ProcessExecutor::Impl::take(const Fleet::News& news) {
  if (const auto* ready = std::get_if<Fleet::Ready>(&news)) begin(*ready);
  if (const auto* heard = std::get_if<Fleet::Heard>(&news)) hear(heard->worker, heard->message);
  if (const auto* lost = std::get_if<Fleet::Lost>(&news)) lose(*lost);
  if (const auto* all = std::get_if<Fleet::Broken>(&news)) break_down(all->error);
  send_helpers();
}

void ProcessExecutor::Impl::break_down(const Error& error) {
  if (!broken) broken = error;
}

void ProcessExecutor::Impl::begin(const Fleet::Ready& ready) {
  came[ready.worker] = {static_cast<std::int64_t>(ready.worker), ready.process, true, "", {}, 0, ready.host};
  reports.emplace_back(came[ready.worker]);
  for (const Leases::Move& moved : leases.share_out_to(ready.worker, away())) {
    if (moved.from) tell(*moved.from, Finish{moved.trial, false, true});
  }
  std::vector<TrialId> waiting;
  for (const auto& [trial, lease] : leases.all()) {
    if (!lease.is_sent) waiting.push_back(trial);
  }
  send(waiting);
}

void ProcessExecutor::Impl::hear(std::size_t worker, const Message& message) {
  if (offenders.contains(worker)) return;  // it sent this behind what it is dropped for
  const auto heard = understand(worker, message);
  if (heard) return;
  offenders.insert(worker);
  // A worker that is not ready has ended meanwhile: the news of that follow, and there may be another in its place.
  if (is_ready(worker)) fleet->expel(worker, heard.error().message);
}

Result<void> ProcessExecutor::Impl::understand(std::size_t worker, const Message& message) {
  switch (static_cast<WireKind>(message.kind)) {
    case WireKind::kReport:
      return report(worker, message.text);
    case WireKind::kRefused:
      return refused(worker, message.text);
    case WireKind::kInHand:
      return in_hand(worker, message.text);
    case WireKind::kAnswer:
    case WireKind::kNoAnswer:
      return answered(worker, message);
    case WireKind::kBroken:
      return broke(worker, message.text);
    default:
      return Error{Code::kDataLoss, "sent a message of kind " + std::to_string(message.kind), ""};
  }
}

Result<void> ProcessExecutor::Impl::report(std::size_t worker, const std::string& text) {
  const auto tokened = split_token(text);
  if (!tokened) return unreadable(tokened.error());
  auto decoded = decode_report(tokened->text);
  if (!decoded) return unreadable(decoded.error());
  if (std::holds_alternative<PausedReport>(*decoded)) return paused(worker);
  if (auto* lost = std::get_if<WorkerReport>(&*decoded)) return lost_place(worker, std::move(*lost));
  const auto trial = trial_of(*decoded);
  const Lease* lease = trial ? leases.find(*trial) : nullptr;
  LANISTA_TRY(check.report(worker, tokened->token, *decoded, lease));
  const std::int64_t told = lease != nullptr ? lease->told : 0, saved = lease != nullptr ? lease->saved_step : 0;
  LANISTA_ASSIGN(auto heard, leases.hear(worker, tokened->token, *std::move(decoded), clock.now()));
  if (!heard) return {};
  note_progress(worker, *heard, told, saved);
  if (const auto* span = std::get_if<SpanReport>(&*heard)) helping.note(*span);
  reports.push_back(*std::move(heard));
  return {};
}

void ProcessExecutor::Impl::note_progress(std::size_t worker, const Report& report, std::int64_t told_before,
                                          std::int64_t saved_before) {
  const auto* epoch = std::get_if<EpochReport>(&report);
  const auto* saved = std::get_if<CheckpointReport>(&report);
  const bool is_new = (epoch != nullptr && epoch->measurement.epoch > told_before) ||
                      (saved != nullptr && saved->step > saved_before) ||
                      std::holds_alternative<FinishedReport>(report) || std::holds_alternative<ParkedReport>(report);
  if (is_new) fleet->note_progress(worker);
}

Result<void> ProcessExecutor::Impl::paused(std::size_t worker) {
  if (!saving.contains(worker)) return Error{Code::kDataLoss, "reported a pause that was not asked for", ""};
  has_saved(worker);
  return {};
}

/// A worker lost one of its own processes, and is here as before.
Result<void> ProcessExecutor::Impl::lost_place(std::size_t worker, WorkerReport lost) {
  LANISTA_TRY(check.place(lost));
  const WorkerReport& back = came[worker];
  lost.worker = back.worker;
  lost.host = back.host;
  lost.reason = visible_text(lost.reason, kMostPlaceText);
  reports.emplace_back(std::move(lost));
  reports.emplace_back(back);
  return {};
}

Result<void> ProcessExecutor::Impl::refused(std::size_t worker, const std::string& text) {
  const auto tokened = split_token(text);
  if (!tokened) return unreadable(tokened.error());
  const std::string_view all = tokened->text;
  const auto line = all.find('\n');
  if (line == std::string_view::npos) return unreadable({Code::kDataLoss, "a refusal without a reason", ""});
  const auto trials = decode_trials(all.substr(0, line));
  if (!trials) return unreadable(trials.error());
  if (trials->size() != 1) return Error{Code::kDataLoss, "refused not exactly one trial", ""};
  const auto reason = read_error(all.substr(line + 1));
  if (!reason) return unreadable(reason.error());
  LANISTA_TRY(check.refusal(worker, tokened->token, trials->front()));
  if (leases.try_older(trials->front(), tokened->token, reason->error)) {
    send(*trials);
    return {};
  }
  LANISTA_ASSIGN(auto heard, leases.hear(worker, tokened->token,
                                         FailureReport{trials->front(), 1, reason->error.text()}, clock.now()));
  if (heard) reports.push_back(*std::move(heard));
  return {};
}

Result<void> ProcessExecutor::Impl::in_hand(std::size_t worker, const std::string& text) {
  auto trials = decode_trials(text);
  if (!trials) return unreadable(trials.error());
  LANISTA_TRY(check.in_hand(worker, *trials));
  leases.in_hand(worker, *std::move(trials));
  return {};
}

Result<void> ProcessExecutor::Impl::answered(std::size_t worker, const Message& message) {
  if (question_to != worker) return Error{Code::kDataLoss, "answered a question that was not asked", ""};
  if (static_cast<WireKind>(message.kind) == WireKind::kAnswer) {
    auto metrics = decode_metrics(message.text);
    if (!metrics) return unreadable(metrics.error());
    LANISTA_TRY(ReportCheck::answer(*metrics, asked_part));
    answers.insert_or_assign(worker, std::move(metrics));
  } else {
    auto error = read_error(message.text);
    if (!error) return unreadable(error.error());
    answers.insert_or_assign(worker, std::move(error->error));
  }
  question_to.reset();
  fleet->note_progress(worker);
  return {};
}

Result<void> ProcessExecutor::Impl::broke(std::size_t worker, const std::string& text) {
  const auto error = read_error(text);
  if (!error) return unreadable(error.error());
  if (is_of_the_process(error->error)) {
    const std::string reason = "ran out of memory (" + visible_text(error->error.message, kMostPlaceText) + ")";
    if (is_ready(worker)) fleet->lose(worker, true, reason);
    return {};
  }
  break_down(error->error);
  return {};
}

void ProcessExecutor::Impl::lose(const Fleet::Lost& lost) {
  helping.lose(lost.worker, leases);
  check.lost(lost.worker);
  offenders.erase(lost.worker);
  if (question_to == lost.worker) question_to.reset();
  Leases::Loss loss = leases.lose(lost.worker, lost.own_fault, lost.reason, clock.now());
  last_losses[lost.worker] = lost.reason;
  reports.emplace_back(WorkerReport{static_cast<std::int64_t>(lost.worker), lost.process, false, lost.reason,
                                    loss.again, loss.seconds, lost.host, std::move(loss.costs), lost.was_dropped});
  for (FailureReport& failure : loss.failed) reports.emplace_back(std::move(failure));
  has_saved(lost.worker);
  if (fleet->is_due(lost.worker)) return;  // who comes in its place takes its trials
  std::vector<bool> away = ready();
  away.flip();
  leases.move_from(lost.worker, away);
  send(loss.again);
}

/// One that is ready, with the fewest trials.
std::optional<std::size_t> ProcessExecutor::Impl::free_worker() const {
  const std::vector<std::int64_t> loads = leases.loads();
  std::optional<std::size_t> best;
  for (std::size_t worker = 0; worker < loads.size(); ++worker) {
    if (is_ready(worker) && (!best || loads[worker] < loads[*best])) best = worker;
  }
  return best;
}

bool ProcessExecutor::Impl::gives_up_waiting() {
  if (pause_asked == nullptr || pause_asked->load() == 0) return false;
  if (!stop_waiting_at) stop_waiting_at = clock.now() + pause_seconds();
  return clock.now() >= *stop_waiting_at;
}

std::optional<std::size_t> ProcessExecutor::Impl::wait_for_worker() {
  while (begin_workers() && !broken && !is_pausing && !gives_up_waiting()) {
    if (const auto worker = free_worker()) return worker;
    if (const auto news = fleet->next(kLook)) take(*news);
  }
  return std::nullopt;
}

Result<std::map<std::string, double>> ProcessExecutor::Impl::measure(const std::string& question, data::Part part) {
  for (int tried = 0; tried < kMeasureTries; ++tried) {
    const auto worker = wait_for_worker();
    if (!worker) break;
    answers.erase(*worker);
    last_losses.erase(*worker);
    question_to = worker;
    asked_part = part;
    fleet->send(*worker, WireKind::kQuestion, question);
    while (!broken && !last_losses.contains(*worker) && !gives_up_waiting()) {
      if (const auto answer = answers.find(*worker); answer != answers.end()) return answer->second;
      if (const auto news = fleet->next(kLook)) take(*news);
    }
    if (!broken && !last_losses.contains(*worker)) {
      fleet->lose(*worker, false, "did not answer a question before the study's pause");
      break;
    }
    if (!broken && tried + 1 == kMeasureTries) {
      return Error{Code::kUnavailable,
                   "a worker process " + last_losses.at(*worker) + " while it measured, " +
                       std::to_string(kMeasureTries) + " times in a row",
                   ""};
    }
  }
  if (!broken && gives_up_waiting()) {
    return Error{Code::kUnavailable, "interrupted by a pause while a worker process measured", ""};
  }
  return broken ? *broken : Error{Code::kUnavailable, "there are no worker processes any more", ""};
}

}  // namespace lanista::engine
