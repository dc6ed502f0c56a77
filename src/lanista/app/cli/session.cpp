#include "lanista/app/cli/session.h"

#include <iostream>
#include <optional>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/asked_study.h"
#include "lanista/app/cli/devices.h"
#include "lanista/app/cli/import_study.h"
#include "lanista/app/cli/new_folder.h"
#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/running_study.h"
#include "lanista/engine/core/assembly.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/io/studyfile/outlook.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/exec/train/baseline.h"

namespace lanista::cli {
namespace {

// The mistakes of a study file are a screen at most, one printable line each.
constexpr std::size_t kMistakeLines = 40;
constexpr std::size_t kMistakeColumns = 1000;

int code_of(const Error& error) {
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

// Every line of the text is printable: `read_study` made it of the file's mistakes.
int report_mistakes(const Error& error) {
  std::cerr << "lanista: " << printable_lines(error.text(), kMistakeLines, kMistakeColumns) << "\n";
  return code_of(error);
}

// Of a full disk, a study's failure; whatever else keeps one from beginning is a mistake of who asked.
int report_of_folder(const Error& error) {
  const int code = report(error);
  return error.code == Code::kResourceExhausted ? static_cast<int>(kStudyFailed) : code;
}

// What `plan` prints of a study on devices hangs on how fast they are.
Result<runtime::TimedDevices> time_devices(const AskedStudy& study, Crew crew, const PlanAsked& asked) {
  LANISTA_ASSIGN(const auto like, engine::job_like_the_base(study.config, study.data.spec(), *study.models));
  const RealClock clock;
  crew.workers = asked.workers;
  crew.lanes = asked.lanes;
  auto timed = runtime::time_devices(worker_brief(study.config, crew), study.devices, study.config.strategy.slots, like,
                                     study.data, nn::Operators(), clock);
  if (!timed) return study.source.placed(timed.error(), "run.devices");
  LANISTA_ASSIGN(const auto told, told_speeds(study.devices.size()));
  if (told) timed->speeds = *told;
  return timed;
}

int plan_study(const RunRequest& request, const AskedStudy& study) {
  PlanAsked asked = *request.plan;
  const nn::Backend* backend = study.devices.front().backend;
  const bool is_one = study.devices.size() == 1;
  if (!asked.pipeline && is_one) {  // of several devices nothing is remembered
    asked.known = known_times(planned_profiles(asked.profiles, study.config, study.source.folder),
                              backend != nullptr ? backend->numeric_class() : std::string_view());
  }
  const bool is_of_devices = !asked.pipeline && !asked.simulated_on;
  if (is_of_devices && (!is_one || backend != nullptr)) {
    auto timed = time_devices(study, request.crew, asked);
    if (!timed) return report(timed.error());
    asked.on = *std::move(timed);
  }
  return print_plan(asked, study.config, study.data.spec(), study.models);
}

/// Old studies name the program that workers run on other hosts. A received study must not select a program.
std::vector<std::string> notes_of_ignored(const study::StudyConfig& config, const std::string& folder) {
  std::vector<std::string> notes;
  for (const std::string& key : config.ignored) {
    notes.push_back(key + " of the stored study " + folder +
                    " has no effect: a study names no program; the path of lanista on other hosts comes from --program");
  }
  return notes;
}

}  // namespace

int report(const Error& error) {
  std::cerr << "lanista: " << one_line(error.text()) << "\n";
  return code_of(error);
}

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cerr << "lanista: " << one_line(note) << "\n";
  }
}

int run_study(const RunRequest& request) {
  auto asked = read_asked(request);
  if (!asked) return report_mistakes(asked.error());
  if (request.plan) return plan_study(request, *asked);

  study::StudyConfig& config = asked->config;
  std::vector<std::string>& notes = asked->notes;
  std::optional<study::Earlier> earlier;
  if (!request.import.empty()) {
    auto imported = import_study(request.import, config, asked->data.spec(), asked->models, notes);
    if (!imported) return report(imported.error());
    earlier = *std::move(imported);
  }
  if (!request.view.quiet) {
    tell(notes);
    // Two lines of the program's text; nothing in them is stored.
    const std::string example = studyfile::nothing_varies(config, *asked->models);
    if (!example.empty()) std::cerr << "lanista: " << example << "\n";
  }
  // Taken at last: what was refused leaves nothing behind, and of two studies that begin now each has its own.
  std::optional<NewFolder> taken;
  std::string out = request.out;
  if (out.empty() && request.dry_run) out = NewFolder::next("studies", config.name);
  if (out.empty()) {
    auto made = NewFolder::take("studies", config.name);
    if (!made) return report_of_folder(made.error());
    taken = *std::move(made);
    out = taken->path();
  }
  if (auto rebased = studyfile::rebase_paths(config, asked->source.folder, out); !rebased) {
    return report(rebased.error());
  }
  if (request.dry_run) {
    std::cout << printable_lines(studyfile::write_study(config) + studyfile::space_outlook(config, *asked->models));
    return kDone;
  }

  RunningStudy running(config, out, std::move(asked->data), request.view);
  if (auto made = running.make_executor(request.crew); !made) return report(made.error());
  const data::DataSpec& spec = running.data().spec();
  engine::Services services = running.services();
  services.baselines = train::baselines(running.data(), engine::loss_name(config, spec), config.train.metrics);
  services.earlier = std::move(earlier);
  auto engine =
      engine::Engine::create(out, config, studyfile::write_study(config), running.numerics(), std::move(services));
  if (!engine) return report_of_folder(asked->source.placed(engine.error(), engine.error().where));
  if (taken) taken->keep();
  if (const auto& zoo = (*engine)->view().zoo; zoo && !request.view.quiet) {
    tell({study::zoo_note(*zoo, engine::zoo_place(config, spec, out).folder)});
  }
  running.show_up("study");
  return running.run(**engine);
}

int resume_study(const ResumeRequest& request) {
  auto config = engine::stored_config(real_file_system(), request.folder);
  if (!config) return report(config.error());
  tell(notes_of_ignored(*config, request.folder));
  auto data = data::open(config->data, request.folder, real_file_system(), config->strategy.repeat);
  if (!data) return report(data.error());
  if (auto same = check_unchanged(request.folder, *config, *data, request.claim); !same) return report(same.error());

  RunningStudy running(*config, request.folder, *std::move(data), request.view);
  if (auto made = running.make_executor(request.crew); !made) return report(made.error());
  auto engine = engine::Engine::resume(request.folder, request.extension, running.numerics(), running.services());
  if (!engine) return report(engine.error());
  running.show_up("resume");
  return running.run(**engine);
}

}  // namespace lanista::cli
