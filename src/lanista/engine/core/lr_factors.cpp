#include "lanista/engine/core/lr_factors.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include "lanista/engine/core/frozen_part.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::engine {
namespace {

using Nodes = std::set<graph::NodeId>;

Error refused(const std::string& part, const std::string& message) {
  return {Code::kInvalidArgument, message, std::string(study::kRatesKey) + "." + part};
}

bool contains_all(const Nodes& all, const Nodes& some) { return std::ranges::includes(all, some); }

/// Nodes with weights and no other such node between them and the output. An unknown operator counts as one with
/// weights.
Nodes head_nodes(const graph::Graph& model) {
  const graph::OpTable ops = graph::builtin_ops();
  Nodes out, seen;
  std::vector<graph::NodeId> open = model.nodes_of("output");
  while (!open.empty()) {
    const graph::Node& node = model.node(open.back());
    open.pop_back();
    if (!seen.insert(node.id).second) continue;
    const graph::OpDef* def = ops.find(node.op);
    if (def == nullptr || def->params) {
      out.insert(node.id);
      continue;
    }
    for (const graph::Port& port : node.inputs) open.push_back(port.node);
  }
  return out;
}

/// The nodes of a part. Errors: kInvalidArgument, without a key.
Result<Nodes> nodes_of(const std::string& part, const graph::Graph& model) {
  if (part != study::kBasePart && part != study::kHeadPart) return frozen_nodes(part, model);
  Nodes head = head_nodes(model);
  if (part == study::kHeadPart) return head;
  Nodes out;
  for (const auto& node : model.nodes()) {
    if (!head.contains(node->id)) out.insert(node->id);
  }
  return out;
}

struct RatePart {
  std::string name;
  double factor = 1;
  Nodes nodes;
};

}  // namespace

std::map<graph::NodeId, double> lr_factors_of(const study::TrainConfig& train, const graph::Graph& model) {
  std::vector<RatePart> parts;
  for (const auto& [name, factor] : train.rates) {
    if (auto nodes = nodes_of(name, model)) parts.push_back({name, factor, *std::move(nodes)});
  }
  std::ranges::stable_sort(parts, std::greater(), [](const RatePart& part) { return part.nodes.size(); });
  std::map<graph::NodeId, double> out;
  for (const RatePart& part : parts) {
    for (const graph::NodeId id : part.nodes) out[id] = part.factor;
  }
  return out;
}

Result<Nodes> check_rates(const study::TrainConfig& train, const graph::Graph& base, const Nodes& frozen,
                          const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto params, graph::parameters(base, ops));
  Nodes named;
  std::vector<RatePart> parts;
  for (const auto& [name, factor] : train.rates) {
    if (auto fits = study::check_rate(factor); !fits) return refused(name, fits.error().message);
    auto nodes = nodes_of(name, base);
    if (!nodes) return refused(name, nodes.error().message);
    const bool trains = std::ranges::any_of(params, [&](const graph::NamedParam& param) {
      return param.spec.trained && nodes->contains(param.node) && !frozen.contains(param.node);
    });
    if (!trains) {
      return refused(name, std::string("holds nothing that is trained") +
                               (frozen.empty() ? "" : "; model.frozen names the frozen nodes"));
    }
    for (const RatePart& other : parts) {
      Nodes both;
      std::ranges::set_intersection(*nodes, other.nodes, std::inserter(both, both.end()));
      const bool same = *nodes == other.nodes;
      if (both.empty() || (!same && (contains_all(*nodes, other.nodes) || contains_all(other.nodes, *nodes)))) continue;
      return refused(name, same ? "is the same part as " + other.name
                                : "shares " + graph::port_text({*both.begin(), 0}) + " with " + other.name +
                                      ", and neither part contains the other, so the factor is ambiguous");
    }
    if (name != study::kBasePart && name != study::kHeadPart) {
      LANISTA_ASSIGN(const graph::NodeId id, find_node(name, base));
      named.insert(id);
    }
    parts.push_back({name, factor, *std::move(nodes)});
  }
  return named;
}

}  // namespace lanista::engine
