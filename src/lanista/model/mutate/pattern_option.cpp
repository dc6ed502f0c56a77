#include "lanista/model/mutate/pattern_option.h"

namespace lanista::mutate {

Result<PatternOption> PatternOption::read(const Options& options, const std::string& name, std::size_t max_steps) {
  PatternOption option{options.at(name).get<std::string>(), {}};
  auto pattern = Pattern::parse(option.text, graph::builtin_ops());
  if (!pattern) return Error{pattern.error().code, pattern.error().message, name};
  if (pattern->steps().size() > max_steps) {
    return Error{Code::kInvalidArgument,
                 "the pattern \"" + option.text + "\" is a chain of " + std::to_string(pattern->steps().size()) +
                     ", at most " + std::to_string(max_steps) + " are allowed",
                 name};
  }
  option.pattern = *std::move(pattern);
  return option;
}

std::string PatternOption::what(const std::string& noun) const {
  return noun + (text.empty() ? " for it" : " that matches the pattern \"" + text + "\"");
}

std::vector<std::string> PatternOption::names() const {
  std::vector<std::string> names;
  for (const auto& step : pattern.steps()) {
    if (!step.node.name().empty()) names.push_back(step.node.name());
  }
  return names;
}

Result<Chains> read_chains(const Options& options, const std::string& name, const std::vector<std::string>& captures) {
  Chains chains;
  for (const std::string& text : options.at(name).get<std::vector<std::string>>()) {
    auto chain = LayerText::parse_chain(text, captures);
    if (!chain) return Error{chain.error().code, chain.error().message, name};
    chains.push_back(*std::move(chain));
  }
  if (chains.empty()) return Error{Code::kInvalidArgument, "at least one layer is needed", name};
  return chains;
}

Result<std::vector<Replacement>> layers_on(const ModelView& view, graph::ValueType input,
                                           const std::vector<LayerText>& chain, const Match* match) {
  std::vector<Replacement> layers;
  for (const LayerText& text : chain) {
    LANISTA_ASSIGN(auto layer, text.on(view, input, match));
    LANISTA_ASSIGN(input, result_type(view.ops(), layer.op, layer.attrs, {&input, 1}));
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string chain_conflict(const ModelView& view, const Match& match) {
  for (const graph::NodeId id : match.nodes) {
    const graph::Node& node = view.graph().node(id);
    if (node.is_input() || node.is_output()) return "is no operation";
    if (node.inputs.size() != 1) return site_name(node) + " reads " + std::to_string(node.inputs.size()) + " values";
  }
  return {};
}

}  // namespace lanista::mutate
