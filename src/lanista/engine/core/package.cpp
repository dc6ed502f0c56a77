#include "lanista/engine/core/package.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/io/data/unfitted_spec.h"
#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_origins.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/store/record_json.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/record_fields.h"
#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/state_names.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

/// Schemas of package.json. A package is written with the oldest schema that holds all its facts. Older builds refuse
/// newer schemas, because they would misread them: standardised targets, several members, labels or several targets,
/// members with their own normalisation, and numbers that are stored less an origin.
constexpr std::int64_t kOfOneModel = 1, kOfStandardTargets = 2, kOfSeveral = 3, kOfFolds = 4, kOfPositions = 5;
constexpr std::int64_t kOfOrigins = 6;
constexpr std::int64_t kPackageSchema = kOfOrigins;

/// Most members of a package; a file with more is invalid.
constexpr std::size_t kMaxMembers = 1000;

std::string hash_text(std::string_view bytes) { return hash_bytes(std::as_bytes(std::span(bytes))).hex(); }

Error broken(const std::string& path, const std::string& message) { return {Code::kDataLoss, message, path}; }

Result<json> read_facts(FileSystem& fs, const std::string& path) {
  auto text = fs.read(path);
  if (!text) {
    if (text.error().code != Code::kNotFound) return text.error();
    return Error{Code::kNotFound, "no model package here: a package has a file package.json", path};
  }
  if (const auto readable = store::check_record_json(*text); !readable) return broken(path, readable.error().message);
  json facts = json::parse(*text, nullptr, false);
  if (!facts.is_object()) return broken(path, "is not JSON");
  const std::int64_t schema = facts.value("schema", std::int64_t{0});
  if (schema < 1) return broken(path, "has no schema");
  if (schema > kPackageSchema) {
    return Error{
        Code::kFailedPrecondition,
        "has schema " + std::to_string(schema) + ", this version reads up to " + std::to_string(kPackageSchema), path};
  }
  return facts;
}

/// Paths of a member's files: of the only member, or of a numbered one, from 1 on.
struct MemberFiles {
  std::string graph, weights;
};
MemberFiles member_files(const std::string& folder, std::size_t member, std::size_t members) {
  if (members == 1) return {folder + "/model.graph", folder + "/weights.safetensors"};
  const std::string stem = folder + "/members/" + std::to_string(member + 1);
  return {stem + ".graph", stem + ".safetensors"};
}

/// The facts of one model in package.json: at the top, or in "members".
const json& member_facts(const json& facts, std::size_t member) {
  return facts.contains("members") ? facts.at("members").at(member) : facts;
}

json preprocessing_json(const ModelMember::Preprocessing& units) {
  json out{{"features", data::normalization_json(units.features)}};
  if (units.targets) out["targets"] = data::normalization_json(*units.targets);
  if (!units.missing.empty()) out["missing"] = units.missing;
  if (!units.unseen.empty()) out["unseen"] = units.unseen;
  return out;
}

Result<ModelMember::Preprocessing> read_preprocessing(const json& units, const data::DataSpec& data) {
  ModelMember::Preprocessing out;
  const std::int64_t width = data.features.elements_per_sample();
  LANISTA_ASSIGN(out.features, data::parse_normalization(units.at("features"), width));
  const auto fits = [](const data::Normalization& fitted, const std::vector<double>& origin) {
    return origin.empty() || fitted == data::Normalization{} || fitted.mean.size() == origin.size();
  };
  if (units.contains("missing")) out.missing = units.at("missing").get<std::vector<double>>();
  if (units.contains("unseen")) out.unseen = units.at("unseen").get<std::vector<std::size_t>>();
  const bool finite = std::ranges::all_of(out.missing, [](double x) { return std::isfinite(static_cast<float>(x)); });
  if (!finite || (!out.missing.empty() && std::ssize(out.missing) != width)) {
    return Error{Code::kDataLoss, "a member's \"missing\" are not " + std::to_string(width) + " finite numbers", ""};
  }
  if (std::ranges::any_of(out.unseen, [&](std::size_t f) { return std::cmp_greater_equal(f, width); })) {
    return Error{Code::kDataLoss, "a member's \"unseen\" names a feature beyond " + std::to_string(width), ""};
  }
  if (units.contains("targets")) {
    LANISTA_ASSIGN(out.targets, data::parse_normalization(units.at("targets"), data.target_size, "targets"));
  }
  if (!fits(out.features, data.origin) || (out.targets && !fits(*out.targets, data.target_origin))) {
    return Error{Code::kDataLoss, "a member's normalisation does not fit the origins of the data", ""};
  }
  return out;
}

