#include "lanista/cli/session.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>

#include "lanista/base/memory_reserve.h"
#include "lanista/cli/app.h"
#include "lanista/cli/devices.h"
#include "lanista/cli/import_study.h"
#include "lanista/cli/inspect.h"
#include "lanista/cli/kept_assessment.h"
#include "lanista/cli/leaderboard.h"
#include "lanista/cli/live_page.h"
#include "lanista/cli/load.h"
#include "lanista/cli/new_folder.h"
#include "lanista/cli/profiles_verbs.h"
#include "lanista/cli/progress.h"
#include "lanista/cli/signals.h"
#include "lanista/cli/use.h"
#include "lanista/cli/version.h"
#include "lanista/data/dataset.h"
#include "lanista/engine/assembly.h"
#include "lanista/engine/check_config.h"
#include "lanista/engine/fit.h"
#include "lanista/engine/process_executor.h"
#include "lanista/engine/study_zoo.h"
#include "lanista/engine/warm_start.h"
#include "lanista/formats/signature.h"
#include "lanista/runtime/worker_executor.h"
#include "lanista/study/searches.h"
#include "lanista/studyfile/blueprint.h"
#include "lanista/studyfile/outlook.h"
#include "lanista/studyfile/tuning.h"
#include "lanista/train/baseline.h"

namespace lanista::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTableRows = 10;
constexpr std::size_t kColumnsShown = 12;
// A message is a screen at most: what it quotes may be as long as a file.
constexpr std::size_t kMessageLines = 40;
constexpr std::size_t kMessageColumns = 1000;

/// Events worth a person's attention go to stderr; the rest is in the log.
class WarningSink final : public LogSink {
 public:
  void write(const LogEvent& event) override {
    if (event.level >= Level::kWarning) std::cerr << "lanista: " << printable_lines(to_text(event), 1, 1000) << "\n";
  }
};

/// Everything a study runs with, in order of construction.
struct Session {
  study::StudyConfig config;
  std::string folder;
  RealClock clock;
  WarningSink sink;
  PauseSignals signals;
  data::Dataset data;
  std::unique_ptr<engine::Executor> executor;
  schedule::Machine machine;
  const nn::Backend* backend = nullptr;         // of one device; null: own kernels, or several
  std::vector<const nn::Backend*> backends;     // of all devices that have one
  std::vector<engine::TrainingDevice> devices;  // if several
  engine::MeasureDevices measure;
  bool are_processes = false;
  Progress progress;
  std::optional<LivePageThread> page;

  Session(const study::StudyConfig& c, std::string f, data::Dataset d, const View& view)
      : config(c), folder(std::move(f)), data(std::move(d)), progress(style(view), detect_terminal(), clock) {}

  static ProgressStyle style(const View& view) {
    if (view.json) return ProgressStyle::kJson;
    if (view.quiet) return ProgressStyle::kQuiet;
    return detect_terminal().live ? ProgressStyle::kLive : ProgressStyle::kLines;
  }

  Result<void> make_executor(const Crew& crew) {
    engine::WorkerBrief brief = worker_brief(config, crew);
    LANISTA_ASSIGN(std::vector<engine::Launcher> launchers, launchers_of(crew, config));
    brief.study_folder = launchers.empty() ? folder : fs::absolute(folder).string();
    brief.data.folder = brief.study_folder;
    brief.data.hash = data.spec().hash;
    are_processes = has_processes(crew, config);
    LANISTA_ASSIGN(const std::vector<runtime::NamedBackend> named, devices_of(config, crew));
    for (const runtime::NamedBackend& device : named) {
      if (device.backend != nullptr) backends.push_back(device.backend);
    }
    if (named.size() > 1) return make_device_crew(brief, named);
    backend = named.front().backend;
    if (backend != nullptr) suit(brief, backend->capability());
    if (!are_processes) {
      LANISTA_ASSIGN(auto threads, runtime::WorkerExecutor::create(brief, data, nn::Operators(), real_file_system(),
                                                                   clock, {.backend = backend}));
      machine = threads->machine();
      executor = std::move(threads);
      return {};
    }
    machine = runtime::machine_of(brief);
    brief.workers = machine.workers;
    brief.memory_bytes = machine.bytes;
    engine::ProcessOptions processes;
    processes.launch = engine::launch_this_program();
    processes.elsewhere = std::move(launchers);
    processes.lease_seconds = config.run.lease_seconds;
    if (brief.width != 1) processes.known = known_times(engine::profiles_folder(config, folder));
    LANISTA_ASSIGN(executor, engine::ProcessExecutor::create(brief, real_file_system(), clock, processes));
    return {};
  }

