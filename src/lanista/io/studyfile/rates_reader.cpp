#include "lanista/io/studyfile/rates_reader.h"

namespace lanista::studyfile {

void read_rates(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
  if (!node.IsMap() || node.size() == 0) {
    return mistakes.add(node, path, "a mapping such as {base: 0.1} is wanted here: parts of the model, and factors");
  }
  for (const auto& item : node) {
    const std::string part = item.first.IsScalar() ? item.first.Scalar() : "";
    const std::string place = path + "." + part;
    const nlohmann::json factor = mistakes.to_json(item.second);
    if (part.empty()) {
      mistakes.add(item.first, path, "a part is wanted here: base, head, or a node by its label or as \"%4\"");
    } else if (!factor.is_number()) {
      mistakes.add(item.second, place, "a factor of the learning rate is wanted here, a number above 0");
    } else if (const auto fits = study::check_rate(factor.get<double>()); !fits) {
      mistakes.add(item.second, place, fits.error().message);
    } else {
      config.train.rates[part] = factor.get<double>();
    }
  }
}

void check_rates(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes) {
  const bool one =
      config.model.space.is_null() && config.model.base.size() == 1 && config.model.base.front() != "builtin:auto";
  for (const auto& [part, factor] : config.train.rates) {
    if (one || part == study::kBasePart || part == study::kHeadPart) continue;
    const std::string path = std::string(study::kRatesKey) + "." + part;
    const YAML::Node rates = find_node_at(root, std::string(study::kRatesKey));
    const YAML::Node found = find_key(rates, part);
    mistakes.add(found ? found : rates, path,
                 "names a node, which needs one base model, named by model.base; base and head are parts of every "
                 "model");
  }
}

}  // namespace lanista::studyfile
