#include "lanista/app/cli/session.h"

#include <iostream>
#include <optional>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/devices.h"
#include "lanista/app/cli/import_study.h"
#include "lanista/app/cli/new_study_folder.h"
#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/resolved_request.h"
#include "lanista/app/cli/running_study.h"
#include "lanista/engine/core/moved_data.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/exec/train/baseline.h"
#include "lanista/io/studyfile/space_preview.h"
#include "lanista/io/studyfile/tuning.h"

namespace lanista::cli {
namespace {

// Limits of the printed list of mistakes: at most one screen, one line each.
constexpr std::size_t kMistakeLines = 40;
constexpr std::size_t kMistakeColumns = 1000;

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::kDataLoss:
    case Code::kUnimplemented:      // a format that is not read
    case Code::kResourceExhausted:  // a decompression bomb
      return kRefused;
    case Code::kInternal:
      return kStudyFailed;
    default:
      return kUsage;
  }
}

// Prints the list of mistakes of a study file; `read_study` made each line printable.
int print_mistakes(const Error& error) {
  std::cerr << "lanista: " << printable_lines(error.text(), kMistakeLines, kMistakeColumns) << "\n";
  return exit_code_of(error);
}

// The exit code if a study cannot begin: a full disk is a failure of the study, all else is wrong usage.
int print_folder_error(const Error& error) {
  const int code = print_error(error);
  return error.code == Code::kResourceExhausted ? static_cast<int>(kStudyFailed) : code;
}

// Measures the devices of a study, because its plan depends on their speed.
Result<runtime::TimedDevices> time_devices(const ResolvedRequest& study, WorkerOverrides worker_overrides,
                                           const PlanVerbRequest& verb_request) {
  LANISTA_ASSIGN(const auto like, engine::benchmark_job(study.config, study.data.spec(), *study.models));
  const RealClock clock;
  worker_overrides.workers = verb_request.workers;
  worker_overrides.lanes = verb_request.lanes;
  auto timed = runtime::time_devices(make_worker_config(study.config, worker_overrides), study.devices,
                                     study.config.strategy.slots, like, study.data, program::Operators(), clock);
  if (!timed) return study.source.with_location(timed.error(), "run.devices");
  LANISTA_ASSIGN(const auto speeds, speeds_from_environment(study.devices.size()));
  if (speeds) timed->speeds = *speeds;
  return timed;
}

int plan_study(const RunRequest& request, const ResolvedRequest& study) {
  PlanVerbRequest verb_request = *request.plan;
  const program::Backend* backend = study.devices.front().backend;
  const bool is_one = study.devices.size() == 1;
  if (!verb_request.pipeline && is_one) {  // no times are stored for several devices
    verb_request.known =
        read_known_times(planned_profiles_folder(verb_request.profiles, study.config, study.source.folder),
                         backend != nullptr ? backend->numeric_class() : std::string_view());
  }
  if (!verb_request.pipeline) print_notes(study.notes);
  const bool is_of_devices = !verb_request.pipeline && !verb_request.simulated_cluster;
  if (is_of_devices && (!is_one || backend != nullptr)) {
    auto timed = time_devices(study, request.worker_overrides, verb_request);
    if (!timed) return print_error(timed.error());
    verb_request.timed_devices = *std::move(timed);
  }
  return print_plan(verb_request, study.config, study.data.spec(), study.models);
}

/// Old studies name the program that workers run on other hosts. A received study must not select a program.
std::vector<std::string> ignored_key_notes(const study::StudyConfig& config, const std::string& folder) {
  std::vector<std::string> notes;
  for (const std::string& key : config.ignored) {
    notes.push_back(
        key + " of the stored study " + folder +
        " has no effect: a study names no program; the path of lanista on other hosts comes from --program");
  }
  return notes;
}

}  // namespace

int print_error(const Error& error) {
  std::cerr << "lanista: " << one_line(error.text()) << "\n";
  return exit_code_of(error);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cerr << "lanista: " << one_line(note) << "\n";
  }
}