  Result<void> make_device_crew(const engine::WorkerBrief& brief, const std::vector<runtime::NamedBackend>& named) {
    LANISTA_ASSIGN(runtime::DeviceCrew all, runtime::make_device_crew(brief, named, config.strategy.slots, data,
                                                                      nn::Operators(), real_file_system(), clock));
    executor = std::move(all.executor);
    devices = std::move(all.devices);
    LANISTA_ASSIGN(const auto told, told_speeds(named.size()));
    measure = std::move(all.measure);
    if (told) measure = [speeds = *told](const engine::Job&) { return Result(speeds); };
    machine = all.machine;
    return {};
  }

  // A device has a few threads that feed it, and a lane for every trial under way.
  void suit(engine::WorkerBrief& brief, const nn::Capability& capability) const {
    brief.numeric_class = backend->numeric_class();
    if (brief.workers == 0) brief.workers = runtime::fitting_workers(capability, config.strategy.slots);
    if (brief.lanes == 0 && capability.many_lanes) brief.lanes = config.strategy.slots;
  }

  nlohmann::json numerics() const {
    return backend != nullptr ? runtime::numerics(*backend) : runtime::numerics(kernels::best_isa());
  }

  std::string crew_text() const {
    std::string several;
    for (const engine::TrainingDevice& device : devices) several += (several.empty() ? "" : " + ") + device.name;
    if (!several.empty()) return several;
    return std::to_string(machine.workers) + (are_processes ? " worker process" : " worker") +
           (machine.workers == 1 ? ""
            : are_processes      ? "es"
                                 : "s");
  }

  engine::Services services() {
    return {.fs = &real_file_system(),
            .clock = &clock,
            .sink = &sink,
            .executor = executor.get(),
            .data = &data.spec(),
            .pause = &signals.requested(),
            .observer = {.on_event = [this](const auto& view, const auto& event) { progress.on_event(view, event); },
                         .on_idle =
                             [this](const auto& view) {
                               refill_memory_reserve();
                               progress.on_idle(view);
                               tell_news();
                             },
                         .on_package = [this](bool tested) { assess(tested); }},
            .machine = machine,
            .devices = devices,
            .measure_devices = measure,
            // Times are of one device; where there are several nothing is remembered.
            .profiles = {devices.empty() ? engine::profiles_folder(config, folder) : "",
                         this_device(backend != nullptr ? backend->numeric_class() : std::string_view())}};
  }

  /// What its devices have found, once each.
  void tell_news() {
    for (const nn::Backend* each : backends) {
      for (const std::string& news : each->take_news()) {
        sink.write({clock.unix_time(), Level::kWarning, "device", {{"news", news}}});
      }
    }
  }

  /// The report shows more where this succeeds; a study is whole without it.
  void assess(bool tested) {
    const auto kept = keep_assessment(real_file_system(), folder, data, tested);
    if (!kept) tell({"the report lacks how good the model is: " + kept.error().text()});
  }

  /// What a run tells of itself when it begins.
  void show_up(const char* what, const View& view) {
    if (!view.quiet) print_head(what);
    if (view.open) page.emplace(real_file_system(), clock, folder, folder + "/report.html", view.quiet);
  }

