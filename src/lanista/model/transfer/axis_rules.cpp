#include "lanista/model/transfer/axis_rules.h"

#include <map>

namespace lanista::zoo {

const AxisRule* find_axis_rule(const graph::OpDef& def) {
  static const std::map<std::string_view, AxisRule> kRules = [] {
    std::map<std::string_view, AxisRule> out;
    for (const auto& theme : {shape_rules(), pointwise_rules(), layer_rules(), norm_rules(), sequence_rules()}) {
      for (const AxisRule& rule : theme) out.emplace(rule.op, rule);
    }
    return out;
  }();
  const auto it = kRules.find(def.name);
  if (it != kRules.end()) return &it->second;
  const AxisRule* rule = pointwise_rule(def);
  return rule != nullptr ? rule : window_rule(def);
}

}  // namespace lanista::zoo