int run_study(const RunRequest& request) {
  auto verb_request = resolve_request(request);
  if (!verb_request) return print_mistakes(verb_request.error());
  if (request.plan) return plan_study(request, *verb_request);

  study::StudyConfig& config = verb_request->config;
  std::vector<std::string>& notes = verb_request->notes;
  std::optional<study::Earlier> earlier;
  if (!request.import.empty()) {
    auto imported = import_study(request.import, request.import_study, config, verb_request->data.spec(),
                                 verb_request->models, notes);
    if (!imported) return print_error(imported.error());
    earlier = *std::move(imported);
  }
  if (!request.display.quiet) {
    print_notes(notes);
    // The example is text of the program, so it is printed as it is.
    const std::string example = studyfile::no_variation_hint(config, *verb_request->models);
    if (!example.empty()) std::cerr << "lanista: " << example << "\n";
  }
  // The folder is made last, so that a refused study leaves none, and two studies that begin now get different ones.
  std::optional<NewStudyFolder> new_folder;
  std::string out = request.out;
  if (out.empty() && request.dry_run) out = NewStudyFolder::next_path("studies", config.name);
  if (out.empty()) {
    auto made = NewStudyFolder::make("studies", config.name);
    if (!made) return print_folder_error(made.error());
    new_folder = *std::move(made);
    out = new_folder->path();
  }
  if (auto rebased = studyfile::rebase_paths(config, verb_request->source.folder, out); !rebased) {
    return print_error(rebased.error());
  }
  if (request.dry_run) {
    std::cout << printable_lines(studyfile::write_study(config) +
                                 studyfile::space_preview(config, *verb_request->models));
    return kDone;
  }

  RunningStudy running(config, out, std::move(verb_request->data), request.display);
  if (auto made = running.make_executor(request.worker_overrides); !made) return print_error(made.error());
  const data::DataSpec& spec = running.data().spec();
  engine::Services services = running.services();
  services.baselines = train::baselines(running.data(), engine::loss_name(config, spec), config.train.measured.metrics);
  services.earlier = std::move(earlier);
  auto engine =
      engine::Engine::create(out, config, studyfile::write_study(config), running.numerics(), std::move(services));
  if (!engine) return print_folder_error(verb_request->source.with_location(engine.error(), engine.error().where));
  if (new_folder) new_folder->keep_folder();
  if (const auto& zoo = (*engine)->view().zoo; zoo && !request.display.quiet) {
    print_notes({study::zoo_note(*zoo, engine::zoo_location(config, spec, out).folder)});
  }
  running.print_banner("study");
  return running.run(**engine);
}

int resume_study(const ResumeRequest& request) {
  auto config = engine::stored_config(real_file_system(), request.folder);
  if (!config) return print_error(config.error());
  print_notes(ignored_key_notes(*config, request.folder));
  const study::StudyConfig stored = *config;
  ExpectedStudy expected = request.expected_study;
  // The place of the data may change, their content may not.
  std::optional<std::string> source;
  std::erase_if(expected.overrides, [&](const studyfile::Override& each) {
    if (each.key == "data.source") source = each.value;
    return each.key == "data.source";
  });
  if (source) {
    const auto moved = engine::move_study_data(stored, request.folder, *source, real_file_system());
    if (!moved) return print_error(moved.error());
  }
  auto data = engine::open_study_data(*config, request.folder, real_file_system());
  if (!data) return print_error(data.error());
  if (auto same = check_unchanged(request.folder, stored, *data, expected); !same) return print_error(same.error());

  RunningStudy running(*config, request.folder, *std::move(data), request.display);
  if (auto made = running.make_executor(request.worker_overrides); !made) return print_error(made.error());
  auto engine = engine::Engine::resume(request.folder, request.extension, running.numerics(), running.services());
  if (!engine) return print_error(engine.error());
  running.print_banner("resume");
  return running.run(**engine);
}

}  // namespace lanista::cli
