#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/report/optuna.h"
#include "lanista/app/report/table_export.h"
#include "lanista/app/report/tensorboard.h"
#include "lanista/app/report/trace.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/formats/safetensors.h"

namespace lanista::cli {
namespace {

constexpr double kOnnxTolerance = 1e-5;  // the rounding of usual models
constexpr double kOnnxLimit = 1e-3;      // models of very large weights reach some 1e-4; wrong files exceed it
constexpr std::int64_t kOnnxSamples = 64;

Result<double> compare_onnx(const engine::ModelPackage& package, std::string_view onnx) {
  LANISTA_ASSIGN(const double difference, inference::onnx_difference(package, onnx, kOnnxSamples));
  if (difference <= kOnnxTolerance) return difference;
  std::array<char, 64> text{};
  if (difference > kOnnxLimit) {
    std::snprintf(text.data(), text.size(), "%.1e; allowed: at most %.0e", difference, kOnnxLimit);
    return Error{Code::kInternal, "the ONNX file differs from the model by " + std::string(text.data()), "model.onnx"};
  }
  std::snprintf(text.data(), text.size(), "%.1e, usual is %.0e", difference, kOnnxTolerance);
  std::cerr << "warning: model.onnx rounds more than usual: its outputs differ from the model's by " << text.data()
            << "; the weights of this model are very large\n";
  return difference;
}

Result<void> write(const std::string& path, std::string_view bytes, const std::string& note = "") {
  LANISTA_TRY(write_atomically(real_file_system(), path, bytes));
  std::cerr << "wrote " << printable(path) << note << "\n";
  return {};
}

Result<void> export_onnx(const engine::ModelPackage& package, const std::string& path) {
  LANISTA_ASSIGN(const std::string onnx, engine::package_onnx(package));
  LANISTA_ASSIGN(const double difference, compare_onnx(package, onnx));
  std::array<char, 64> note{};
  std::snprintf(note.data(), note.size(), "   read back; largest difference %.1e", difference);
  return write(path, onnx, note.data());
}

Result<void> export_cpp(const engine::ModelPackage& package, const std::string& path) {
  LANISTA_ASSIGN(const std::string source, engine::package_cpp(package));
  return write(path, source);
}

Result<void> export_model(const ExportRequest& request) {
  if (request.onnx.empty() && request.safetensors.empty() && request.cpp.empty() && request.package.empty()) return {};
  LANISTA_ASSIGN(const auto package, request.ensemble > 0 ? ensemble_of_study(request.target, request.ensemble)
                                                          : load_package(request.target));
  if (!request.onnx.empty()) LANISTA_TRY(export_onnx(package, request.onnx));
  if (!request.safetensors.empty()) {
    std::map<std::string, std::string> facts;
    if (package.members.size() == 1) facts["graph_hash"] = package.facts.at("graph_hash");
    LANISTA_ASSIGN(const auto bytes, formats::encode_safetensors({package.tensors(), facts}));
    LANISTA_TRY(write(request.safetensors, bytes));
  }
  if (!request.cpp.empty()) LANISTA_TRY(export_cpp(package, request.cpp));
  if (!request.package.empty()) {
    LANISTA_TRY(engine::check_package_folder(real_file_system(), request.package));
    LANISTA_TRY(engine::write_package(real_file_system(), request.package, package));
    std::cerr << "wrote " << printable(request.package) << "\n";
  }
  return {};
}

Result<void> export_tensorboard(const study::StudyView& view, const ExportRequest& request) {
  auto& files = real_file_system();
  // TensorBoard would also show folders of an earlier export.
  if (const auto there = files.list(request.tensorboard); there && !there->empty()) {
    return Error{Code::kAlreadyExists, "the folder must be new or empty", request.tensorboard};
  }
  for (const auto& [name, bytes] : report::tensorboard_files(view, {.base_time = view.began, .all = request.all})) {
    const std::string path = request.tensorboard + "/" + name;
    LANISTA_TRY(files.make_folder(path.substr(0, path.rfind('/'))));
    LANISTA_TRY(write_atomically(files, path, bytes));
  }
  std::cerr << "wrote " << printable(request.tensorboard) << "   see it with: tensorboard --logdir "
            << printable(shell_word(request.tensorboard)) << "\n";
  return {};
}

Result<void> export_tables(const ExportRequest& request) {
  const bool none = request.csv.empty() && request.measurements.empty() && request.jsonl.empty() &&
                    request.tensorboard.empty() && request.optuna.empty() && request.trace.empty();
  if (none) return {};
  LANISTA_ASSIGN(const auto view, load_study(parse_target(request.target).folder));
  if (!request.csv.empty()) LANISTA_TRY(write(request.csv, report::trials_csv(view)));
  if (!request.measurements.empty()) LANISTA_TRY(write(request.measurements, report::measurements_csv(view)));
  if (!request.jsonl.empty()) LANISTA_TRY(write(request.jsonl, report::trials_jsonl(view)));
  if (!request.optuna.empty()) LANISTA_TRY(write(request.optuna, report::optuna_journal(view, view.began)));
  if (!request.trace.empty()) LANISTA_TRY(write(request.trace, report::chrome_trace(view)));
  if (!request.tensorboard.empty()) LANISTA_TRY(export_tensorboard(view, request));
  return {};
}

}  // namespace

Result<std::optional<double>> check_onnx(const std::string& folder) {
  auto& files = real_file_system();
  if (!files.exists(folder + "/model.onnx")) return std::optional<double>();
  LANISTA_ASSIGN(const auto package, engine::read_package(files, folder, graph::builtin_ops()));
  LANISTA_ASSIGN(const std::string onnx, files.read(folder + "/model.onnx"));
  LANISTA_ASSIGN(const double difference, compare_onnx(package, onnx));
  return std::optional<double>(difference);
}

int export_study(const ExportRequest& request) {
  const auto requested = {request.onnx,   request.safetensors, request.cpp,   request.package, request.tensorboard,
                          request.optuna, request.csv,         request.jsonl, request.trace,   request.measurements};
  if (std::all_of(requested.begin(), requested.end(), [](const auto& path) { return path.empty(); })) {
    return print_error(
        {Code::kInvalidArgument, "nothing to export; name a format and a path, e.g. --onnx model.onnx", "export"});
  }
  const bool model = !(request.onnx + request.safetensors + request.cpp + request.package).empty();
  if (request.ensemble > 0 && (!model || parse_target(request.target).has_trial)) {
    return print_error(
        {Code::kInvalidArgument,
         model ? "needs a study: DIR, not DIR#TRIAL" : "is a model; name an output, e.g. --package FOLDER",
         "--ensemble"});
  }
  if (auto done = export_model(request); !done) return print_error(done.error());
  if (auto done = export_tables(request); !done) return print_error(done.error());
  return kDone;
}

}  // namespace lanista::cli
