#include "lanista/engine/core/zoo_task.h"

#include "lanista/base/digest.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {

zoo::TaskKey task_key(const data::DataSpec& data) {
  zoo::TaskKey out;
  out.targets = data.multilabel ? "labels" : data.classes > 0 ? "classes" : "numbers";
  if (data.positions > 0) out.targets += " at " + std::to_string(data.positions) + " positions";
  out.outputs = data.width();
  if (!data.labels.empty()) {
    Hasher hasher;
    for (const std::string& label : data.labels) hasher.text(label);
    out.labels = hasher.finish().hex().substr(0, 8);
  }
  out.input = data.features.text();
  if (data.vocab > 0) out.input += " tokens below " + std::to_string(data.vocab);
  out.data = data.hash.hex();
  return out;
}

std::optional<ZooQuality> zoo_quality(const ModelPackage& package) {
  using nlohmann::json;
  const json all = package.facts.value(json::json_pointer("/metrics/training"), json::object());
  const auto value = [&](const std::string& name) -> std::optional<double> {
    const auto found = all.find("val_" + name);
    return found != all.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
  };
  for (const std::string& name : package.metrics) {
    const auto metric = study::find_metric(name);
    const auto measured = value(name);
    if (!metric || !measured) continue;
    ZooQuality out{metric->metric.maximize ? *measured : -*measured, (metric->metric.maximize ? "" : "-") + name};
    if (name == "accuracy" && package.data.classes > 0) out.chance = 1.0 / static_cast<double>(package.data.classes);
    return out;
  }
  if (const auto loss = value("loss")) return ZooQuality{-*loss, "-loss"};
  return std::nullopt;
}

nlohmann::json zoo_facts(const ModelPackage& package) {
  using nlohmann::json;
  json out = json::object();
  for (const char* name : {"study", "trial", "epochs", "recipe"}) out[name] = package.facts.value(name, json());
  return out;
}

}  // namespace lanista::engine