  void print_head(const char* what) {
    const auto& spec = data.spec();
    std::cerr << "lanista " << kVersion << "   " << crew_text() << ", " << kernels::isa_name(kernels::best_isa())
              << "   " << what << ": " << printable(folder) << "\n"
              << "data " << printable(spec.name) << " (" << spec.rows << " rows"
              << (spec.licence.empty() ? "" : ", " + printable(spec.licence)) << folds_text() << ")   strategy "
              << study::strategy_text(config);
    if (config.budget.trials) std::cerr << "   budget " << *config.budget.trials << " trials";
    std::cerr << "   seed " << config.run.seed << "\n";
    if (!spec.schema.is_null()) print_columns(data::schema_text(spec));
  }

  std::string folds_text() const {
    if (!config.data.folds) return {};
    const std::int64_t dealings = config.strategy.repeat;
    return ", " + std::to_string(*config.data.folds) + " folds" +
           (dealings > 1 ? " dealt " + std::to_string(dealings) + " times" : "");
  }

  // How a table was understood: the commonest surprise with data of one's own.
  static void print_columns(const std::string& schema) {
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
};

/// How the study gets more of what has ended it, as a command; or what to do where there is nothing left.
std::string to_go_on(const std::string& folder, const engine::Engine::Extension& more) {
  if (more.empty()) return "nothing is left to try here; a wider space is a study of its own";
  std::ostringstream text;
  text << "lanista resume " << shell_word(folder);
  if (more.trials) text << " --trials " << *more.trials;
  if (more.steps) text << " --steps " << *more.steps;
  if (more.minutes) text << " --minutes " << *more.minutes;
  return text.str();
}

/// Everything a user takes along: the report, and the model, whose ONNX form is read back and compared. False if a
/// promise is broken.
bool hand_over(Session& session, const engine::Engine& engine, const View& shown) {
  const std::string& folder = session.folder;
  const engine::StudyView& view = engine.view();
  if (view.winner) session.assess(!view.test.empty());  // of a study that ended before there was this
  const std::string page = folder + "/report.html";
  const auto written = write_atomically(real_file_system(), page, report_text(folder, view));
  if (!written) report(written.error());
  if (!view.winner) return true;

  const auto checked = check_onnx(folder + "/best");
  if (!checked) report(checked.error());
  if (shown.quiet) return static_cast<bool>(checked);
  std::cerr << "report " << printable(page) << "   model " << printable(folder) << "/best"
            << (checked && *checked ? "/model.onnx" : "") << "\n"
            << "again  " << printable(to_go_on(folder, engine.more())) << "   use    lanista predict "
            << printable(shell_word(folder)) << " FILE   all of it  lanista --help\n";
  return static_cast<bool>(checked);
}

/// An engine without memory has ended like one without a disk.
Result<engine::Summary> run_to_the_end(engine::Engine& engine) {
  try {
    return engine.run();
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory: the system gives this process no more", ""};
  }
}

/// Why a study has no model to hand over.
std::string without_winner(const engine::StudyView& view) {
  std::size_t failed = 0;
  std::string reason;
  for (const auto& trial : view.trials) {
    if (!trial.outcome || trial.outcome->kind != study::OutcomeKind::kFailed) continue;
    ++failed;
    reason = "; #" + std::to_string(trial.id.value) + ": " + trial.outcome->reason;
  }
  return "the study ended without a model: " + std::to_string(failed) + " of " + std::to_string(view.trials.size()) +
         " trials failed" + reason;
}

int run_engine(Session& session, engine::Engine& engine, const View& shown) {
  auto summary = run_to_the_end(engine);
  session.progress.finish();
  session.page.reset();
  session.tell_news();
  if (!summary) {
    report(summary.error());
    std::cerr << "nothing written is lost; continue with: lanista resume " << printable(shell_word(session.folder))
              << "\n";
    return kStudyFailed;
  }
  const auto& view = engine.view();
  if (summary->end == engine::End::kPaused) {
    std::cerr << "paused; continue with: lanista resume " << printable(shell_word(session.folder)) << "\n";
    const int asked = session.signals.requested();
    return asked != 0 ? asked : static_cast<int>(kRequeue);
  }
  if (!summary->reason.empty() && !shown.quiet) std::cerr << "ended: " << printable(summary->reason) << "\n";
  if (!view.winner) std::cerr << "lanista: " << printable_lines(without_winner(view), 1, kMessageColumns) << "\n";
  const bool whole = hand_over(session, engine, shown);
  if (!shown.json) std::cout << printable_lines(leaderboard(view, kTableRows)) << std::flush;
  return view.winner && whole ? kDone : kStudyFailed;
}

std::string folder_of(const std::string& file) {
  const auto parent = fs::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

int report(const Error& error) {
  std::cerr << "lanista: " << printable_lines(error.text(), kMessageLines, kMessageColumns) << "\n";
  switch (error.code) {
    case Code::kDataLoss:
    case Code::kUnimplemented:      // a format that is never read
    case Code::kResourceExhausted:  // a bomb
      return kRefused;
    case Code::kInternal:
      return kStudyFailed;
    default:
      return kUsage;
  }
}

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cerr << "lanista: " << printable_lines(note, kMessageLines, kMessageColumns) << "\n";
  }
}

