#include "lanista/engine/package.h"

#include <algorithm>
#include <set>

#include "lanista/formats/safetensors.h"
#include "lanista/graph/text.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

/// Optimiser slots and counters serve training alone.
bool belongs_to_model(const Tensor& tensor) {
  static const std::set<std::string, std::less<>> kCounters{"step", "seed"};
  return tensor.name.find('/') == std::string::npos && !kCounters.contains(tensor.name);
}

json metrics_json(const std::map<std::string, double>& metrics) {
  return study::measurement_json({TrialId{1}, 0, 0, metrics}).at("metrics");
}

json package_json(const Package& package, const std::string& weights_hash) {
  const data::DataSpec& data = *package.data;
  const TrialView& trial = *package.trial;
  return {
      {"schema", 1},
      {"study", package.study},
      {"trial", trial.id.value},
      {"input", {{"shape", data.features.dims}, {"dtype", "float32"}}},
      {"task", data.classes > 0 ? "classification" : "regression"},
      {"outputs", data.classes > 0 ? data.classes : data.target_size},
      {"normalization", {{"mean", data.mean}, {"scale", data.scale}}},
      {"labels", data.labels},
      {"data", {{"name", data.name}, {"source", data.source}, {"licence", data.licence}, {"hash", data.hash.hex()}}},
      {"sample", space::sample_json(trial.proposal.sample)},
      {"epochs", trial.measurements.empty() ? 0 : trial.measurements.back().epoch},
      {"parameters", trial.parameters},
      {"metrics",
       {{"training", trial.measurements.empty() ? json::object() : metrics_json(trial.measurements.back().metrics)},
        {"test", metrics_json(package.test)}}},
      {"graph_hash", trial.proposal.graph_hash.hex()},
      {"weights_hash", weights_hash}};
}

}  // namespace

Result<void> write_package(FileSystem& fs, const std::string& study_folder, const store::Checkpoint& weights,
                           const Package& package) {
  formats::SafetensorsFile file;
  for (const Tensor& tensor : weights.tensors) {
    if (belongs_to_model(tensor)) file.tensors.push_back(tensor);
  }
  std::sort(file.tensors.begin(), file.tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  file.metadata["graph_hash"] = package.trial->proposal.graph_hash.hex();
  LANISTA_ASSIGN(const std::string bytes, formats::encode_safetensors(file));
  const std::string hash = hash_bytes(std::as_bytes(std::span(bytes))).hex();

  const std::string folder = study_folder + "/best";
  LANISTA_TRY(fs.make_folder(folder));
  LANISTA_TRY(write_atomically(fs, folder + "/model.graph", graph::to_text(*package.model)));
  LANISTA_TRY(write_atomically(fs, folder + "/weights.safetensors", bytes));
  // Last, so that a package that says what it is, is whole.
  return write_atomically(fs, folder + "/package.json", package_json(package, hash).dump(2) + "\n");
}

}  // namespace lanista::engine
