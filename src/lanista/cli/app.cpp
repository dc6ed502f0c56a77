#include "lanista/cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>

#include "lanista/base/text_distance.h"
#include "lanista/cli/doctor.h"
#include "lanista/cli/inspect.h"
#include "lanista/cli/session.h"
#include "lanista/cli/version.h"

namespace lanista::cli {
namespace {

// CLI11 appends the footer as it is: examples, a line each.
std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "examples:";
  for (const char* line : lines) text += std::string("\n  ") + line;
  return text;
}

void add_view_options(CLI::App& verb, View& view) {
  verb.add_flag("--json", view.json, "one event a line on stdout");
  verb.add_flag("--quiet,-q", view.quiet, "no progress, only the table");
  verb.add_flag("--no-color", view.no_color, "no colour (NO_COLOR works too)");
}

void add_run(CLI::App& app, int& code) {
  struct Options {
    RunRequest request;
    std::vector<std::string> set;
    std::optional<std::int64_t> trials, epochs;
    std::optional<double> minutes;
    std::optional<std::uint64_t> seed;
  };
  auto options = std::make_shared<Options>();
  auto& verb = *app.add_subcommand("run", "explore a model space until its budget is spent");
  verb.add_option("study", options->request.study_file, "study file (YAML); without one, the digits study");
  verb.add_option("--out", options->request.out, "folder of the study (default: studies/<name>-<number>)");
  verb.add_option("--trials", options->trials, "stop after this many trials");
  verb.add_option("--epochs", options->epochs, "epochs of a trial");
  verb.add_option("--minutes", options->minutes, "guard: stop after this many minutes");
  verb.add_option("--seed", options->seed, "seed of everything random");
  verb.add_option("--workers", options->request.workers, "training threads of this run (default: one per core)")
      ->check(CLI::Range(1, 64));
  verb.add_option("--set", options->set, "KEY=VALUE overrides one setting, repeatable")->allow_extra_args(false);
  verb.add_flag("--dry-run", options->request.dry_run, "check everything, print the resolved study, train nothing");
  add_view_options(verb, options->request.view);
  verb.footer(examples({"lanista run", "lanista run study.yaml --trials 20 --out studies/first",
                        "lanista run --set strategy.name=random --set train.epochs=3"}));
  verb.callback([options, &code] {
    auto& overrides = options->request.overrides;
    for (const auto& pair : options->set) {
      const auto equals = pair.find('=');
      if (equals == std::string::npos) throw CLI::ValidationError("--set", "'" + pair + "' is not KEY=VALUE");
      overrides.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
    }
    if (options->trials) overrides.push_back({"budget.trials", std::to_string(*options->trials)});
    if (options->epochs) overrides.push_back({"train.epochs", std::to_string(*options->epochs)});
    if (options->minutes) overrides.push_back({"budget.guard_minutes", std::to_string(*options->minutes)});
    if (options->seed) overrides.push_back({"run.seed", std::to_string(*options->seed)});
    code = run_study(options->request);
  });
}

void add_resume(CLI::App& app, int& code) {
  auto request = std::make_shared<ResumeRequest>();
  auto& verb = *app.add_subcommand("resume", "continue a study exactly where it was");
  verb.add_option("folder", request->folder, "folder of the study")->required();
  verb.add_option("--trials", request->extension.trials, "so many trials more")->check(CLI::PositiveNumber);
  verb.add_option("--minutes", request->extension.minutes, "so many minutes more before the guard")
      ->check(CLI::PositiveNumber);
  verb.add_option("--workers", request->workers, "training threads of this run (default: one per core)")
      ->check(CLI::Range(1, 64));
  add_view_options(verb, request->view);
  verb.footer(examples({"lanista resume studies/digits-1", "lanista resume studies/digits-1 --trials 60"}));
  verb.callback([request, &code] { code = resume_study(*request); });
}

void add_inspection(CLI::App& app, int& code) {
  auto status = std::make_shared<StatusRequest>();
  auto& status_verb = *app.add_subcommand("status", "where a study stands, on one screen");
  status_verb.add_option("folder", status->folder, "folder of the study (default: every study below studies/)");
  status_verb.add_flag("--json", status->json, "one JSON object a study");
  status_verb.footer(examples({"lanista status", "lanista status studies/digits-1 --json"}));
  status_verb.callback([status, &code] { code = show_status(*status); });

  auto show = std::make_shared<ShowRequest>();
  auto& show_verb = *app.add_subcommand("show", "a study's table, or one trial in full");
  show_verb.add_option("target", show->target, "DIR or DIR#TRIAL")->required();
  show_verb.add_option("--top", show->top, "rows of the table")->check(CLI::PositiveNumber);
  show_verb.add_flag("--json", show->json, "JSON on stdout");
  show_verb.add_flag("--dot", show->dot, "the trial's model as Graphviz source");
  show_verb.add_flag("--plan", show->plan, "the trial's program: operators, layouts, bytes");
  show_verb.add_flag("--config", show->config, "the resolved study file");
  show_verb.add_flag("--canonical", show->canonical, "the canonical export of the log: equal for equal studies");
  show_verb.footer(examples(
      {"lanista show studies/digits-1", "lanista show studies/digits-1#12", "lanista show studies/digits-1#12 --dot"}));
  show_verb.callback([show, &code] { code = show_study(*show); });

  auto check = std::make_shared<CheckRequest>();
  auto& check_verb = *app.add_subcommand("check", "validate a study file, and say what it would do");
  check_verb.add_option("file", check->file, "study file");
  check_verb.add_option("--set", check->set, "KEY=VALUE overrides one setting, repeatable")->allow_extra_args(false);
  check_verb.add_flag("--schema", check->schema, "print the JSON Schema of study files");
  check_verb.footer(examples({"lanista check study.yaml", "lanista check --schema > lanista.schema.json"}));
  check_verb.callback([check, &code] { code = check_study(*check); });
}

void add_control(CLI::App& app, int& code) {
  auto pause = std::make_shared<ControlRequest>();
  pause->what = "pause";
  auto& pause_verb = *app.add_subcommand("pause", "save a running study and let it end, resumable");
  pause_verb.add_option("folder", pause->folder, "folder of the study")->required();
  pause_verb.footer(examples({"lanista pause studies/digits-1"}));
  pause_verb.callback([pause, &code] { code = control_study(*pause); });

  auto stop = std::make_shared<ControlRequest>();
  stop->what = "stop";
  auto& stop_verb = *app.add_subcommand("stop", "end a running study, or one of its trials, for good");
  stop_verb.add_option("folder", stop->folder, "folder of the study")->required();
  stop_verb.add_option("trial", stop->trial, "number of the trial")->check(CLI::PositiveNumber);
  stop_verb.footer(examples({"lanista stop studies/digits-1", "lanista stop studies/digits-1 12"}));
  stop_verb.callback([stop, &code] { code = control_study(*stop); });
}

void add_machine(CLI::App& app, int& code) {
  auto& doctor_verb = *app.add_subcommand("doctor", "what this machine offers and what will limit a run");
  auto json = std::make_shared<bool>(false);
  doctor_verb.add_flag("--json", *json, "JSON on stdout");
  doctor_verb.footer(examples({"lanista doctor"}));
  doctor_verb.callback([json, &code] { code = doctor(*json); });

  auto& bench_verb =
      *app.add_subcommand("bench", "run a benchmark against LibTorch and other baselines (lanista-bench)");
  bench_verb.add_option("arguments", "passed on; see lanista bench --help");
}

// CLI11 would only say that a subcommand is required.
int refuse_unknown_verb(const CLI::App& app, const std::string& verb) {
  if (verb.starts_with("-")) return 0;
  std::vector<std::string> known;
  std::string list;
  for (const auto* each : app.get_subcommands({})) {
    if (each->get_name() == verb) return 0;
    known.push_back(each->get_name());
    list += (list.empty() ? "" : ", ") + each->get_name();
  }
  const std::string near = nearest_name(verb, known);
  std::cerr << "lanista: unknown verb '" << verb << "'; "
            << (near.empty() ? "known: " + list : "did you mean '" + near + "'?") << "\n";
  return kUsage;
}

// Benchmarks live in a program of their own, because loading LibTorch takes longer than most verbs.
int run_bench(char** argv) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string program = (self.parent_path() / "lanista-bench").string();
  ::execv(program.c_str(), argv + 1);
  std::cerr << "lanista: cannot run " << program << ": " << std::strerror(errno) << "; it is built with LibTorch\n";
  return kUsage;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{
      "lanista: exploratory training. Describe a space of models and a goal; it hands over the best trained model.",
      "lanista"};
  app.set_version_flag("--version", "lanista " + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(examples({"lanista run                        explore models for handwritten digits",
                       "lanista resume studies/digits-1    continue exactly where it was",
                       "lanista run --help                 all options of a verb"}));
  int code = kDone;
  if (argc >= 2 && std::string_view(argv[1]) == "bench") return run_bench(argv);
  try {
    add_run(app, code);
    add_resume(app, code);
    add_inspection(app, code);
    add_control(app, code);
    add_machine(app, code);
    if (argc < 2) {
      std::cerr << app.help();
      return kUsage;
    }
    if (const int refused = refuse_unknown_verb(app, argv[1])) return refused;
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kDone : kUsage;
  } catch (const std::exception& e) {
    std::cerr << "lanista: internal error: " << e.what() << "\n";
    return kStudyFailed;
  }
  return code;
}

}  // namespace lanista::cli