/// Reads the facts that predictions need; of members everything except their files.
Result<void> take_facts(const json& facts, ModelPackage& package) {
  LANISTA_ASSIGN(package.data, data::parse_spec(facts.at("data")));
  package.metrics = facts.at("asked_metrics").get<std::vector<std::string>>();
  const std::size_t count = facts.contains("members") ? facts.at("members").size() : 1;
  if (count < 1 || count > kMaxMembers) {
    return Error{Code::kDataLoss, "has " + std::to_string(count) + " members; allowed are 1 to 1000", ""};
  }
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const json& own = member_facts(facts, k);
    ModelMember& member = package.members.emplace_back();
    const auto loss = own.at("recipe").at("loss").get<std::string>();
    if (k > 0 && loss != package.loss) return Error{Code::kDataLoss, "its members were trained on several losses", ""};
    package.loss = loss;
    member.precision = own.at("recipe").at("precision").get<std::string>();
    if (facts.contains("members")) member.share = own.at("share").get<double>();
    if (own.contains("units")) {
      LANISTA_ASSIGN(member.own_preprocessing, read_preprocessing(own.at("units"), package.data));
    }
    if (!(member.share > 0)) return Error{Code::kDataLoss, "a share is not above 0", ""};
    sum += member.share;
  }
  const auto own =
      std::ranges::count_if(package.members, [](const ModelMember& m) { return m.own_preprocessing.has_value(); });
  if (own > 0 && (own != std::ssize(package.members) || package.data.normalization != data::Normalization{})) {
    return Error{Code::kDataLoss, "some members have their own normalisation, and so have the data", ""};
  }
  if (!(std::abs(sum - 1) < 1e-9)) return Error{Code::kDataLoss, "the members' shares do not sum to 1", ""};
  return {};
}

Result<void> read_member(FileSystem& fs, const MemberFiles& files, const json& facts, const graph::OpTable& ops,
                         ModelMember& member) {
  LANISTA_ASSIGN(const std::string graph_text, fs.read(files.graph));
  auto model = graph::parse(graph_text);
  if (!model) return broken(files.graph, model.error().text());
  if (auto valid = graph::verify(*model, ops); !valid) return broken(files.graph, valid.error().text());
  if (graph::canonical_hash(*model, ops).hex() != facts.at("graph_hash").get<std::string>())
    return broken(files.graph, "is not the model of package.json");
  member.model = *std::move(model);

  LANISTA_ASSIGN(const std::string weights, fs.read(files.weights));
  if (auto foreign = formats::unsupported_format_error(weights, files.weights)) return *foreign;
  if (hash_text(weights) != facts.at("weights_hash").get<std::string>())
    return broken(files.weights, "is not the file that package.json names");
  auto file = formats::decode_safetensors(weights);
  if (!file) return broken(files.weights, file.error().message);
  member.weights = std::move(file->tensors);
  return {};
}

/// Writes a member's files and adds their hashes to `facts`.
Result<void> write_member(FileSystem& fs, const MemberFiles& files, const ModelMember& member, json& facts) {
  LANISTA_ASSIGN(const std::string weights,
                 formats::encode_safetensors({member.weights, {{"graph_hash", facts.at("graph_hash")}}}));
  facts["weights_hash"] = hash_text(weights);
  LANISTA_TRY(write_atomically(fs, files.graph, graph::to_text(member.model)));
  return write_atomically(fs, files.weights, weights);
}

/// Whether the name is one of a member's file: 1.graph, 2.safetensors.
bool is_member_file_name(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view ending = name.substr(digits);
  return digits > 0 && (ending == ".graph" || ending == ".safetensors");
}

