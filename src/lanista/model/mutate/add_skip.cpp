// Adds a residual connection: users of b read add(b, a'), where a' is an earlier value after shape repair.
#include <algorithm>

#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

namespace {

bool is_skip(const graph::Node& node) { return node.op == "add" && node.label == kSkipLabel; }

/// A site for a skip: the value that gets an addend, and the possible addends.
struct SkipSite {
  graph::NodeId to;
  std::vector<graph::NodeId> from;
};

class AddSkip final : public ViewMutator {
 public:
  explicit AddSkip(std::int64_t max) : ViewMutator("add_skip"), max_(max) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::Graph& base = view.graph();
    const auto num_skips =
        std::count_if(base.nodes().begin(), base.nodes().end(), [](const auto& node) { return is_skip(*node); });
    if (num_skips >= max_) {
      return not_applicable("add_skip: the model already has " + std::to_string(num_skips) + " skips, max is " +
                            std::to_string(max_));
    }
    LANISTA_ASSIGN(const auto offers, all_skip_sites(view, repair));

    const SkipSite& offer = choose.one_of("to", offers);
    const graph::NodeId from = choose.one_of("from", offer.from);
    LANISTA_ASSIGN(const auto plan, plan_shape_repair(view.type(from), view.type(offer.to), repair));
    graph::Editor editor(view.graph(), view.ops());
    const graph::Port to{offer.to, 0};
    const graph::Port fitted = emit_shape_repair(editor, {from, 0}, plan);
    const auto join = editor.add("add", {to, fitted}, {}, std::string(kSkipLabel));
    editor.replace_uses(to, {join, 0});
    return finish_mutation(std::move(editor), view, repair);
  }

 private:
  Result<std::vector<SkipSite>> all_skip_sites(const ModelView& view, const RepairPolicy& repair) const {
    std::vector<graph::NodeId> earlier;
    std::vector<SkipSite> offers;
    SiteLog log;
    for (const graph::NodeId id : view.graph().topo()) {
      const graph::Node& node = view.graph().node(id);
      if (is_repair(node) || node.is_output()) continue;
      if (!node.is_input()) {
        SkipSite offer{id, {}};
        std::string why = "no earlier value";
        const auto joins = skips_at(view.graph(), id);
        for (const graph::NodeId from : earlier) {
          if (joined_already(view.graph(), joins, from, id)) continue;
          const auto plan = plan_shape_repair(view.type(from), view.type(id), repair);
          if (plan) {
            offer.from.push_back(from);
          } else {
            why = plan.error().message;
          }
        }
        if (offer.from.empty()) {
          log.reject(node, why);
        } else {
          offers.push_back(std::move(offer));
        }
      }
      earlier.push_back(id);
    }
    if (offers.empty()) return log.error(name(), "two values to join");
    return offers;
  }

  /// Returns the skips that are `to` or read it.
  static std::vector<graph::NodeId> skips_at(const graph::Graph& model, graph::NodeId to) {
    std::vector<graph::NodeId> skips;
    if (is_skip(model.node(to))) skips.push_back(to);
    for (const graph::Use& use : model.consumers(to)) {
      if (is_skip(model.node(use.node))) skips.push_back(use.node);
    }
    return skips;
  }

  /// Whether one of the skips adds `from` to another value.
  static bool joined_already(const graph::Graph& model, const std::vector<graph::NodeId>& skips, graph::NodeId from,
                             graph::NodeId to) {
    return std::any_of(skips.begin(), skips.end(), [&](graph::NodeId skip) {
      const auto& inputs = model.node(skip).inputs;
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](graph::Port port) { return port.node != to && unrepaired(model, port) == from; });
    });
  }

  std::int64_t max_;
};

}  // namespace

MutatorPlugin add_skip_plugin() {
  return {"add_skip",
          "adds an earlier value to a later one (a residual connection), projected and pooled where shapes differ",
          {{"max", OptionSpec::Kind::kInt, 2, 0, 1000, {}, "skips that a model may have"}},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            return std::unique_ptr<Mutator>(std::make_unique<AddSkip>(options.at("max").get<std::int64_t>()));
          }};
}

}  // namespace lanista::mutate
