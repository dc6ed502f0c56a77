#include "lanista/model/spaces/blueprint.h"

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

Block layer(std::string op, Settings attrs, std::string label) {
  return {Layer{std::move(op), std::move(attrs), std::move(label)}};
}
Block choice(std::string label, std::vector<Option> options) {
  return {LayerChoice{std::move(label), std::move(options)}};
}
Block inputs(std::string label, std::vector<std::string> from, std::int64_t choose, Join join) {
  return {InputChoice{std::move(label), std::move(from), choose, choose, join}};
}
Block repeat(std::string label, space::Domain depth, Chain layers) {
  return {Repeat{std::move(label), std::move(depth), std::move(layers)}};
}
Block repeat(std::int64_t times, Chain layers, std::string index) {
  return {Repeat{"", space::IntRange{times, times}, std::move(layers), false, std::move(index)}};
}
Block parallel(std::vector<Chain> branches, Join join) { return {Parallel{std::move(branches), join}}; }
Block when(std::string condition, Chain then, Chain otherwise) {
  return {When{{std::move(condition)}, std::move(then), std::move(otherwise)}};
}
Block group(Chain layers) { return {Group{std::move(layers)}}; }
Block named(std::string name, Block block) {
  block.name = std::move(name);
  return block;
}
Block from(std::vector<std::string> names, Block block) {
  block.from = std::move(names);
  return block;
}
Block alias(std::string name, std::string of) { return named(std::move(name), from({std::move(of)}, group({}))); }
Formula formula(std::string text) { return {std::move(text)}; }
ValueChoice pick(std::string label, std::vector<space::Value> values) {
  return {std::move(label), space::Categorical{std::move(values)}};
}
ValueChoice pick(std::string label, space::Domain domain) { return {std::move(label), std::move(domain)}; }

ModelInterface model_interface(const graph::Shape& input, std::int64_t outputs, std::int64_t vocab,
                               std::int64_t positions) {
  std::vector<std::int64_t> shape = input.dims;
  if (input.has_batch()) shape.erase(shape.begin());
  ModelInterface out{{{"shape", std::move(shape)}}, outputs, vocab, positions};
  if (vocab > 0) out.input.set("dtype", std::string("index"));
  return out;
}

Result<Blueprint> Blueprint::make(const graph::OpTable& ops, Chain layers, std::vector<ValueChoice> choices) {
  auto plan = std::make_shared<Plan>();
  plan->layers = std::move(layers);
  plan->choices = std::move(choices);
  Labels labels;
  for (const ValueChoice& choice : plan->choices) {
    const std::string place = "choices." + choice.label;
    if (const auto good = space::check_domain(choice.domain); !good) {
      return Error{Code::kInvalidArgument, good.error().message, place};
    }
    if (!labels.emplace(choice.label, std::pair(choice.domain, place)).second) {
      return Error{Code::kInvalidArgument, "declared twice", place};
    }
  }
  LANISTA_TRY(collect_labels(plan->layers, "layers", labels));
  LANISTA_ASSIGN(plan->root, plan_chain(ops, plan->layers, {{&labels}, {}, {}}, "layers"));
  if (const auto why = size_limit_error(plan->root.min_extent)) return Error{Code::kInvalidArgument, *why, "layers"};
  LANISTA_ASSIGN(plan->parameters, collect_parameters(plan->root, labels, plan->choices));
  plan->end = plan->root.ids + 2;  // one for the input, one for the output
  if (plan->end > graph::kMaxNodeId) {
    return Error{Code::kInvalidArgument, "the space needs more node numbers than there are", "layers"};
  }
  return Blueprint(std::move(plan));
}

const std::vector<space::Parameter>& Blueprint::parameters() const { return plan_->parameters; }

graph::NodeId Blueprint::end() const { return {static_cast<std::uint32_t>(plan_->end)}; }
const Chain& Blueprint::layers() const { return plan_->layers; }
const std::vector<ValueChoice>& Blueprint::choices() const { return plan_->choices; }

}  // namespace lanista::mutate
