#include "lanista/engine/core/report_receiver.h"

#include <string>
#include <utility>
#include <variant>

#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {

using store::RecordType;

Result<void> ReportReceiver::accept(Report report) {
  return std::visit([this](auto& each) { return receive(std::move(each)); }, report);
}

Result<void> ReportReceiver::receive(EpochReport report) {
  study::Measurement& measurement = report.measurement;
  ActiveTrial* trial = active_.find(measurement.trial);
  if (trial == nullptr || trial->is_ending_or_pausing()) return {};
  const std::int64_t expected = trial->next + static_cast<std::int64_t>(trial->waiting.measurements.size());
  if (measurement.epoch < expected) return {};       // a resumed trial repeats its measurements
  if (measurement.epoch > trial->budget) return {};  // a checkpoint of a damaged folder may have more epochs
  if (measurement.epoch > expected) {
    return Error{Code::kInternal,
                 "trial " + std::to_string(trial->id.value) + " reported epoch " + std::to_string(measurement.epoch) +
                     " when epoch " + std::to_string(expected) + " of " + std::to_string(trial->budget) + " was due",
                 ""};
  }
  trial->waiting.measurements.push_back(std::move(measurement));
  return {};
}

Result<void> ReportReceiver::receive(FailureReport report) {
  if (ActiveTrial* trial = active_.find(report.trial)) trial->waiting.failure = std::move(report);
  return {};
}

Result<void> ReportReceiver::receive(const CheckpointReport& report) { return kept_.record_checkpoint(report); }

Result<void> ReportReceiver::receive(FinishedReport report) {
  ActiveTrial* trial = active_.find(report.trial);
  if (trial != nullptr && trial->pending_outcome) {
    trial->waiting.finished = std::move(report);
  } else {  // it was cancelled in the meantime
    study_.checkpoints.hold(report.weights);
    study_.checkpoints.release(report.weights);
  }
  return {};
}

Result<void> ReportReceiver::receive(TrialPausedReport report) {
  if (!report.address.empty()) {
    LANISTA_TRY(kept_.record_checkpoint({report.trial, report.epoch, report.step, report.address}));
  }
  ActiveTrial* trial = active_.find(report.trial);
  if (trial != nullptr && trial->pausing) trial->waiting.paused = std::move(report);
  return {};
}

Result<void> ReportReceiver::receive(const AllPausedReport& /*report*/) {
  all_paused_ = true;
  return {};
}

Result<void> ReportReceiver::receive(SpanReport report) {
  StudyState& state = study_.state;
  if (state.timed_steps >= study::kMaxTimedSteps) report.timed = nullptr;
  // Seconds of work, as in the view, because the clock also runs between attempts.
  const double offset = state.seconds_of_earlier_attempts() - study_.attempt_start_seconds;
  const study::Span worked{report.trial,          report.epoch,           report.worker,
                           report.began + offset, report.ended + offset,  report.lanes,
                           report.width,          report.costs,           0,
                           report.device,         std::move(report.timed)};
  LANISTA_TRY(study_.log.append(RecordType::kSpan, span_body(worked)));
  state.add_span(worked);
  return {};
}

Result<void> ReportReceiver::receive(ExecutorErrorReport report) { return std::move(report.error); }

Result<void> ReportReceiver::receive(const WorkerReport& report) {
  LANISTA_TRY(study_.log.append(RecordType::kWorker, worker_body(report, study_.services.clock->unix_time())));
  study_.state.add_worker_report(report);
  if (report.is_dropped) {
    study_.event(Level::kWarning, "worker_dropped",
                 {{"worker", report.worker}, {"host", report.host}, {"reason", report.reason}});
  }
  return {};
}

}  // namespace lanista::engine
