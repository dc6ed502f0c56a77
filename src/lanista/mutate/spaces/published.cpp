#include "lanista/mutate/spaces/published.h"

#include <algorithm>

#include "lanista/base/text_distance.h"
#include "lanista/mutate/spaces/builtin.h"

namespace lanista::mutate {

std::vector<PublishedSpace> published_spaces() {
  return {darts_space(),        enas_macro_space(),  enas_micro_space(),  mnasnet_space(),
          mobilenetv3_space(),  nasbench101_space(), nasbench201_space(), nasnet_space(),
          proxylessnas_space(), spos_space(),        transformer_space(), wide_deep_space()};
}

Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const Ends& ends) {
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
  LANISTA_ASSIGN(const Options resolved, resolve_options(options, space->options));
  return space->make(ops, ends, resolved);
}

}  // namespace lanista::mutate
