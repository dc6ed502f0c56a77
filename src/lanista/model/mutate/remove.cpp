// Removes an operation: its users read its input.
#include <algorithm>

#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

namespace {

bool is_candidate(const graph::OpTable& ops, const graph::Node& node) {
  if (is_repair(node)) return false;
  if (node.op == "add") return node.label == kSkipLabel;
  return is_layer(ops, node.op) || is_norm(ops, node.op) || is_activation(ops, node.op) || is_pool(ops, node.op) ||
         node.op == "dropout";
}

class Remove final : public ViewMutator {
 public:
  Remove() : ViewMutator("remove") {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::Graph& base = view.graph();
    const graph::OpTable& ops = view.ops();
    const auto num_layers = std::count_if(base.nodes().begin(), base.nodes().end(), [&](const auto& node) {
      return is_layer(ops, node->op) && !is_repair(*node);
    });
    std::vector<graph::NodeId> sites;
    SiteLog log;
    for (const auto& node : base.nodes()) {
      if (!is_candidate(ops, *node)) continue;
      if (const std::string why = why_not(view, *node, num_layers, repair); why.empty()) {
        sites.push_back(node->id);
      } else {
        log.reject(*node, why);
      }
    }
    if (sites.empty()) return log.error(name(), "operation that could be left out");

    const graph::NodeId site = choose.one_of("site", sites);
    return finish_mutation(without(view, site), view, repair);
  }

 private:
  static graph::Editor without(const ModelView& view, graph::NodeId site) {
    graph::Editor editor(view.graph(), view.ops());
    editor.bypass(site);
    return editor;
  }

  /// Returns an empty text if the node can be removed, otherwise the reason.
  static std::string why_not(const ModelView& view, const graph::Node& node, std::ptrdiff_t num_layers,
                             const RepairPolicy& repair) {
    const graph::ValueType before = view.inputs(node).front();
    const graph::ValueType& after = view.type(node.id);
    if (is_layer(view.ops(), node.op) && num_layers == 1) return "is the only layer";
    if (before == after) return {};
    const std::string change = "turns " + before.shape.text() + " into " + after.shape.text();
    if (!is_pool(view.ops(), node.op)) return change;
    // Without a pool, images are larger from here on, so the rest of the model must be tried.
    const auto tried = finish_mutation(without(view, node.id), view, repair);
    return tried ? std::string() : change + "; without it: " + tried.error().message;
  }
};

}  // namespace

MutatorPlugin remove_plugin() {
  return {"remove",
          "takes out an activation, a layer that keeps the shape, a normalisation, a dropout, a pool, or a skip",
          {},
          [](const Options&) -> Result<std::unique_ptr<Mutator>> {
            return std::unique_ptr<Mutator>(std::make_unique<Remove>());
          }};
}

}  // namespace lanista::mutate
