#include "lanista/app/api/study_session.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "lanista/app/cli/devices.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/stored_assessment.h"
#include "lanista/base/enum_table.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::api {
namespace {

constexpr std::int64_t kMaxWorkers = 64, kMaxLanes = 64;  // as on the command line

Result<void> check_count(const char* name, const std::optional<std::int64_t>& count, std::int64_t max) {
  if (!count || (*count >= 1 && *count <= max)) return {};
  return Error{Code::kInvalidArgument, "is " + std::to_string(*count) + "; allowed: 1 to " + std::to_string(max),
               std::string("RunOptions::") + name};
}

/// A worker process is the program `lanista`, and the engine refuses workers of another program.
Result<void> check_threads(const study::StudyConfig& config, const cli::WorkerOverrides& worker_overrides) {
  if (!cli::uses_processes(worker_overrides, config) && config.cluster.places.empty()) return {};
  const bool has_hosts = !config.cluster.is_here() || !config.cluster.places.empty();
  return Error{Code::kUnimplemented,
               std::string(has_hosts ? "the study has workers on other hosts" : "is process") +
                   "; a C++ program trains with threads (run.isolation: thread), other workers need `lanista run`",
               has_hosts ? "cluster" : "run.isolation"};
}

constexpr EnumTable<engine::RunEnd, RunEnd, 3> kRunEnds{{{engine::RunEnd::kDone, RunEnd::kDone},
                                                         {engine::RunEnd::kPaused, RunEnd::kPaused},
                                                         {engine::RunEnd::kStoppedByUser, RunEnd::kStoppedByUser}}};

std::string outcome_text(const study::Outcome& outcome) {
  return std::string(study::outcome_name(outcome.kind)) + (outcome.reason.empty() ? "" : ": " + outcome.reason);
}

std::int64_t last_epoch(const engine::StudyView& view, TrialId trial) {
  const auto index = static_cast<std::size_t>(trial.value - 1);
  if (index >= view.trials.size() || view.trials[index].measurements.empty()) return 0;
  return view.trials[index].measurements.back().epoch;
}

ProgressEvent progress_of(const engine::StudyView& view, const study::Event& event) {
  using Kind = ProgressEvent::Kind;
  return std::visit(
      [&view](const auto& one) -> ProgressEvent {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, study::Proposed>) {
          return {Kind::kTrialStarted, one.trial.value, 0, {}, ""};
        } else if constexpr (std::is_same_v<T, study::Measured>) {
          const study::Measurement& measurement = one.measurement;
          return {Kind::kMeasured, measurement.trial.value, measurement.epoch, measurement.metrics, ""};
        } else if constexpr (std::is_same_v<T, study::Ended>) {
          return {Kind::kTrialEnded, one.trial.value, last_epoch(view, one.trial), {}, outcome_text(one.outcome)};
        } else if constexpr (std::is_same_v<T, study::Paused>) {
          return {Kind::kTrialPaused, one.trial.value, one.epoch, {}, ""};
        } else {
          static_assert(std::is_same_v<T, study::Resumed>);
          return {Kind::kTrialResumed, one.trial.value, one.epoch, {}, ""};
        }
      },
      event);
}

}  // namespace

Result<cli::WorkerOverrides> worker_overrides_of(const RunOptions& options) {
  LANISTA_TRY(check_count("workers", options.workers, kMaxWorkers));
  LANISTA_TRY(check_count("lanes", options.lanes, kMaxLanes));
  cli::WorkerOverrides out;
  out.workers = options.workers;
  out.lanes = options.lanes;
  out.device = options.devices;
  return out;
}

Result<cli::ResolvedRequest> resolve(const Study& study, const cli::WorkerOverrides& worker_overrides) {
  cli::StudySource source{study.text(), study.file(), study.folder(), {}};
  for (const auto& [key, value] : study.settings()) source.overrides.push_back({key, value});
  return cli::resolve_source(source, worker_overrides);
}

void WarningBuffer::write(const LogEvent& event) {
  if (event.level >= Level::kWarning) add(to_text(event));
}

void WarningBuffer::add(std::string text) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(std::move(text));
}

std::vector<std::string> WarningBuffer::drain() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

StudySession::StudySession(const study::StudyConfig& config, std::string folder, data::Dataset data,
                           const RunOptions& options)
    : config_(config),
      folder_(std::move(folder)),
      data_(std::move(data)),
      observer_(options.observer),
      on_stop_(options.stop, [this] { pause_ = 1; }) {}

