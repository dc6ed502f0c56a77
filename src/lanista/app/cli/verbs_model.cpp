#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

void add_predict(CLI::App& app, int& code) {
  auto request = std::make_shared<PredictRequest>();
  auto& verb = *app.add_subcommand("predict", "what a trained model says of raw data, as CSV");
  verb.add_option("model", request->model, "model package, or study folder for its best model")->required();
  verb.add_option("input", request->input, "raw data: file, folder, or kind:path as in a study file")->required();
  verb.add_option("--out", request->out, "the CSV file (default: stdout, where control characters are escaped)");
  verb.footer(examples({"lanista predict studies/digits-1/best images.npy",
                        "lanista predict studies/iris-1 new.csv --out species.csv",
                        "lanista predict studies/photos-1 holiday/"}));
  verb.callback([request, &code] { code = predict(*request); });
}

void add_eval(CLI::App& app, int& code) {
  auto request = std::make_shared<EvalRequest>();
  auto& verb =
      *app.add_subcommand("eval", "all metrics of a trained model on labelled raw data, with confusion or residuals");
  verb.add_option("model", request->model, "model package, or study folder for its best model")->required();
  verb.add_option("input", request->input, "raw data with targets: file, folder, or kind:path")->required();
  verb.add_flag("--json", request->json, "JSON on stdout");
  verb.footer(examples({"lanista eval studies/iris-1 more.csv", "lanista eval best npy:x.npy,y.npy --json"}));
  verb.callback([request, &code] { code = evaluate(*request); });
}

void add_export(CLI::App& app, int& code) {
  auto request = std::make_shared<ExportRequest>();
  auto& verb = *app.add_subcommand("export", "a model or a study in the formats of other tools");
  verb.add_option("target", request->target, "DIR, or DIR#TRIAL for a model whose weights were kept")->required();
  verb.add_option("--onnx", request->onnx, "the model in ONNX, read back and compared");
  verb.add_option("--safetensors", request->safetensors, "its weights");
  verb.add_option("--cpp", request->cpp, "the model as one C++ file without dependencies");
  verb.add_option("--package", request->package, "a folder with the model and all that predictions need");
  verb.add_option("--ensemble", request->ensemble,
                  "the model is an ensemble of the kept trials, at most so many draws, chosen on the validation part")
      ->check(integer_between(1, 1000));
  verb.add_option("--csv", request->csv, "one row a trial");
  verb.add_option("--measurements", request->measurements, "one row a measurement, CSV");
  verb.add_option("--jsonl", request->jsonl, "one object a trial and line");
  verb.add_option("--tensorboard", request->tensorboard, "folder of event files with HParams");
  verb.add_flag("--all", request->all, "TensorBoard: all trials (default: the best 200)");
  verb.add_option("--optuna", request->optuna, "an Optuna journal");
  verb.add_option("--trace", request->trace, "Chrome trace of the workers (Perfetto opens it)");
  verb.footer(examples({"lanista export studies/digits-1 --onnx digits.onnx --cpp digits.cpp",
                        "lanista export studies/digits-1 --tensorboard runs --csv trials.csv",
                        "lanista export 'studies/digits-1#12' --package twelve",
                        "lanista export studies/digits-1 --ensemble 10 --package many"}));
  verb.callback([request, &code] { code = export_study(*request); });
}

}  // namespace

void add_model_verbs(CLI::App& app, int& code) {
  add_predict(app, code);
  add_eval(app, code);
  add_export(app, code);
}

}  // namespace lanista::cli
