#include "lanista/model/transfer/axis_rules.h"

#include <map>

namespace lanista::zoo {

AxisRule keeping(std::string_view op, UnitFlow flow, AxisRule::Apply matched, AxisRule::Apply inserted) {
  return {.op = op,
          .flow = flow,
          .matched = matched,
          .inserted = inserted,
          .sign = SignRule::kAsInputs,
          .preserves_zero = true,
          .preserves_mean = true};
}

const AxisRule* find_axis_rule(std::string_view op) {
  static const std::map<std::string_view, AxisRule> kRules = [] {
    std::map<std::string_view, AxisRule> out;
    for (const auto& theme : {shape_rules(), pointwise_rules(), layer_rules(), norm_rules(), sequence_rules()}) {
      for (const AxisRule& rule : theme) out.emplace(rule.op, rule);
    }
    return out;
  }();
  const auto it = kRules.find(op);
  return it == kRules.end() ? nullptr : &it->second;
}

}  // namespace lanista::zoo
