#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

void add_predict(CLI::App& app, int& code) {
  auto [verb, request] = add_verb<PredictRequest>(
      app, code, "predict", "Predict on new data and write CSV.",
      {"lanista predict studies/digits-1/best images.npy", "lanista predict studies/iris-1 new.csv --out species.csv",
       "lanista predict studies/photos-1 holiday/"},
      predict);
  verb.add_option("model", request.model, "Model package, or study folder for its best model.")->required();
  verb.add_option("input", request.input, "New data: file, folder, or kind:path as in a study file.")->required();
  verb.add_option("--out", request.out, "CSV file (default: stdout, with control characters escaped).");
}

void add_eval(CLI::App& app, int& code) {
  auto [verb, request] = add_verb<EvalRequest>(
      app, code, "eval", "Measure a trained model on data with targets: metrics, confusion, residuals.",
      {"lanista eval studies/iris-1 more.csv", "lanista eval best npy:x.npy,y.npy --json"}, evaluate);
  verb.add_option("model", request.model, "Model package, or study folder for its best model.")->required();
  verb.add_option("input", request.input, "Data with targets: file, folder, or kind:path.")->required();
  verb.add_flag("--json", request.json, "Print JSON.");
}

void add_export(CLI::App& app, int& code) {
  auto [verb, request] =
      add_verb<ExportRequest>(app, code, "export", "Export a model or a study to formats of other tools.",
                              {"lanista export studies/digits-1 --onnx digits.onnx --cpp digits.cpp",
                               "lanista export studies/digits-1 --tensorboard runs --csv trials.csv",
                               "lanista export 'studies/digits-1#12' --package twelve",
                               "lanista export studies/digits-1 --ensemble 10 --package many"},
                              export_study);
  verb.add_option("target", request.target, "DIR, or DIR#TRIAL for a trial with kept weights.")->required();
  verb.add_option("--onnx", request.onnx, "File for the model in ONNX, which is read back and compared.");
  verb.add_option("--safetensors", request.safetensors, "File for the weights.");
  verb.add_option("--cpp", request.cpp, "File for the model as C++ source without dependencies.");
  verb.add_option("--package", request.package, "Folder for the model and all that predictions need.");
  verb.add_option("--ensemble", request.ensemble,
                  "Export an ensemble of kept trials with this many selections at most.")
      ->check(integer_between(1, 1000));
  verb.add_option("--csv", request.csv, "CSV file with one row a trial.");
  verb.add_option("--measurements", request.measurements, "CSV file with one row a measurement.");
  verb.add_option("--jsonl", request.jsonl, "File with one JSON object a trial.");
  verb.add_option("--tensorboard", request.tensorboard, "Folder for TensorBoard event files with HParams.");
  verb.add_flag("--all", request.all, "TensorBoard: all trials (default: the best 200).");
  verb.add_option("--optuna", request.optuna, "File for an Optuna journal.");
  verb.add_option("--trace", request.trace, "File for a Chrome trace of the workers (for Perfetto).");
}

}  // namespace

void add_model_verbs(CLI::App& app, int& code) {
  for (const auto add : {add_predict, add_eval, add_export}) add(app, code);
}

}  // namespace lanista::cli