int run_study(const RunRequest& request) {
  std::string text(studyfile::default_study());
  std::string folder = ".";
  if (!request.study_file.empty()) {
    auto read = real_file_system().read(request.study_file);
    if (!read) return report(read.error());
    if (const auto foreign = formats::refuse_foreign(*read, request.study_file)) return report(*foreign);
    text = *read;
    folder = folder_of(request.study_file);
  }
  const std::string name = request.study_file.empty() ? "default study" : request.study_file;
  std::vector<studyfile::Override> overrides = request.overrides;
  if (!request.enqueue.empty()) {
    auto list = real_file_system().read(request.enqueue);
    if (!list) return report(list.error());
    overrides.push_back({"strategy.enqueue", *std::move(list), request.enqueue});
  }
  auto config = studyfile::read_study(text, name, overrides);
  if (!config) return report(config.error());
  // A mistake that shows only with the data at hand is told with its place all the same.
  const auto refuse = [&](Error error, const std::string& key, const std::string& detail) {
    error.where = studyfile::place_in_study(text, name, overrides, key) + (detail.empty() ? "" : ": " + detail);
    return report(error);
  };
  if (auto whole = studyfile::inline_space(*config, folder, real_file_system()); !whole) {
    return refuse(whole.error(), "model.space", "");
  }
  if (auto whole = studyfile::inline_schedule(*config, folder, real_file_system()); !whole) {
    return refuse(whole.error(), "train.schedule", "");
  }
  auto data = data::open(config->data, folder, real_file_system(), config->strategy.repeat);
  if (!data) {
    // Of a setting, or of the source with the file in it.
    const std::string& where = data.error().where;
    const bool of_setting = where == "data.folds" || where == study::kClassWeightsKey;
    return refuse(data.error(), of_setting ? where : "data.source", of_setting ? "" : where);
  }
  if (auto fitted = engine::fit_to_data(*config, data->spec()); !fitted) {
    return refuse(fitted.error(), fitted.error().where, "");
  }
  // Before paths are told from the study's folder, which is not there yet.
  auto models = engine::make_model_space(*config, data->spec(), folder, real_file_system());
  if (!models) return refuse(models.error(), models.error().where, "");
  // Here mistakes in a strategy's options and in what is enqueued still have a line, and nothing is written yet.
  if (auto strategy = engine::make_strategy(*config, *models); !strategy) {
    return refuse(strategy.error(), strategy.error().where, "");
  }
  if (auto good = engine::check_config(*config); !good) return refuse(good.error(), good.error().where, "");
  if (auto where = launchers_of(request.crew, *config); !where) return refuse(where.error(), where.error().where, "");
  const auto devices = devices_of(*config, request.crew);
  if (!devices) return refuse(devices.error(), "run.devices", "");
  std::vector<std::string> of_start;
  if (config->train.start == study::kStartFile) {
    const auto ops = graph::builtin_ops();
    const auto start = engine::read_start_file(*config, folder, real_file_system(), ops);
    if (!start) return refuse(start.error(), start.error().where, "");
    for (const auto& base : (*models)->bases()) {
      const auto told = engine::explain_start(*start, base, data->spec(), ops);
      if (!told) return report(told.error());
      of_start.push_back("starts from " + start->file.name + ": " + *told);
    }
  }
  if (request.plan) {
    PlanAsked asked = *request.plan;
    if (!asked.pipeline) asked.known = known_times(planned_profiles(asked.profiles, *config, folder));
    if (devices->size() > 1) {
      const auto like = engine::job_like_the_base(*config, data->spec(), **models);
      if (!like) return report(like.error());
      const RealClock clock;
      Crew crew = request.crew;
      crew.workers = asked.workers;
      crew.lanes = asked.lanes;
      auto timed = runtime::time_devices(worker_brief(*config, crew), *devices, config->strategy.slots, *like, *data,
                                         nn::Operators(), clock);
      if (!timed) return refuse(timed.error(), "run.devices", "");
      const auto told = told_speeds(devices->size());
      if (!told) return report(told.error());
      if (*told) timed->speeds = **told;
      asked.on = *std::move(timed);
    }
    return print_plan(asked, *config, data->spec(), *models);
  }
  std::vector<std::string> notes = data->remarks();
  notes.insert(notes.end(), of_start.begin(), of_start.end());
  std::optional<study::Earlier> earlier;
  if (!request.import.empty()) {
    auto imported = import_study(request.import, *config, data->spec(), *models, notes);
    if (!imported) return report(imported.error());
    earlier = *std::move(imported);
  }
  if (const std::string note = studyfile::nothing_varies(*config, **models); !note.empty()) notes.push_back(note);
  if (!request.view.quiet) tell(notes);
  // Taken at last: what was refused leaves nothing behind, and of two studies that begin now each has its own.
  std::optional<NewFolder> taken;
  std::string out = request.out;
  if (out.empty() && request.dry_run) out = NewFolder::next("studies", config->name);
  if (out.empty()) {
    auto made = NewFolder::take("studies", config->name);
    if (!made) {
      const int code = report(made.error());
      return made.error().code == Code::kResourceExhausted ? static_cast<int>(kStudyFailed) : code;
    }
    taken = *std::move(made);
    out = taken->path();
  }
  if (auto rebased = studyfile::rebase_paths(*config, folder, out); !rebased) return report(rebased.error());
  if (request.dry_run) {
    std::cout << printable_lines(studyfile::write_study(*config) + studyfile::space_outlook(*config, **models));
    return kDone;
  }

  Session session(*config, out, *std::move(data), request.view);
  if (auto made = session.make_executor(request.crew); !made) return report(made.error());
  engine::Services services = session.services();
  services.baselines =
      train::baselines(session.data, engine::loss_name(*config, session.data.spec()), config->train.metrics);
  services.earlier = std::move(earlier);
  auto engine =
      engine::Engine::create(out, *config, studyfile::write_study(*config), session.numerics(), std::move(services));
  if (!engine) {
    const int code = refuse(engine.error(), engine.error().where, "");
    return engine.error().code == Code::kResourceExhausted ? static_cast<int>(kStudyFailed) : code;  // a full disk
  }
  if (taken) taken->keep();
  if (const auto& zoo = (*engine)->view().zoo; zoo && !request.view.quiet) {
    tell({study::zoo_note(*zoo, engine::zoo_place(*config, session.data.spec(), out).folder)});
  }
  session.show_up("study", request.view);
  return run_engine(session, **engine, request.view);
}

int resume_study(const ResumeRequest& request) {
  auto config = engine::stored_config(real_file_system(), request.folder);
  if (!config) return report(config.error());
  auto data = data::open(config->data, request.folder, real_file_system(), config->strategy.repeat);
  if (!data) return report(data.error());
  if (auto same = check_unchanged(request.folder, *config, *data, request.claim); !same) return report(same.error());

  Session session(*config, request.folder, *std::move(data), request.view);
  if (auto made = session.make_executor(request.crew); !made) return report(made.error());
  auto engine = engine::Engine::resume(request.folder, request.extension, session.numerics(), session.services());
  if (!engine) return report(engine.error());
  session.show_up("resume", request.view);
  return run_engine(session, **engine, request.view);
}

}  // namespace lanista::cli
