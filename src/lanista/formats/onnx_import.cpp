#include "lanista/formats/onnx_import.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lanista/formats/onnx_rules.h"
#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats {
namespace {

using namespace onnx;

constexpr std::int64_t kFirstOpset = 13, kLastOpset = 17;
constexpr std::size_t kSpareBytes = std::size_t{64} << 20;

Result<void> check_model(const OnnxModel& model) {
  if (model.opset < kFirstOpset || model.opset > kLastOpset) {
    return refused("the model is of opset " + std::to_string(model.opset) + "; read are 13 to 17");
  }
  if (model.inputs.size() != 1 || model.outputs.size() != 1) {
    return refused("the model has " + std::to_string(model.inputs.size()) + " inputs and " +
                   std::to_string(model.outputs.size()) + " outputs; read are models with one of each");
  }
  const OnnxInfo& input = model.inputs.front();
  if (input.type != ElementType::kF32) return refused("the input " + shown(input.name) + " is not of type float");
  if (input.shape.size() < 2 || std::any_of(input.shape.begin() + 1, input.shape.end(), [](auto d) { return d < 1; })) {
    return refused("the input " + shown(input.name) + " has the shape " + graph::Shape{input.shape}.text() +
                   "; read are [N, features...] with all sizes but the batch known");
  }
  return {};
}

/// Numbers that broadcast over a sample: one, one a channel, or one a feature.
std::optional<std::vector<double>> broadcast_values(const Tensor& tensor, const List& features) {
  List shape = tensor.shape;
  while (!shape.empty() && shape.front() == 1) shape.erase(shape.begin());
  List all = features;
  while (!all.empty() && all.front() == 1) all.erase(all.begin());
  const bool channels = features.size() == 3 && shape == List{features[0], 1, 1};
  if (tensor.type != ElementType::kF32 || (!shape.empty() && !channels && shape != all)) return std::nullopt;
  std::vector<double> values;
  for (const float value : elements_of<float>(tensor)) values.push_back(widened(value));
  return values;
}

/// If all that happens to `value` is one `op` with a constant, takes the numbers and goes on to its result.
std::vector<double> take_normalizer(const View& view, std::string_view op, const List& features, std::string& value) {
  const OnnxNode* node = view.only_user(value, op);
  if (node == nullptr || node->inputs.size() != 2 || node->inputs[0] != value) return {};
  const Tensor* constant = view.constant(node->inputs[1]);
  const auto numbers = constant == nullptr ? std::nullopt : broadcast_values(*constant, features);
  if (!numbers || node->outputs.empty() || node->outputs.front().empty()) return {};
  const auto sane = [&](double number) { return std::isfinite(number) && (op != "Div" || number != 0); };
  if (!std::all_of(numbers->begin(), numbers->end(), sane)) return {};
  value = node->outputs.front();
  return *numbers;
}

Result<Plan> plan_node(const Rules& rules, const Site& site) {
  const OnnxNode& node = site.node();
  const auto found = rules.find(node.op);
  if (found == rules.end()) return refused("no operator of ours does this");
  for (const Rule& rule : found->second) {
    LANISTA_ASSIGN(Plan plan, rule(site));
    if (plan.write) return plan;
  }
  return refused("is used in a way that no operator of ours does");
}

std::string place_of(const OnnxNode& node) { return "node " + shown(node.name) + " (" + shown(node.op) + ")"; }

/// Plans for the nodes that the output needs, in the order of the file; others stay empty.
Result<std::vector<Plan>> plan_nodes(const OnnxModel& model, const View& view, const std::string& source) {
  const Rules rules = import_rules();
  std::vector<Plan> plans(model.nodes.size());
  std::set<std::string> needed{model.outputs.front().name};
  for (std::size_t i = model.nodes.size(); i-- > 0;) {
    const OnnxNode& node = model.nodes[i];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == source || !needed.contains(node.outputs[k])) continue;
      if (k > 0) return placed(place_of(node), refused("its output " + std::to_string(k) + " is read"));
      auto plan = plan_node(rules, Site(view, node));
      if (!plan) return placed(place_of(node), plan.error());
      needed.insert(plan->reads.begin(), plan->reads.end());
      plans[i] = *std::move(plan);
    }
  }
  return plans;
}

Result<void> write_nodes(const OnnxModel& model, std::vector<Plan>& plans, const std::string& source,
                         ModelWriter& writer) {
  const List features(model.inputs.front().shape.begin() + 1, model.inputs.front().shape.end());
  std::map<std::string, graph::Port> values;
  LANISTA_ASSIGN(values[source], writer.add("input", {}, {{"shape", features}}));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].write) continue;
    const std::string place = place_of(model.nodes[i]);
    std::vector<graph::Port> reads;
    for (const std::string& name : plans[i].reads) {
      const auto found = values.find(name);
      if (found == values.end()) return placed(place, refused("reads " + shown(name) + ", which is not computed"));
      reads.push_back(found->second);
    }
    const auto written = plans[i].write(writer, reads);
    if (!written) return placed(place, written.error());
    values[model.nodes[i].outputs.front()] = *written;
  }
  const auto result = values.find(model.outputs.front().name);
  if (result == values.end()) return refused("the output is not computed from the input");
  return writer.add("output", {result->second}).ok() ? Result<void>() : broken("the output has no shape");
}

Result<ImportedModel> import_model(const OnnxModel& model) {
  LANISTA_TRY(check_model(model));
  ByteBudget budget{kSpareBytes};
  LANISTA_ASSIGN(const View view, View::make(model, budget));

  ImportedModel imported;
  const OnnxInfo& input = model.inputs.front();
  const List features(input.shape.begin() + 1, input.shape.end());
  std::string source = input.name;
  imported.mean = take_normalizer(view, "Sub", features, source);
  imported.scale = take_normalizer(view, "Div", features, source);

  const graph::OpTable ops = graph::builtin_ops();
  LANISTA_ASSIGN(auto plans, plan_nodes(model, view, source));
  ModelWriter writer(ops, budget);
  LANISTA_TRY(write_nodes(model, plans, source, writer));
  LANISTA_ASSIGN(auto finished, std::move(writer).finish());
  std::tie(imported.graph, imported.weights) = std::move(finished);
  return imported;
}

}  // namespace

Result<ImportedModel> from_onnx(const OnnxModel& model) {
  auto imported = import_model(model);
  if (!imported) return placed("onnx", imported.error());
  return imported;
}

}  // namespace lanista::formats
