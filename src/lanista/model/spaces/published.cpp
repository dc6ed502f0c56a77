#include "lanista/model/spaces/published.h"

#include <algorithm>

#include "lanista/base/edit_distance.h"
#include "lanista/model/spaces/builtin.h"

namespace lanista::mutate {

std::vector<PublishedSpace> published_spaces() {
  return {darts_space(),        enas_macro_space(),  enas_micro_space(),  mnasnet_space(),
          mobilenetv3_space(),  nasbench101_space(), nasbench201_space(), nasnet_space(),
          proxylessnas_space(), spos_space(),        transformer_space(), wide_deep_space()};
}

Result<Options> resolve_space_options(const PublishedSpace& space, const nlohmann::json& given) {
  if (space.presets.empty() || (!given.is_null() && !given.is_object())) return resolve_options(given, space.options);
  OptionSpec preset{"preset", OptionSpec::Kind::kText, "none", {}, {}, {"none"}, "sizes that were published"};
  for (const Preset& known : space.presets) preset.allowed.push_back(known.name);
  std::vector<OptionSpec> all = space.options;
  all.push_back(preset);
  LANISTA_ASSIGN(const Options checked, resolve_options(given, all));

  auto merged = nlohmann::json::object();
  for (const Preset& known : space.presets) {
    if (checked.at("preset") == known.name) merged = known.options;
  }
  if (given.is_object()) merged.update(given);
  merged.erase("preset");
  return resolve_options(merged, space.options);
}

Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const ModelInterface& ends) {
  const auto all = published_spaces();
  const auto space = std::find_if(all.begin(), all.end(), [&](const PublishedSpace& s) { return s.name == name; });
  if (space == all.end()) {
    std::vector<std::string> names;
    for (const PublishedSpace& s : all) names.push_back(s.name);
    const std::string near = nearest_name(name, names);
    std::string known;
    for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
    return Error{Code::kNotFound,
                 "unknown model space '" + std::string(name) + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?") + " (known: " + known + ")",
                 ""};
  }
  LANISTA_ASSIGN(const Options resolved, resolve_space_options(*space, options));
  return space->make(ops, ends, resolved);
}

}  // namespace lanista::mutate
