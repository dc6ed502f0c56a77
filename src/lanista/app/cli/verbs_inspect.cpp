#include "lanista/app/cli/compare_studies.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

void add_status(CLI::App& app, int& code) {
  auto status = std::make_shared<StatusRequest>();
  auto& status_verb = *app.add_subcommand("status", "Print the state of studies.");
  status_verb.add_option("folder", status->folder, "Folder of the study (default: all studies below studies/).");
  status_verb.add_flag("--json", status->json, "Print one JSON object a study.");
  status_verb.footer(examples({"lanista status", "lanista status studies/digits-1 --json"}));
  status_verb.callback([status, &code] { code = show_status(*status); });
}

void add_show(CLI::App& app, int& code) {
  auto show = std::make_shared<ShowRequest>();
  auto& show_verb = *app.add_subcommand("show", "Print the table of a study, or one trial.");
  show_verb.add_option("target", show->target, "DIR or DIR#TRIAL (a number, or best); with --plan also PLAN.json.")
      ->required();
  show_verb.add_option("--top", show->top, "Rows of the table.")->check(integer_between(1, 1'000'000'000));
  show_verb.add_flag("--json", show->json, "Print JSON.");
  show_verb.add_flag("--dot", show->dot, "Print the trial's model as Graphviz source.");
  show_verb.add_flag("--plan", show->plan,
                     "Print the program of a trial (DIR: the best): kernels, bytes, times and stages; or the "
                     "stages of PLAN.json.");
  show_verb.add_flag("--config", show->config, "Print the resolved study file.");
  show_verb.add_flag("--canonical", show->canonical,
                     "Print the canonical export of the log, which is equal for equal studies.");
  show_verb.footer(examples({"lanista show studies/digits-1", "lanista show studies/digits-1#12",
                             "lanista show studies/digits-1#12 --dot", "lanista show studies/digits-1 --plan"}));
  show_verb.callback([show, &code] { code = show_study(*show); });
}

void add_check(CLI::App& app, int& code) {
  auto check = std::make_shared<CheckRequest>();
  auto& check_verb = *app.add_subcommand("check", "Validate a study file or an ONNX model.");
  check_verb.add_option("file", check->file, "Study file, or MODEL.onnx.");
  check_verb.add_option("--set", check->set, "KEY=VALUE: override one setting; repeatable.")->allow_extra_args(false);
  check_verb.add_flag("--schema", check->schema, "Print the JSON Schema of study files.");
  check_verb.add_option("--inputs", check->inputs, "Input of the model: .npy, or an ONNX tensor in .pb.");
  check_verb.add_option("--expect", check->expect, "Expected output of the model for the inputs.")->needs("--inputs");
  check_verb
      .add_option("--rtol", check->rtol, "Allowed difference relative to the expected output, as in numpy.allclose.")
      ->check(number_between(0, 1e300));
  check_verb.add_option("--atol", check->atol, "Allowed absolute difference in addition.")
      ->check(number_between(0, 1e300));
  check_verb.footer(examples({"lanista check study.yaml", "lanista check --schema > lanista.schema.json",
                              "lanista check model.onnx", "lanista check model.onnx --inputs x.npy --expect y.npy"}));
  check_verb.callback(
      [check, &code] { code = check->file.ends_with(".onnx") ? check_model(*check) : check_study(*check); });
}

void add_report(CLI::App& app, int& code) {
  auto request = std::make_shared<ReportRequest>();
  auto& verb = *app.add_subcommand("report", "Write one HTML page: curves, trials, models, economy.");
  verb.add_option("folder", request->folder, "Folder of the study.")->required();
  verb.add_option("--out", request->out, "File of the page (default: DIR/report.html).");
  verb.add_flag("--watch", request->watch, "Update the page until the study ends or Ctrl-C; the page reloads itself.");
  verb.footer(examples({"lanista report studies/digits-1", "lanista report studies/digits-1 --out digits.html",
                        "lanista report studies/digits-1 --watch"}));
  verb.callback([request, &code] { code = write_report(*request); });
}

void add_compare(CLI::App& app, int& code) {
  auto request = std::make_shared<CompareRequest>();
  auto& verb = *app.add_subcommand("compare", "Compare studies: results, equal effort, differences of their files.");
  verb.add_option("folders", request->folders, "Folders of two or more studies.")->required()->expected(2, 64);
  verb.add_flag("--json", request->json, "Print one JSON object.");
  verb.add_option("--page", request->page, "File for a page with the best-so-far curves of all studies.");
  verb.footer(examples(
      {"lanista compare studies/digits-1 studies/digits-2", "lanista compare studies/digits-* --page compare.html"}));
  verb.callback([request, &code] { code = compare_studies(*request); });
}

}  // namespace

void add_inspect_verbs(CLI::App& app, int& code) {
  add_status(app, code);
  add_show(app, code);
  add_check(app, code);
  add_report(app, code);
  add_compare(app, code);
}

void add_control_verbs(CLI::App& app, int& code) {
  auto pause = std::make_shared<ControlRequest>();
  pause->action = "pause";
  auto& pause_verb = *app.add_subcommand("pause", "Save a running study and end it; resume continues it.");
  pause_verb.add_option("folder", pause->folder, "Folder of the study.")->required();
  pause_verb.footer(examples({"lanista pause studies/digits-1"}));
  pause_verb.callback([pause, &code] { code = control_study(*pause); });

  auto stop = std::make_shared<ControlRequest>();
  stop->action = "stop";
  auto& stop_verb = *app.add_subcommand("stop", "End a running study, or one of its trials.");
  stop_verb.add_option("folder", stop->folder, "Folder of the study.")->required();
  stop_verb.add_option("trial", stop->trial, "Number of the trial (default: the whole study).")
      ->check(integer_between(1, 4'294'967'295));
  stop_verb.footer(examples({"lanista stop studies/digits-1", "lanista stop studies/digits-1 12"}));
  stop_verb.callback([stop, &code] { code = control_study(*stop); });
}

}  // namespace lanista::cli
