// Family "input": a node reads another, earlier value, or one more.
#include <algorithm>

#include "lanista/graph/infer.h"
#include "lanista/mutate/builtin.h"
#include "lanista/mutate/edits.h"
#include "lanista/mutate/fit.h"
#include "lanista/mutate/pattern_option.h"

namespace lanista::mutate {

using graph::Node;
using graph::NodeId;
using graph::Port;

namespace {

/// An edge and the values that may come in over it.
struct Offer {
  graph::Use edge;
  std::vector<NodeId> from;
};

class Input final : public Mutator {
 public:
  Input(PatternOption match, PatternOption from, bool adds)
      : match_(std::move(match)), from_(std::move(from)), adds_(adds) {}

  std::string_view name() const override { return "input"; }

  Result<graph::Edited> apply(const graph::Graph& base, const graph::OpTable& ops, const RepairPolicy& repair,
                              space::Chooser& choose) const override {
    LANISTA_ASSIGN(const View view, View::make(base, ops));
    const Digest before = graph::canonical_hash(base, ops);
    std::vector<Offer> offers;
    SiteLog log;
    for (const Match& match : match_.pattern.find(view)) {
      const Node& node = base.node(match.nodes.front());
      if (node.op == "output") continue;
      std::string why = "no other value comes before it";
      // A further input of a join comes in behind the others.
      const std::size_t first = adds_ && is_variadic(view, node) ? node.inputs.size() - 1 : 0;
      const std::size_t offers_before = offers.size();
      for (std::size_t slot = first; slot < node.inputs.size(); ++slot) {
        Offer offer{{node.id, static_cast<std::uint32_t>(slot)}, {}};
        for (const NodeId from : earlier_than(view, node)) {
          auto made = rewired(view, offer.edge, from, repair);
          if (!made) {
            why = made.error().message;
          } else if (graph::canonical_hash(made->graph, ops) == before) {
            why = "a projection would only take the place of an equal layer";
          } else {
            offer.from.push_back(from);
          }
        }
        if (!offer.from.empty()) offers.push_back(std::move(offer));
      }
      if (offers.size() == offers_before && !node.inputs.empty()) log.reject(node, why);
    }
    if (offers.empty()) return log.error(name(), match_.what("node"));
    const Offer& offer = choose.one_of("site", offers);
    return rewired(view, offer.edge, choose.one_of("from", offer.from), repair);
  }

 private:
  static bool is_variadic(const View& view, const Node& node) { return view.ops().find(node.op)->max_inputs < 0; }

  /// Values before the node in dependency order that it does not read yet and that `from` means.
  std::vector<NodeId> earlier_than(const View& view, const Node& node) const {
    std::vector<NodeId> values;
    for (const NodeId id : view.graph().topo()) {
      if (id == node.id) break;
      const Node& value = view.graph().node(id);
      const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](Port p) { return p.node == id || unrepaired(view.graph(), p) == id; });
      if (!reads && !is_repair(value) && from_.pattern.matches(view, value)) values.push_back(id);
    }
    return values;
  }

  Result<graph::Edited> rewired(const View& view, graph::Use edge, NodeId from, const RepairPolicy& repair) const {
    const Node& node = view.graph().node(edge.node);
    const Port old = node.inputs[edge.slot];
    graph::Editor editor(view.graph(), view.ops());
    if (adds_ && is_variadic(view, node)) {
      editor.set_input(edge.node, static_cast<std::uint32_t>(node.inputs.size()), {from, 0});
      return settle(std::move(editor), view, repair);
    }
    LANISTA_ASSIGN(const auto plan, fit_plan(view.type(from), view.type(old.node), repair));
    const Port fitted = emit_plan(editor, {from, 0}, plan);
    if (adds_) {
      editor.set_input(edge.node, edge.slot, {editor.add("add", {old, fitted}, {}, std::string(kSkipLabel)), 0});
    } else {
      rewire(editor, edge, fitted);
    }
    return settle(std::move(editor), view, repair);
  }

  PatternOption match_;
  PatternOption from_;
  bool adds_;
};

}  // namespace

MutatorPlugin input_plugin() {
  using Kind = OptionSpec::Kind;
  return {"input",
          "lets a node read another, earlier value instead of one of its own, or one more",
          {{"match", Kind::kText, "", {}, {}, {}, "which nodes, e.g. \"add & label(cell*)\"; empty: all"},
           {"from", Kind::kText, "", {}, {}, {}, "which earlier values, e.g. \"relu\"; empty: all"},
           {"mode",
            Kind::kText,
            "rewire",
            {},
            {},
            {"rewire", "add"},
            "rewire: instead of an input; add: a further input of a join, for others a sum with what is read"}},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", 1));
            LANISTA_ASSIGN(auto from, PatternOption::read(options, "from", 1));
            const bool adds = options.at("mode") == "add";
            return std::unique_ptr<Mutator>(std::make_unique<Input>(std::move(match), std::move(from), adds));
          }};
}

}  // namespace lanista::mutate