/// Removes files of an earlier package with another form or more members.
Result<void> remove_others(FileSystem& fs, const std::string& folder, std::size_t members) {
  if (members > 1) {
    const MemberFiles single = member_files(folder, 0, 1);
    LANISTA_TRY(fs.remove(single.graph));
    LANISTA_TRY(fs.remove(single.weights));
  }
  const std::string inner = folder + "/members";
  if (!fs.exists(inner)) return {};
  LANISTA_ASSIGN(const auto names, fs.list(inner));
  std::set<std::string> ours;
  for (std::size_t k = 0; members > 1 && k < members; ++k) {
    const MemberFiles files = member_files(folder, k, members);
    ours.insert({files.graph, files.weights});
  }
  for (const std::string& name : names) {
    const std::string file = inner + "/" + name;
    if (ours.contains(file) || !is_member_file_name(name) || fs.kind(file) != FileKind::kFile) continue;
    LANISTA_TRY(fs.remove(file));
  }
  return {};
}

/// Scales of the features that set unseen ones to zero: a value 1 divided by the largest float adds nothing to a sum.
/// Unseen features have the mean 0.
std::vector<double> scale_of_unseen(const ModelMember::Preprocessing& units) {
  std::vector<double> out = units.features.scale;
  out.resize(units.features.scale.size() > 1 ? out.size() : units.missing.size(), units.features.scale.front());
  for (const std::size_t feature : units.unseen) out.at(feature) = std::numeric_limits<float>::max();
  return out;
}

formats::BlendedModel blended(const ModelPackage& package) {
  formats::BlendedModel out{package.blend(), {}};
  for (const ModelMember& member : package.members) {
    const ModelMember::Preprocessing units = package.stored_preprocessing_of(member);
    formats::BlendMember& one = out.members.emplace_back(
        formats::BlendMember{&member.model, member.weights, member.share, units.features.mean, units.features.scale});
    one.missing = units.missing;
    if (!units.unseen.empty()) one.scale = scale_of_unseen(units);
    if (!units.targets) continue;
    one.target_mean = units.targets->mean;
    one.target_scale = units.targets->scale;
  }
  return out;
}

/// Names of an exported model's outputs, if they are several targets or labels.
std::vector<std::string> output_names(const data::DataSpec& data) {
  std::vector<std::string> names = data::target_names(data);
  if (data.classes > 0 || (names.size() == 1 && !data.multilabel)) names.clear();
  return names;
}

std::int64_t schema_of(const ModelPackage& package) {
  const auto own = [](const ModelMember& member) { return member.own_preprocessing.has_value(); };
  if (!package.data.origin.empty() || !package.data.target_origin.empty()) return kOfOrigins;
  if (package.data.positions > 0) return kOfPositions;
  if (std::ranges::any_of(package.members, own)) return kOfFolds;
  if (package.members.size() > 1 || package.data.multilabel || !output_names(package.data).empty()) return kOfSeveral;
  const bool standard = std::ranges::any_of(
      package.members, [&](const ModelMember& member) { return package.preprocessing_of(member).targets.has_value(); });
  return standard ? kOfStandardTargets : kOfOneModel;
}

}  // namespace

