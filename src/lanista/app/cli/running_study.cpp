#include "lanista/app/cli/running_study.h"

#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/devices.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/leaderboard.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/stored_assessment.h"
#include "lanista/app/cli/version.h"
#include "lanista/base/bad_alloc_reserve.h"
#include "lanista/engine/core/study_limits.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/search/study/tune_searches.h"

namespace lanista::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTableRows = 10;
constexpr std::size_t kColumnsShown = 12;

ProgressStyle progress_style(const DisplayOptions& view) {
  if (view.json) return ProgressStyle::kJson;
  if (view.quiet) return ProgressStyle::kQuiet;
  return detect_terminal().live ? ProgressStyle::kLive : ProgressStyle::kLines;
}

// Prints how the columns of a table were read, because users often expect another reading.
void print_columns(const std::string& schema) {
  std::istringstream lines(schema);
  std::size_t shown = 0, more = 0;
  for (std::string line; std::getline(lines, line);) {
    if (shown < kColumnsShown) {
      std::cerr << "  " << printable(line) << "\n";
      ++shown;
    } else {
      ++more;
    }
  }
  if (more > 0) std::cerr << "  … and " << more << " more: lanista data check SOURCE\n";
}

std::string folds_text(const study::StudyConfig& config) {
  if (!config.data.folds) return {};
  const std::int64_t dealings = config.strategy.repeat;
  return ", " + std::to_string(*config.data.folds) + " folds" +
         (dealings > 1 ? " assigned " + std::to_string(dealings) + " times" : "");
}

// The command that continues the study with more of the budget that ended it, or the advice if no trial is left.
std::string resume_command(const std::string& folder, const engine::Engine::Extension& more) {
  if (more.empty()) return "no trial is left to try; begin a new study with a wider space";
  std::ostringstream text;
  text << "lanista resume " << shell_word(folder);
  if (more.trials) text << " --trials " << *more.trials;
  if (more.steps) text << " --steps " << *more.steps;
  if (more.minutes) text << " --minutes " << *more.minutes;
  return text.str();
}

// Treats the end of memory as an error, as the end of disk space.
Result<engine::RunResult> run_engine(engine::Engine& engine) {
  try {
    return engine.run();
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory: the system gives this process no more", ""};
  }
}

// The reason why a study has no model.
std::string no_model_text(const engine::StudyView& view, const data::DataSpec& data) {
  std::size_t failed = 0, cancelled = 0;
  std::string reason;
  for (const auto& trial : view.trials) {
    cancelled += trial.outcome && trial.outcome->kind == study::OutcomeKind::kCancelled ? 1 : 0;
    if (!trial.outcome || trial.outcome->kind != study::OutcomeKind::kFailed) continue;
    ++failed;
    reason = "; #" + std::to_string(trial.id.value) + ": " + trial.outcome->reason;
  }
  const std::string budget = failed == 0 ? engine::short_budget_text(view, data) : "";
  if (!budget.empty()) return "the study ended without a model: " + budget;
  return "the study ended without a model: " + std::to_string(failed) + " of " + std::to_string(view.trials.size()) +
         " trials failed" + (cancelled > 0 ? ", " + std::to_string(cancelled) + " were cancelled" : "") + reason;
}

}  // namespace

void WarningSink::write(const LogEvent& event) {
  if (event.level >= Level::kWarning) {
    std::cerr << "lanista: " << one_line(to_text(event)) << "\n";
  }
}

RunningStudy::RunningStudy(const study::StudyConfig& config, std::string folder, data::Dataset data,
                           const DisplayOptions& view)
    : config_(config),
      folder_(std::move(folder)),
      display_(view),
      data_(std::move(data)),
      progress_(progress_style(view), detect_terminal(), clock_) {}

