#include "lanista/engine/package.h"

#include <algorithm>
#include <set>

#include "lanista/formats/cpp_source.h"
#include "lanista/formats/onnx.h"
#include "lanista/formats/onnx_export.h"
#include "lanista/formats/safetensors.h"
#include "lanista/formats/signature.h"
#include "lanista/graph/infer.h"
#include "lanista/graph/text.h"
#include "lanista/study/record_fields.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

/// The newest layout of package.json that this build reads. It writes the oldest that says all: builds that know no
/// standardised targets would take predictions in standard units for real ones, so these packages are none for them.
constexpr std::int64_t kPackageSchema = 2, kWithoutStandardTargets = 1;

/// Optimiser slots and counters serve training alone.
bool belongs_to_model(const Tensor& tensor) {
  static const std::set<std::string, std::less<>> kCounters{"step", "seed"};
  return tensor.name.find('/') == std::string::npos && !kCounters.contains(tensor.name);
}

std::string hash_text(std::string_view bytes) { return hash_bytes(std::as_bytes(std::span(bytes))).hex(); }

Error broken(const std::string& path, const std::string& message) { return {Code::kDataLoss, message, path}; }

Result<json> read_facts(FileSystem& fs, const std::string& path) {
  auto text = fs.read(path);
  if (!text) {
    if (text.error().code != Code::kNotFound) return text.error();
    return Error{Code::kNotFound, "no model package here: a package has a file package.json", path};
  }
  json facts = json::parse(*text, nullptr, false);
  if (!facts.is_object()) return broken(path, "is not JSON");
  const std::int64_t schema = facts.value("schema", std::int64_t{0});
  if (schema < 1) return broken(path, "does not tell its schema");
  if (schema > kPackageSchema) {
    return Error{
        Code::kFailedPrecondition,
        "has schema " + std::to_string(schema) + ", this version reads up to " + std::to_string(kPackageSchema), path};
  }
  return facts;
}

/// The facts that predictions need, as values.
Result<void> take_facts(const json& facts, ModelPackage& package) {
  LANISTA_ASSIGN(package.data, data::parse_spec(facts.at("data")));
  package.loss = facts.at("recipe").at("loss").get<std::string>();
  package.precision = facts.at("recipe").at("precision").get<std::string>();
  package.metrics = facts.at("asked_metrics").get<std::vector<std::string>>();
  return {};
}