namespace {

const char* input_type(const data::DataSpec& data) {
  if (data.vocab > 0) return "int64";
  return data.origin.empty() ? "float32" : "float64";
}

}  // namespace

ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& of_study,
                          const study::TrialView& trial, const study::Recipe& recipe, graph::Graph model,
                          std::vector<Tensor> state, const std::map<std::string, double>& test) {
  const auto own = data::training_spec(of_study, trial.proposal.fold);
  LANISTA_CHECK(own.ok(), "a job was made of the trial, so its fold is there");
  const data::DataSpec& data = *own;
  std::erase_if(state, [](const Tensor& tensor) { return !study::is_weight(tensor); });
  std::sort(state.begin(), state.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  const study::Measurement* result = trial.measurements.empty() ? nullptr : &study::result_of(config, trial);
  json facts{{"study", config.name},
             {"trial", trial.id.value},
             {"task", data.classes > 0  ? "classification"
                      : data.multilabel ? "multilabel"
                                        : "regression"},
             {"input", {{"shape", data.features.dims}, {"dtype", input_type(data)}}},
             {"outputs", data.outputs()},
             {"labels", data.labels},
             {"data", data::spec_json(data)},
             {"recipe", study::recipe_json(recipe)},
             {"sample", space::sample_json(trial.proposal.sample)},
             {"epochs", result != nullptr ? result->epoch : 0},
             {"parameters", trial.parameters},
             {"asked_metrics", config.train.measured.metrics},
             {"metrics",
              {{"training", result != nullptr ? study::fields::metrics_json(result->metrics) : json::object()},
               {"test", study::fields::metrics_json(test)}}},
             {"graph_hash", trial.proposal.graph_hash.hex()}};
  if (trial.proposal.fold) facts["fold"] = *trial.proposal.fold;
  if (const auto schedule = study::schedule_of(trial.measurements); !schedule.empty()) {
    facts["schedule"] = study::replay_schedule(schedule).options.at("settings");
  }
  ModelPackage out{{}, data, recipe.loss, config.train.measured.metrics, std::move(facts)};
  out.members.push_back({std::move(model), std::move(state), recipe.precision});
  return out;
}

ModelPackage blend_packages(std::vector<ModelPackage> packages, std::span<const double> shares,
                            const data::DataSpec& of_study, const std::map<std::string, double>& validation,
                            const std::map<std::string, double>& test) {
  LANISTA_CHECK(!packages.empty() && packages.size() == shares.size(), "every package has a share");
  if (packages.size() == 1) return std::move(packages.front());
  const ModelPackage& first = packages.front();
  ModelPackage out{{}, first.data, first.loss, first.metrics, json::object()};
  for (const char* shared : {"study", "task", "input", "outputs", "labels", "data", "asked_metrics"}) {
    out.facts[shared] = first.facts.at(shared);
  }
  const bool folds = !of_study.folds.empty();
  if (folds) {
    out.data = data::spec_without_fitted_stats(of_study);
    out.data.target_normalization = first.data.target_normalization;  // unit of the blend's loss
    out.facts["data"] = data::spec_json(out.data);
  }
  out.facts["metrics"] = {{"validation", study::fields::metrics_json(validation)},
                          {"test", study::fields::metrics_json(test)}};
  out.facts["members"] = json::array();
  std::int64_t parameters = 0;
  for (std::size_t k = 0; k < packages.size(); ++k) {
    LANISTA_CHECK(packages[k].members.size() == 1, "a blend of blends");
    json own{{"share", shares[k]}, {"training", packages[k].facts.at("metrics").at("training")}};
    for (const char* fact : {"trial", "recipe", "sample", "epochs", "parameters", "graph_hash"}) {
      own[fact] = packages[k].facts.at(fact);
    }
    ModelMember& member = out.members.emplace_back(std::move(packages[k].members.front()));
    member.share = shares[k];
    if (folds) {
      own["fold"] = packages[k].facts.at("fold");
      member.own_preprocessing = packages[k].preprocessing_of(member);
      own["units"] = preprocessing_json(*member.own_preprocessing);
    }
    parameters += own.at("parameters").get<std::int64_t>();
    out.facts["members"].push_back(std::move(own));
  }
  out.facts["parameters"] = parameters;
  return out;
}

std::vector<double> ModelPackage::shares() const {
  std::vector<double> out;
  for (const ModelMember& member : members) out.push_back(member.share);
  return out;
}

ModelMember::Preprocessing ModelPackage::preprocessing_of(const ModelMember& member) const {
  if (member.own_preprocessing) return *member.own_preprocessing;
  return {data.normalization, data.target_normalization, data::missing_numbers(data), data::unseen_features(data)};
}

ModelMember::Preprocessing ModelPackage::stored_preprocessing_of(const ModelMember& member) const {
  ModelMember::Preprocessing out = preprocessing_of(member);
  out.features = data::less_origin(std::move(out.features), data.origin);
  if (out.targets) out.targets = data::less_origin(*std::move(out.targets), data.target_origin);
  for (std::size_t i = 0; i < out.missing.size() && !data.origin.empty(); ++i) {
    out.missing[i] -= data.origin[i * data.origin.size() / out.missing.size()];
  }
  return out;
}

std::vector<Tensor> ModelPackage::tensors() const {
  if (members.size() == 1) return members.front().weights;
  std::vector<Tensor> out;
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (Tensor tensor : members[k].weights) {
      tensor.name = "m" + std::to_string(k + 1) + "." + tensor.name;
      out.push_back(std::move(tensor));
    }
  }
  return out;
}