Result<void> RunningStudy::make_executor(const WorkerOverrides& worker_overrides) {
  LANISTA_ASSIGN(engine::WorkerConfig worker_config, make_worker_config_with_hosts(config_, worker_overrides));
  LANISTA_ASSIGN(std::vector<engine::Launcher> launchers, launchers_of(worker_overrides, config_));
  worker_config.study_folder = launchers.empty() ? folder_ : fs::absolute(folder_).string();
  worker_config.data.folder = worker_config.study_folder;
  worker_config.data.hash = data_.spec().hash;
  uses_processes_ = uses_processes(worker_overrides, config_);
  LANISTA_ASSIGN(const std::vector<runtime::NamedBackend> named, devices_of(config_, worker_overrides));
  for (const runtime::NamedBackend& device : named) {
    if (device.backend != nullptr) backends_.push_back(device.backend);
  }
  if (named.size() > 1) return make_device_pool(worker_config, named);
  backend_ = named.front().backend;
  worker_config = runtime::config_for_only_device(named.front(), std::move(worker_config), config_.strategy.slots);
  if (!uses_processes_) {
    LANISTA_ASSIGN(auto threads, runtime::WorkerExecutor::create(worker_config, data_, program::Operators(),
                                                                 real_file_system(), clock_, {.backend = backend_}));
    machine_ = threads->machine();
    executor_ = std::move(threads);
    return {};
  }
  machine_ = runtime::machine_of(worker_config);
  worker_config.workers = machine_.workers;
  worker_config.memory_bytes = machine_.bytes;
  engine::ProcessOptions processes;
  processes.launch = engine::launch_this_program();
  processes.remote_launchers = std::move(launchers);
  processes.lease_seconds = config_.run.lease_seconds;
  processes.rules = engine::report_rules(config_.train.measured.metrics, data_.spec());
  processes.pause = &signals_.requested();
  if (worker_config.width != 1) processes.known = read_known_times(engine::profile_folder_of(config_, folder_));
  LANISTA_ASSIGN(executor_, engine::ProcessExecutor::create(worker_config, real_file_system(), clock_, processes));
  return {};
}

Result<void> RunningStudy::make_device_pool(const engine::WorkerConfig& worker_config,
                                            const std::vector<runtime::NamedBackend>& named) {
  LANISTA_ASSIGN(runtime::DevicePool all, runtime::make_device_pool(worker_config, named, config_.strategy.slots, data_,
                                                                    program::Operators(), real_file_system(), clock_));
  executor_ = std::move(all.executor);
  devices_ = std::move(all.devices);
  LANISTA_ASSIGN(const auto speeds_given, speeds_from_environment(named.size()));
  measure_ = std::move(all.measure);
  if (speeds_given) measure_ = [speeds = *speeds_given](const engine::Job&) { return Result(speeds); };
  machine_ = all.machine;
  return {};
}

nlohmann::json RunningStudy::numerics() const {
  return backend_ != nullptr ? runtime::numerics(*backend_) : runtime::numerics(kernels::best_isa());
}

engine::Services RunningStudy::services() {
  return {.fs = &real_file_system(),
          .clock = &clock_,
          .sink = &sink_,
          .executor = executor_.get(),
          .data = &data_.spec(),
          .pause = &signals_.requested(),
          .observer = {.on_event = [this](const auto& view, const auto& event) { progress_.on_event(view, event); },
                       .on_idle =
                           [this](const auto& view) {
                             refill_memory_reserve();
                             progress_.on_idle(view);
                             print_device_warnings();
                           },
                       .on_package = [this](bool tested) { assess(tested); }},
          .machine = machine_,
          .devices = devices_,
          .measure_devices = measure_,
          // Stored times belong to one device, so with several devices none are stored.
          .profiles = {devices_.empty() ? engine::profile_folder_of(config_, folder_) : "",
                       this_device_key(backend_ != nullptr ? backend_->numeric_class() : std::string_view())}};
}

// Prints the warnings of the devices, each once.
void RunningStudy::print_device_warnings() {
  for (const program::Backend* each : backends_) {
    for (const std::string& warning : each->drain_warnings()) {
      sink_.write({clock_.unix_time(), Level::kWarning, "device", {{"news", warning}}});
    }
  }
}