/// Exported models give targets in their own unit.
void take_unit(const ModelPackage& package, auto& options) {
  const auto& targets = package.data.target_normalization;
  if (!targets) return;
  options.target_mean = targets->mean;
  options.target_scale = targets->scale;
}

}  // namespace

ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& of_study,
                          const study::TrialView& trial, const study::Recipe& recipe, graph::Graph model,
                          std::vector<Tensor> state, const std::map<std::string, double>& test) {
  const auto own = data::training_spec(of_study, trial.proposal.fold);
  LANISTA_CHECK(own.ok(), "a job was made of the trial, so its fold is there");
  const data::DataSpec& data = *own;
  std::erase_if(state, [](const Tensor& tensor) { return !belongs_to_model(tensor); });
  std::sort(state.begin(), state.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const study::Measurement* result = trial.measurements.empty() ? nullptr : &study::result_of(config, trial);
  json facts{{"study", config.name},
             {"trial", trial.id.value},
             {"task", data.classes > 0 ? "classification" : "regression"},
             {"input", {{"shape", data.features.dims}, {"dtype", data.vocab > 0 ? "int64" : "float32"}}},
             {"outputs", data.classes > 0 ? data.classes : data.target_size},
             {"labels", data.labels},
             {"data", data::spec_json(data)},
             {"recipe", study::recipe_json(recipe)},
             {"sample", space::sample_json(trial.proposal.sample)},
             {"epochs", result != nullptr ? result->epoch : 0},
             {"parameters", trial.parameters},
             {"asked_metrics", config.train.metrics},
             {"metrics",
              {{"training", result != nullptr ? study::fields::metrics_json(result->metrics) : json::object()},
               {"test", study::fields::metrics_json(test)}}},
             {"graph_hash", trial.proposal.graph_hash.hex()}};
  if (trial.proposal.fold) facts["fold"] = *trial.proposal.fold;
  return {std::move(model),     std::move(state), data, recipe.loss, recipe.precision,
          config.train.metrics, std::move(facts)};
}

Result<std::string> package_onnx(const ModelPackage& package) {
  const auto& [mean, scale] = package.data.normalization;
  formats::OnnxExport options{.mean = mean,
                              .scale = scale,
                              .graph_name = package.facts.at("study"),
                              .metadata = {},
                              .missing = data::missing_numbers(package.data)};
  take_unit(package, options);
  options.metadata["study"] = options.graph_name;
  options.metadata["trial"] = package.facts.at("trial").dump();
  if (!package.data.labels.empty()) options.metadata["labels"] = json(package.data.labels).dump();
  LANISTA_ASSIGN(const formats::OnnxModel model, formats::to_onnx(package.model, package.weights, options));
  return formats::encode_onnx(model);
}

Result<std::string> package_cpp(const ModelPackage& package) {
  formats::CppExport options{.mean = package.data.normalization.mean,
                             .scale = package.data.normalization.scale,
                             .labels = package.data.labels,
                             .missing = data::missing_numbers(package.data)};
  take_unit(package, options);
  return formats::to_cpp(package.model, package.weights, options);
}

Result<void> write_package(FileSystem& fs, const std::string& folder, const ModelPackage& package) {
  json facts = package.facts;
  LANISTA_ASSIGN(const std::string weights,
                 formats::encode_safetensors({package.weights, {{"graph_hash", facts.at("graph_hash")}}}));
  facts["schema"] = package.data.target_normalization ? kPackageSchema : kWithoutStandardTargets;
  facts["version"] = LANISTA_VERSION;
  facts["weights_hash"] = hash_text(weights);

  LANISTA_TRY(make_durable_folder(fs, folder));
  LANISTA_TRY(write_atomically(fs, folder + "/model.graph", graph::to_text(package.model)));
  LANISTA_TRY(write_atomically(fs, folder + "/weights.safetensors", weights));
  if (const auto onnx = package_onnx(package)) {
    LANISTA_TRY(write_atomically(fs, folder + "/model.onnx", *onnx));
  } else {
    facts["no_onnx"] = onnx.error().message;
    LANISTA_TRY(fs.remove(folder + "/model.onnx"));
  }
  // Last, so that a package that says what it is, is whole.
  return write_atomically(fs, folder + "/package.json", facts.dump(2) + "\n");
}

Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops) {
  ModelPackage package;
  const std::string facts_path = folder + "/package.json";
  LANISTA_ASSIGN(package.facts, read_facts(fs, facts_path));
  std::string graph_hash, weights_hash;
  try {
    if (auto taken = take_facts(package.facts, package); !taken) return broken(facts_path, taken.error().message);
    graph_hash = package.facts.at("graph_hash").get<std::string>();
    weights_hash = package.facts.at("weights_hash").get<std::string>();
  } catch (const json::exception& error) {
    return broken(facts_path, error.what());
  }

  const std::string graph_path = folder + "/model.graph";
  LANISTA_ASSIGN(const std::string graph_text, fs.read(graph_path));
  auto model = graph::parse(graph_text);
  if (!model) return broken(graph_path, model.error().text());
  if (auto valid = graph::verify(*model, ops); !valid) return broken(graph_path, valid.error().text());
  if (graph::canonical_hash(*model, ops).hex() != graph_hash)
    return broken(graph_path, "is not the model of package.json");
  package.model = *std::move(model);

  const std::string weights_path = folder + "/weights.safetensors";
  LANISTA_ASSIGN(const std::string weights, fs.read(weights_path));
  if (auto foreign = formats::refuse_foreign(weights, weights_path)) return *foreign;
  if (hash_text(weights) != weights_hash) return broken(weights_path, "is not the file that package.json names");
  auto file = formats::decode_safetensors(weights);
  if (!file) return broken(weights_path, file.error().message);
  package.weights = std::move(file->tensors);
  return package;
}

}  // namespace lanista::engine
