#include "lanista/io/studyfile/model_reader.h"

#include <algorithm>

#include "lanista/io/studyfile/blueprint.h"

namespace lanista::studyfile {

void read_model_space(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull()) return;
  if (node.IsScalar()) {
    // A file is read when the study's folder is known (embed_model_space); a published space is made when the data are.
    config.model.space = node.Scalar();
    if (!node.Scalar().starts_with("builtin:")) return;
    if (const auto named = check_named_space(node.Scalar()); !named) {
      mistakes.add(node, path, named.error().message);
    }
    return;
  }
  config.model.space = mistakes.to_json(node);
  const auto read = read_blueprint(graph::builtin_ops(), config.model.space, config.data.rules);
  if (read) return;
  const std::string& where = read.error().where;
  mistakes.add(find_node_at(node, where), path + (where.empty() ? "" : "." + where), read.error().message);
}

void read_frozen(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
  if (!node.IsMap()) {
    return mistakes.add(node, path, "a mapping {through: NODE, weights: FILE or base} is wanted here");
  }
  const std::vector<std::string> known{"through", "weights"};
  study::FrozenConfig frozen;
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    if (std::ranges::find(known, key) == known.end()) {
      mistakes.unknown(item.first, path + "." + key, key, known);
      continue;
    }
    if (!item.second.IsScalar() || item.second.Scalar().empty()) {
      mistakes.add(item.second, path + "." + key, "a text is wanted here");
      continue;
    }
    (key == "through" ? frozen.through : frozen.weights) = item.second.Scalar();
  }
  for (const std::string& key : known) {
    if (!find_key(node, key)) {
      mistakes.add(node, path + "." + key,
                   key == "through" ? "is missing: the last node that is not trained, by its label or as \"%4\""
                                    : "is missing: a safetensors file, or base for the weights of the base model");
    }
  }
  config.model.frozen = std::move(frozen);
}

void check_frozen(const YAML::Node& model, const study::StudyConfig& config, Mistakes& mistakes) {
  if (!config.model.frozen) return;
  const YAML::Node node = find_key(model, "frozen");
  if (!config.model.space.is_null()) {
    mistakes.add(node, "model.frozen", "is for a base model; a space of models has no part that all of them share");
  } else if (config.model.base.size() != 1 || config.model.base.front() == "builtin:auto") {
    mistakes.add(node, "model.frozen", "needs one base model, named by model.base");
  }
  if (config.train.numerics.precision != "float32") {
    mistakes.add(node, "model.frozen", "is computed in float32; train.precision is " + config.train.numerics.precision);
  }
}

}  // namespace lanista::studyfile