Result<void> StudySession::make_executor(const cli::WorkerOverrides& worker_overrides) {
  LANISTA_TRY(check_threads(config_, worker_overrides));
  engine::WorkerConfig worker_config = cli::make_worker_config(config_, worker_overrides);
  worker_config.study_folder = folder_;
  worker_config.data.folder = folder_;
  worker_config.data.hash = data_.spec().hash;
  LANISTA_ASSIGN(backends_, cli::devices_of(config_, worker_overrides));
  const std::int64_t slots = config_.strategy.slots;
  FileSystem& files = real_file_system();
  if (backends_.size() == 1) {
    const runtime::NamedBackend& only = backends_.front();
    LANISTA_ASSIGN(auto threads, runtime::WorkerExecutor::create(
                                     runtime::config_for_only_device(only, std::move(worker_config), slots), data_,
                                     program::Operators(), files, clock_, {.backend = only.backend}));
    machine_ = threads->machine();
    executor_ = std::move(threads);
    return {};
  }
  LANISTA_ASSIGN(runtime::DevicePool all, runtime::make_device_pool(worker_config, backends_, slots, data_,
                                                                    program::Operators(), files, clock_));
  executor_ = std::move(all.executor);
  devices_ = std::move(all.devices);
  measure_ = std::move(all.measure);
  machine_ = all.machine;
  LANISTA_ASSIGN(const auto speeds, cli::speeds_from_environment(backends_.size()));
  if (speeds) measure_ = [given = *speeds](const engine::Job&) { return Result(given); };
  return {};
}

nlohmann::json StudySession::numerics() const {
  const program::Backend* only = backends_.size() == 1 ? backends_.front().backend : nullptr;
  return only != nullptr ? runtime::numerics(*only) : runtime::numerics(kernels::best_isa());
}

engine::Services StudySession::services() {
  const program::Backend* only = backends_.size() == 1 ? backends_.front().backend : nullptr;
  return {.fs = &real_file_system(),
          .clock = &clock_,
          .sink = &warnings_,
          .executor = executor_.get(),
          .data = &data_.spec(),
          .pause = &pause_,
          .observer = {.on_event = [this](const auto& view, const study::Event& event) { send_event(view, event); },
                       .on_idle = [this](const auto&) { send_warnings(); },
                       .on_package = [this](bool tested) { assess(tested); }},
          .machine = machine_,
          .devices = devices_,
          .measure_devices = measure_,
          // Step times of several devices are not saved.
          .profiles = {devices_.empty() ? engine::profile_folder_of(config_, folder_) : "",
                       cli::this_device_key(only != nullptr ? only->numeric_class() : std::string_view())}};
}

void StudySession::send_event(const engine::StudyView& view, const study::Event& event) {
  send_warnings();
  if (observer_) observer_(progress_of(view, event));
}

void StudySession::send_warnings() {
  for (const runtime::NamedBackend& each : backends_) {
    if (each.backend == nullptr) continue;
    for (std::string& warning : each.backend->drain_warnings()) warnings_.add(std::move(warning));
  }
  warn(warnings_.drain());
}

void StudySession::warn(const std::vector<std::string>& texts) {
  if (!observer_) return;
  for (const std::string& text : texts) observer_({ProgressEvent::Kind::kWarning, 0, 0, {}, text});
}

// The report shows the assessment if there is one.
void StudySession::assess(bool tested) {
  const auto written = cli::write_assessment(*real_file_system().confined_to(folder_), folder_, data_, tested);
  if (!written) warnings_.add("the report has no assessment of the model: " + written.error().text());
}

Result<void> StudySession::write_outputs(const engine::StudyView& view) {
  if (view.winner) assess(!view.test.empty());  // of a study of an earlier version
  const auto files = real_file_system().confined_to(folder_);
  const auto written = write_atomically(*files, folder_ + "/report.html", cli::report_text(folder_, view));
  if (!written) warnings_.add("the report is not written: " + written.error().text());
  if (!view.winner) return {};
  LANISTA_ASSIGN([[maybe_unused]] const auto difference, cli::check_onnx(folder_ + "/best"));
  return {};
}

Result<RunSummary> StudySession::run(engine::Engine& engine) {
  LANISTA_ASSIGN(engine::RunResult result, engine.run());
  const bool by_token = result.end == engine::RunEnd::kPaused && pause_ != 0;
  const RunSummary summary{entry_of(kRunEnds, result.end), by_token ? "stop request" : std::move(result.reason)};
  if (summary.end != RunEnd::kPaused) LANISTA_TRY(write_outputs(engine.view()));
  send_warnings();
  return summary;
}

}  // namespace lanista::api