// The assessment is optional: a failure gives a note.
void RunningStudy::assess(bool tested) {
  const auto kept = write_assessment(*real_file_system().confined_to(folder_), folder_, data_, tested);
  if (!kept) print_notes({"the report has no model assessment: " + kept.error().text()});
}

void RunningStudy::print_banner(const char* what) {
  if (!display_.quiet) print_header(what);
  if (display_.open) page_.emplace(real_file_system(), clock_, folder_, folder_ + "/report.html", display_.quiet);
}

std::string RunningStudy::workers_text() const {
  std::string several;
  for (const engine::TrainingDevice& device : devices_) several += (several.empty() ? "" : " + ") + device.name;
  if (!several.empty()) return several;
  return std::to_string(machine_.workers) + (uses_processes_ ? " worker process" : " worker") +
         (machine_.workers == 1 ? ""
          : uses_processes_     ? "es"
                                : "s");
}

void RunningStudy::print_header(const char* what) const {
  const auto& spec = data_.spec();
  std::cerr << "lanista " << kVersion << "   " << printable(workers_text()) << ", "
            << kernels::isa_name(kernels::best_isa()) << "   " << what << ": " << printable(folder_) << "\n"
            << "data " << printable(spec.name) << " (" << spec.rows << " rows"
            << (spec.licence.empty() ? "" : ", " + printable(spec.licence)) << folds_text(config_) << ")   strategy "
            << printable(study::strategy_text(config_));
  if (config_.budget.trials) std::cerr << "   budget " << *config_.budget.trials << " trials";
  std::cerr << "   seed " << config_.run.seed << "\n";
  for (const data::ReadingDecision& decision : data_.decisions()) {
    std::cerr << decision.topic << " " << printable(decision.text) << "\n";
  }
  if (!spec.schema.is_null()) print_columns(data::schema_text(spec));
}

// Writes the report, and compares the model with its ONNX file. False if they differ.
bool RunningStudy::write_outputs(const engine::Engine& engine) {
  const engine::StudyView& view = engine.view();
  if (view.winner) assess(!view.test.empty());  // studies of earlier versions have no assessment
  const std::string page = folder_ + "/report.html";
  const auto written = write_atomically(*real_file_system().confined_to(folder_), page, report_text(folder_, view));
  if (!written) print_error(written.error());
  if (!view.winner) return true;

  const auto checked = check_onnx(folder_ + "/best");
  if (!checked) print_error(checked.error());
  if (display_.quiet) return static_cast<bool>(checked);
  std::cerr << "report " << printable(page) << "   model " << printable(folder_) << "/best"
            << (checked && *checked ? "/model.onnx" : "") << "\n"
            << "again  " << printable(resume_command(folder_, engine.suggested_extension()))
            << "   use    lanista predict " << printable(shell_word(folder_)) << " FILE   help   lanista --help\n";
  return static_cast<bool>(checked);
}

int RunningStudy::run(engine::Engine& engine) {
  auto summary = run_engine(engine);
  progress_.finish();
  page_.reset();
  print_device_warnings();
  if (!summary) {
    print_error(summary.error());
    std::cerr << "all written results are kept; continue with: lanista resume " << printable(shell_word(folder_))
              << "\n";
    return kStudyFailed;
  }
  const auto& view = engine.view();
  if (summary->end == engine::RunEnd::kPaused) {
    std::cerr << "paused; continue with: lanista resume " << printable(shell_word(folder_)) << "\n";
    const int exit_code = signals_.requested();
    return exit_code != 0 ? exit_code : static_cast<int>(kRequeue);
  }
  if (!summary->reason.empty() && !display_.quiet) std::cerr << "ended: " << printable(summary->reason) << "\n";
  if (!view.winner) std::cerr << "lanista: " << one_line(no_model_text(view, data_.spec())) << "\n";
  const bool whole = write_outputs(engine);
  if (!display_.json) std::cout << printable_lines(leaderboard(view, kTableRows)) << std::flush;
  return view.winner && whole ? kDone : kStudyFailed;
}

}  // namespace lanista::cli