Result<std::string> package_onnx(const ModelPackage& package) {
  formats::OnnxExport options{.mean = {}, .scale = {}, .graph_name = package.facts.at("study"), .metadata = {}};
  options.metadata["study"] = options.graph_name;
  if (package.members.size() == 1) {
    options.metadata["trial"] = package.facts.at("trial").dump();
  } else {
    json members = json::array();
    for (const json& own : package.facts.at("members")) {
      members.push_back({{"trial", own.at("trial")}, {"share", own.at("share")}});
    }
    options.metadata["members"] = members.dump();
  }
  if (!package.data.labels.empty()) options.metadata["labels"] = json(package.data.labels).dump();
  if (const auto features = data::feature_names(package.data); !features.empty()) {
    options.metadata["features"] = json(features).dump();
  }
  if (const auto names = output_names(package.data); !names.empty()) options.metadata["targets"] = json(names).dump();
  LANISTA_ASSIGN(formats::OnnxModel model, formats::to_onnx(blended(package), options));
  formats::add_origins({package.data.origin, package.data.target_origin}, model);
  return formats::encode_onnx(model);
}

Result<std::string> package_cpp(const ModelPackage& package) {
  const formats::CppExport options{.mean = {},
                                   .scale = {},
                                   .labels = package.data.labels,
                                   .targets = output_names(package.data),
                                   .features = data::feature_names(package.data),
                                   .origin = package.data.origin,
                                   .target_origin = package.data.target_origin};
  return formats::to_cpp(blended(package), options);
}

Result<void> write_package(FileSystem& files, const std::string& folder, const ModelPackage& package) {
  const std::shared_ptr<FileSystem> confined = files.confined_to(folder);
  FileSystem& fs = *confined;
  json facts = package.facts;
  const std::size_t count = package.members.size();
  facts["schema"] = schema_of(package);
  facts["version"] = LANISTA_VERSION;

  LANISTA_TRY(make_durable_folder(fs, count > 1 ? folder + "/members" : folder));
  for (std::size_t k = 0; k < count; ++k) {
    json& own = count > 1 ? facts.at("members").at(k) : facts;
    LANISTA_TRY(write_member(fs, member_files(folder, k, count), package.members[k], own));
  }
  if (const auto onnx = package_onnx(package)) {
    LANISTA_TRY(write_atomically(fs, folder + "/model.onnx", *onnx));
  } else {
    facts["no_onnx"] = onnx.error().message;
    LANISTA_TRY(fs.remove(folder + "/model.onnx"));
  }
  // Written last, so that a package with this file is complete.
  LANISTA_TRY(write_atomically(fs, folder + "/package.json", facts.dump(2) + "\n"));
  return remove_others(fs, folder, count);
}

Result<void> check_package_folder(FileSystem& fs, const std::string& folder) {
  if (fs.kind(folder) == FileKind::kNothing) return {};
  LANISTA_ASSIGN(const auto names, fs.list(folder));
  if (names.empty()) return {};
  const auto facts = read_facts(fs, folder + "/package.json");
  if (facts && facts->contains("version") && (facts->contains("graph_hash") || facts->contains("members"))) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > 3) text += ", …";
  return Error{Code::kAlreadyExists,
               "has " + text + "; a model package needs a new or empty folder, or one that holds a package", folder};
}

Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops) {
  ModelPackage package;
  const std::string facts_path = folder + "/package.json";
  LANISTA_ASSIGN(package.facts, read_facts(fs, facts_path));
  try {
    if (auto taken = take_facts(package.facts, package); !taken) return broken(facts_path, taken.error().message);
    for (std::size_t k = 0; k < package.members.size(); ++k) {
      const MemberFiles files = member_files(folder, k, package.members.size());
      LANISTA_TRY(read_member(fs, files, member_facts(package.facts, k), ops, package.members[k]));
    }
  } catch (const json::exception& error) {
    return broken(facts_path, error.what());
  }
  return package;
}

}  // namespace lanista::engine
