#include "lanista/app/cli/compare_studies.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

void add_status(CLI::App& app, int& code) {
  auto [verb, request] =
      add_verb<StatusRequest>(app, code, "status", "Print the state of studies.",
                              {"lanista status", "lanista status studies/digits-1 --json"}, show_status);
  verb.add_option("folder", request.folder, "Folder of the study (default: all studies below studies/).");
  verb.add_flag("--json", request.json, "Print one JSON object a study.");
}

void add_show(CLI::App& app, int& code) {
  auto [verb, request] =
      add_verb<ShowRequest>(app, code, "show", "Print the table of a study, or one trial.",
                            {"lanista show studies/digits-1", "lanista show studies/digits-1#12",
                             "lanista show studies/digits-1#12 --dot", "lanista show studies/digits-1 --plan"},
                            show_study);
  verb.add_option("target", request.target, "DIR or DIR#TRIAL (a number, or best); with --plan also PLAN.json.")
      ->required();
  verb.add_option("--top", request.top, "Rows of the table.")->check(integer_between(1, 1'000'000'000));
  verb.add_flag("--json", request.json, "Print JSON.");
  verb.add_flag("--dot", request.dot, "Print the trial's model as Graphviz source.");
  verb.add_flag("--plan", request.plan,
                "Print the program of a trial (DIR: the best): kernels, bytes, times and stages; or the "
                "stages of PLAN.json.");
  verb.add_flag("--config", request.config, "Print the resolved study file.");
  verb.add_flag("--canonical", request.canonical,
                "Print the canonical export of the log, which is equal for equal studies.");
}

void add_check(CLI::App& app, int& code) {
  auto [verb, request] =
      add_verb<CheckRequest>(app, code, "check", "Validate a study file or an ONNX model.",
                             {"lanista check study.yaml", "lanista check --schema > lanista.schema.json",
                              "lanista check model.onnx", "lanista check model.onnx --inputs x.npy --expect y.npy"},
                             [](const CheckRequest& given) {
                               return given.file.ends_with(".onnx") ? check_model(given) : check_study(given);
                             });
  verb.add_option("file", request.file, "Study file, or MODEL.onnx.");
  verb.add_option("--set", request.set, "KEY=VALUE: override one setting; repeatable.")->allow_extra_args(false);
  verb.add_flag("--schema", request.schema, "Print the JSON Schema of study files.");
  verb.add_option("--inputs", request.inputs, "Input of the model: .npy, or an ONNX tensor in .pb.");
  verb.add_option("--expect", request.expect, "Expected output of the model for the inputs.")->needs("--inputs");
  verb.add_option("--rtol", request.rtol, "Allowed difference relative to the expected output, as in numpy.allclose.")
      ->check(number_between(0, 1e300));
  verb.add_option("--atol", request.atol, "Allowed absolute difference in addition.")->check(number_between(0, 1e300));
}

void add_report(CLI::App& app, int& code) {
  auto [verb, request] =
      add_verb<ReportRequest>(app, code, "report", "Write one HTML page: curves, trials, models, economy.",
                              {"lanista report studies/digits-1", "lanista report studies/digits-1 --out digits.html",
                               "lanista report studies/digits-1 --watch"},
                              write_report);
  verb.add_option("folder", request.folder, "Folder of the study.")->required();
  verb.add_option("--out", request.out, "File of the page (default: DIR/report.html).");
  verb.add_flag("--watch", request.watch, "Update the page until the study ends or Ctrl-C; the page reloads itself.");
}

void add_compare(CLI::App& app, int& code) {
  auto [verb, request] = add_verb<CompareRequest>(
      app, code, "compare", "Compare studies: results, equal effort, differences of their files.",
      {"lanista compare studies/digits-1 studies/digits-2", "lanista compare studies/digits-* --page compare.html"},
      compare_studies);
  verb.add_option("folders", request.folders, "Folders of two or more studies.")->required()->expected(2, 64);
  verb.add_flag("--json", request.json, "Print one JSON object.");
  verb.add_option("--page", request.page, "File for a page with the best-so-far curves of all studies.");
}

}  // namespace

void add_inspect_verbs(CLI::App& app, int& code) {
  for (const auto add : {add_status, add_show, add_check, add_report, add_compare}) add(app, code);
}

void add_control_verbs(CLI::App& app, int& code) {
  auto [pause_verb, pause] =
      add_verb<ControlRequest>(app, code, "pause", "Save a running study and end it; resume continues it.",
                               {"lanista pause studies/digits-1"}, control_study);
  pause.action = "pause";
  pause_verb.add_option("folder", pause.folder, "Folder of the study.")->required();
  auto [stop_verb, stop] =
      add_verb<ControlRequest>(app, code, "stop", "End a running study, or one of its trials.",
                               {"lanista stop studies/digits-1", "lanista stop studies/digits-1#12"}, control_study);
  stop.action = "stop";
  stop_verb.add_option("folder", stop.folder, "Folder of the study, or FOLDER#NUMBER for one trial.")->required();
  stop_verb.add_option("trial", stop.trial, "Number of the trial (default: the whole study).")
      ->check(integer_between(1, 4'294'967'295));
}

}  // namespace lanista::cli
