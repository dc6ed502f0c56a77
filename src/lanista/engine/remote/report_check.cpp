#include "lanista/engine/remote/report_check.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {
namespace {

constexpr std::int64_t kMaxReportedSteps = std::int64_t{1} << 48;  ///< Steps of one trial if the rows are unknown.
constexpr std::size_t kMaxMetrics = 256;
constexpr std::size_t kMaxBranches = 4096;
constexpr std::int64_t kMaxReportedLanes = 65536, kMaxReportedWidth = 1024;
constexpr double kMaxReportedSeconds = 1e10;
constexpr std::size_t kMaxReportedReasonBytes = 16384;  ///< bytes of a failure's reason
constexpr std::size_t kMaxKnownFiles = 100'000;         ///< addresses
constexpr std::size_t kMaxNameBytes = 64;               ///< bytes of a name in a message

Error refused(const std::string& what) { return {Code::kDataLoss, what, ""}; }

std::string trial_text(TrialId trial) { return "trial " + std::to_string(trial.value); }

std::string quoted_name(const std::string& name) { return "'" + visible_text(name, kMaxNameBytes) + "'"; }

Result<void> check_range(const std::string& name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return refused("reported " + name + " " + std::to_string(value) + "; allowed: " + std::to_string(least) + " to " +
                 std::to_string(most));
}

Result<void> check_seconds(const std::string& name, double value) {
  if (std::abs(value) <= kMaxReportedSeconds) return {};  // false for NaN
  return refused("reported " + name + " that is not a finite number of seconds");
}

bool is_metric_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

Result<void> check_names(const std::map<std::string, double>& metrics) {
  if (metrics.size() > kMaxMetrics) {
    return refused("reported " + std::to_string(metrics.size()) + " metrics; allowed: up to " +
                   std::to_string(kMaxMetrics));
  }
  for (const auto& [name, value] : metrics) {
    if (!is_metric_name(name)) return refused("reported a metric with the name " + quoted_name(name));
  }
  return {};
}

bool is_address(const std::string& text) {
  const auto digest = Digest::from_hex(text);
  return digest && digest->hex() == text;
}

Digest digest_of(const study::Measurement& measurement) {
  return hash_text(study::measurement_json(measurement).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// The measurements in a checkpoint; nullopt: none that can be read.
std::optional<std::vector<study::Measurement>> measurements_in(const store::Checkpoint& checkpoint) {
  const auto fact = checkpoint.facts.find("measurements");
  if (fact == checkpoint.facts.end()) return std::nullopt;
  const auto all = nlohmann::json::parse(fact->second, nullptr, false);
  if (!all.is_array()) return std::nullopt;
  std::vector<study::Measurement> out;
  for (const auto& each : all) {
    auto measurement = study::measurement_from_json(each);
    if (!measurement) return std::nullopt;
    out.push_back(*std::move(measurement));
  }
  return out;
}

Result<void> check_span(const SpanReport& span) {
  LANISTA_TRY(check_range("a span's epoch", span.epoch, 0, kMaxReportedSteps));
  LANISTA_TRY(check_seconds("a span's begin", span.began));
  LANISTA_TRY(check_seconds("a span's end", span.ended));
  if (span.ended < span.began) return refused("reported a span that ends before it begins");
  LANISTA_TRY(check_range("a span's lanes", span.lanes, 1, kMaxReportedLanes));
  LANISTA_TRY(check_range("a span's width", span.width, 1, kMaxReportedWidth));
  LANISTA_TRY(check_range("a span's steps", span.costs.steps, 0, kMaxReportedSteps));
  LANISTA_TRY(check_range("a span's bytes", span.costs.bytes, 0, kMaxReportedSteps));
  const study::SpanCosts& costs = span.costs;
  for (const double seconds : {costs.stepping, costs.evaluating, costs.set_up, costs.restoring, costs.saving}) {
    LANISTA_TRY(check_seconds("a span's costs", seconds));  // its reader refuses less than 0
  }
  if (span.device.empty()) return {};
  return refused("reported the device " + quoted_name(span.device) + "; allowed: none from a worker process");
}

}  // namespace

ReportRules report_rules(const std::vector<std::string>& metrics, const data::DataSpec& data) {
  ReportRules rules;
  for (const data::DataSpec& fold : data.folds) rules.rows.push_back(fold.split_rows[0]);
  if (rules.rows.empty()) rules.rows.push_back(data.split_rows[0]);
  rules.metrics.emplace_back("val_loss");
  for (const std::string& name : metrics.empty() ? study::default_metrics(data.targets()) : metrics) {
    rules.metrics.push_back("val_" + name);
  }
  return rules;
}

Error unreadable_message(const Error& error) {
  return {Code::kDataLoss, "sent an invalid message (" + error.message + ")", error.where};
}

std::string visible_text(std::string_view text, std::size_t max_bytes) {
  std::string out(text.substr(0, max_bytes));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::vector<Digest> stored_measurement_hashes(const store::Checkpoint& checkpoint, const Job& job) {
  const auto carried_epochs = measurements_in(checkpoint);
  if (!carried_epochs) return {};
  const bool is_of_other_trial =
      job.fork && !carried_epochs->empty() && carried_epochs->front().trial == job.fork->from;
  std::vector<Digest> out;
  for (const study::Measurement& each : is_of_other_trial ? job.fork->measurements : *carried_epochs)
    out.push_back(digest_of(each));
  return out;
}

Result<ReportCheck::LeaseProgress*> ReportCheck::find_progress(std::size_t worker, std::uint64_t token, TrialId trial) {
  const auto found = progress_by_token_[worker].find(token);
  if (found == progress_by_token_[worker].end()) {
    return refused("reported " + trial_text(trial) + " under lease " + std::to_string(token) +
                   ", which it was not given");
  }
  if (found->second.trial != trial) {
    return refused("reported " + trial_text(trial) + " under lease " + std::to_string(token) + ", which is of " +
                   trial_text(found->second.trial));
  }
  return &found->second;
}

std::int64_t ReportCheck::steps_through(const Job& job, std::int64_t epoch) const {
  const auto fold_index = static_cast<std::size_t>(job.fold.value_or(0));
  if (fold_index >= rules_.rows.size() || rules_.rows[fold_index] < 1 || job.recipe.batch < 1) return 0;
  return study::epoch_schedule_of(job.recipe, rules_.rows[fold_index]).steps_through(epoch);
}

Result<void> ReportCheck::on_report(std::size_t worker, std::uint64_t token, const Report& report, const Lease* lease) {
  const auto trial = trial_of(report);
  if (!trial) return refused("sent a report of no trial");
  LANISTA_ASSIGN(LeaseProgress* const progress, this->find_progress(worker, token, *trial));
  // A report under an earlier lease has no effect, except for the file that it names.
  const bool is_present = lease != nullptr && lease->is_sent && lease->token == token && lease->worker == worker;
  const Lease* const present = is_present ? lease : nullptr;
  if (const auto* epoch = std::get_if<EpochReport>(&report)) return check_epoch(*progress, *epoch, present);
  if (const auto* span = std::get_if<SpanReport>(&report)) return check_span(*span);
  if (const auto* saved = std::get_if<CheckpointReport>(&report)) return check_saved(*saved, present);
  if (std::exchange(progress->has_ended, true)) return refused("reported the end of " + trial_text(*trial) + " twice");
  return check_end(*progress, report, present);
}

// A checkpoint of an earlier lease may arrive under the next one, so its epoch may differ from that of the reports.
Result<void> ReportCheck::check_saved(const CheckpointReport& saved, const Lease* lease) {
  const std::int64_t most_epochs =
      lease != nullptr && lease->job.recipe.epochs > 0 ? lease->job.recipe.epochs : kMaxReportedSteps;
  LANISTA_TRY(check_range("a checkpoint's epoch", saved.epoch, 0, most_epochs));
  const std::int64_t steps = lease != nullptr ? steps_through(lease->job, most_epochs) : 0;
  LANISTA_TRY(check_range("a checkpoint's step", saved.step, 0, steps > 0 ? steps : kMaxReportedSteps));
  return check_file(saved.address, lease);
}

Result<void> ReportCheck::check_end(const LeaseProgress& progress, const Report& report, const Lease* lease) {
  const auto check_due = [&](bool is_asked, const std::string& what) -> Result<void> {
    if (lease == nullptr) return {};
    if (!is_asked) return refused(what + " " + trial_text(progress.trial) + ", which was not requested");
    if (progress.epochs >= lease->allowed) return {};
    return refused(what + " " + trial_text(progress.trial) + " after epoch " + std::to_string(progress.epochs) +
                   "; due is epoch " + std::to_string(lease->allowed));
  };
  if (const auto* failure = std::get_if<FailureReport>(&report)) {
    LANISTA_TRY(check_range("a failure in epoch", failure->epoch, 0, progress.epochs + 1));
    if (failure->reason.size() <= kMaxReportedReasonBytes) return {};
    return refused("reported a failure with a reason of " + std::to_string(failure->reason.size()) + " bytes");
  }
  if (const auto* paused = std::get_if<TrialPausedReport>(&report)) {
    LANISTA_TRY(check_range("a paused epoch", paused->epoch, progress.epochs, progress.epochs));
    LANISTA_TRY(check_range("a paused step", paused->step, progress.step, progress.step));
    LANISTA_TRY(check_due(lease != nullptr && lease->is_pausing_trial, "paused"));
    return check_weights_file(paused->address, progress, lease);
  }
  const auto& finished = std::get<FinishedReport>(report);
  LANISTA_TRY(check_due(lease != nullptr && lease->finish, "finished"));
  const bool keeps = lease != nullptr && lease->finish->keep_weights;
  if (lease != nullptr && !keeps && !finished.weights.empty()) {
    return refused("kept weights of " + trial_text(progress.trial) + ", which was not requested");
  }
  return keeps || !finished.weights.empty() ? check_weights_file(finished.weights, progress, lease) : Result<void>();
}

Result<void> ReportCheck::check_epoch(LeaseProgress& progress, const EpochReport& epoch, const Lease* lease) const {
  const study::Measurement& measurement = epoch.measurement;
  if (progress.has_ended || measurement.epoch != progress.epochs + 1) {
    return refused("reported epoch " + std::to_string(measurement.epoch) + " of " + trial_text(progress.trial) +
                   (progress.has_ended ? " after its end" : "; due is epoch " + std::to_string(progress.epochs + 1)));
  }
  LANISTA_TRY(check_range("a step", measurement.step, progress.step + 1, kMaxReportedSteps));
  if (lease != nullptr) LANISTA_TRY(check_measurement(measurement, *lease));
  progress.epochs = measurement.epoch;
  progress.step = measurement.step;
  return {};
}

Result<void> ReportCheck::check_measurement(const study::Measurement& measurement, const Lease& lease) const {
  const auto carried_epochs = std::ssize(lease.carried_epochs);
  const bool is_repeated = measurement.epoch <= carried_epochs && !lease.checkpoint.empty();
  if (is_repeated) {
    if (digest_of(measurement) == lease.carried_epochs[static_cast<std::size_t>(measurement.epoch - 1)]) return {};
    return refused("reported epoch " + std::to_string(measurement.epoch) + " of " + trial_text(measurement.trial) +
                   " otherwise than its checkpoint has it");
  }
  if (measurement.epoch > lease.allowed) {
    return refused("reported epoch " + std::to_string(measurement.epoch) + " of " + trial_text(measurement.trial) +
                   "; allowed: up to epoch " + std::to_string(lease.allowed));
  }
  if (const std::int64_t due = steps_through(lease.job, measurement.epoch); due > 0) {
    LANISTA_TRY(check_range("a step", measurement.step, due, due));
  }
  return check_contents(measurement, lease.job);
}

Result<void> ReportCheck::check_contents(const study::Measurement& measurement, const Job& job) const {
  LANISTA_TRY(check_names(measurement.metrics));
  const auto trained = measurement.metrics.find("trained_rows");
  const bool has_trained = trained == measurement.metrics.end() || trained->second != 0;
  if (!rules_.metrics.empty() && has_trained && !measurement.metrics.contains("train_loss")) {
    return refused("reported an epoch without the metric 'train_loss'");
  }
  for (const std::string& name : rules_.metrics) {
    if (!measurement.metrics.contains(name))
      return refused("reported an epoch without the metric " + quoted_name(name));
  }
  for (const auto& [name, value] : measurement.metrics) {
    const bool is_known = rules_.metrics.empty() || name == "train_loss" || name == "trained_rows" ||
                          std::ranges::find(rules_.metrics, name) != rules_.metrics.end();
    if (!is_known) return refused("reported the metric " + quoted_name(name) + ", which the study does not measure");
  }
  if (!measurement.race.empty() || !measurement.selecting.empty()) {
    return refused("reported a start race or a selection comparison, which no trial of this version has");
  }
  const std::int64_t all = steps_through(job, job.recipe.epochs);
  const std::int64_t most_steps = all > 0 ? all : kMaxReportedSteps;
  if (!measurement.branches.empty() && job.recipe.tune.name.empty()) {
    return refused("reported branches of a trial without train.tune");
  }
  if (measurement.branches.size() > kMaxBranches) {
    return refused("reported more than " + std::to_string(kMaxBranches) + " branches");
  }
  for (const study::Branch& branch : measurement.branches) {
    LANISTA_TRY(check_range("a branch's step", branch.step, 0, most_steps));
    LANISTA_TRY(check_range("a branch's steps", branch.steps, 0, most_steps));
  }
  return {};
}

void ReportCheck::add_known_file(const std::string& address) {
  if (known_files_.size() >= kMaxKnownFiles) known_files_.clear();
  if (const auto digest = Digest::from_hex(address)) known_files_.insert(*digest);
}

// Equal states have one file. So the engine may have just removed a file that a worker has just written, because an
// earlier report of it was not needed any more.
Result<void> ReportCheck::check_file(const std::string& address, const Lease* lease) {
  if (!is_address(address)) {
    return refused("reported the checkpoint address " + quoted_name(address) + "; allowed: 32 lower-case hex digits");
  }
  const FileKind kind = lease == nullptr ? FileKind::kFile : fs_->kind(files_->path(address));
  if (kind == FileKind::kFile || (kind == FileKind::kNothing && known_files_.contains(*Digest::from_hex(address)))) {
    add_known_file(address);
    return {};
  }
  return refused("reported the checkpoint " + address + ", which is no file of the study's ckpt folder");
}

Result<void> ReportCheck::check_weights_file(const std::string& address, const LeaseProgress& progress,
                                             const Lease* lease) {
  if (address.empty() && rules_.stores_no_weights) return {};
  LANISTA_TRY(check_file(address, lease));
  if (lease == nullptr) return {};
  const auto stored = files_->get(address);
  if (!stored && stored.error().code == Code::kNotFound) return {};  // a known file, which check_file has accepted
  if (!stored) return refused("kept weights in " + address + ", which cannot be read: " + stored.error().message);
  const auto carried_epochs = measurements_in(*stored);
  const bool is_its = carried_epochs && (carried_epochs->empty() || carried_epochs->back().trial == progress.trial);
  if (is_its && std::ssize(*carried_epochs) == progress.epochs) return {};
  return refused("kept weights in " + address + ", which is not " + trial_text(progress.trial) + " after epoch " +
                 std::to_string(progress.epochs));
}

Result<void> ReportCheck::on_refusal(std::size_t worker, std::uint64_t token, TrialId trial) {
  LANISTA_ASSIGN(LeaseProgress* const progress, this->find_progress(worker, token, trial));
  if (!std::exchange(progress->has_ended, true)) return {};
  return refused("refused " + trial_text(trial) + " after its end");
}

Result<void> ReportCheck::on_active_trials(std::size_t worker, const std::vector<TrialId>& trials) const {
  std::set<TrialId> known, named;
  for (const auto& [token, progress] : progress_by_token_[worker]) known.insert(progress.trial);
  for (const TrialId trial : trials) {
    if (!known.contains(trial)) return refused("trains " + trial_text(trial) + ", which it was not given");
    if (!named.insert(trial).second) return refused("named " + trial_text(trial) + " twice as being trained");
  }
  return {};
}

Result<void> ReportCheck::on_stage_loss(const WorkerReport& report) const {
  if (report.has_started || !report.trials.empty() || !report.costs.empty()) {
    return refused("reported a lost process of its own together with trials");
  }
  LANISTA_TRY(check_range("a process", report.process, 0, kMaxReportedSteps));
  return check_seconds("lost work", report.seconds);
}

Result<void> ReportCheck::on_answer(const std::map<std::string, double>& metrics, data::Part part) {
  LANISTA_TRY(check_names(metrics));
  const std::string prefix = part == data::Part::kTest ? "test_" : "val_";
  if (metrics.empty()) return refused("answered a question with no metric");
  for (const auto& [name, value] : metrics) {
    if (!name.starts_with(prefix)) {
      return refused("answered with the metric " + quoted_name(name) + "; allowed: names that begin with " + prefix);
    }
  }
  return {};
}

}  // namespace lanista::engine
