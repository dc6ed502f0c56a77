// Adds a layer of the same width after a hidden layer: a new one, or a copy.
#include <algorithm>

#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/shape_repair.h"

namespace lanista::mutate {

namespace {

/// A layer with the normalisation, dropout and activation that only it feeds.
struct LayerBlock {
  std::vector<graph::NodeId> nodes;  ///< the layer first
  std::string activation = "relu";   ///< activation of a new layer after it
};

LayerBlock block_of(const graph::Graph& model, const graph::OpTable& ops, graph::NodeId layer) {
  LayerBlock block{{layer}, "relu"};
  std::vector<graph::NodeId> chain{layer};
  while (true) {
    const auto uses = model.consumers(chain.back());
    if (uses.size() != 1) break;
    const graph::Node& next = model.node(uses.front().node);
    if (is_activation(ops, next.op)) {
      chain.push_back(next.id);
      block.nodes = chain;
      if (next.op != "identity") block.activation = next.op;
      break;
    }
    if (is_norm(ops, next.op)) {
      chain.push_back(next.id);
      block.nodes = chain;
    } else if (next.op == "dropout") {
      chain.push_back(next.id);  // part of the block only if an activation follows
    } else {
      break;
    }
  }
  return block;
}

/// A block with its possible changes.
struct DeepenSite {
  LayerBlock block;
  std::vector<std::string> kinds;
};

class Deepen final : public ViewMutator {
 public:
  explicit Deepen(std::string op) : ViewMutator("deepen"), op_(std::move(op)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::OpTable& ops = view.ops();
    std::vector<DeepenSite> offers;
    SiteLog log;
    for (const auto& node : view.graph().nodes()) {
      if (!is_layer(ops, node->op) || is_repair(*node)) continue;
      if (is_head(view.graph(), view.ops(), node->id)) {
        log.reject(*node, "gives the output");
        continue;
      }
      DeepenSite offer{block_of(view.graph(), view.ops(), node->id), {}};
      if (new_layer(view, offer.block)) offer.kinds.emplace_back("insert");
      if (can_duplicate(view, offer.block)) offer.kinds.emplace_back("duplicate");
      if (offer.kinds.empty()) {
        log.reject(*node, "a copy would change the shape " + view.type(node->id).shape.text() +
                              (op_.empty() ? "" : ", and " + op_ + " does not fit it"));
      } else {
        offers.push_back(std::move(offer));
      }
    }
    if (offers.empty()) return log.error(name(), "linear or convolutional layer");

    const DeepenSite& offer = choose.one_of("site", offers);
    graph::Editor editor(view.graph(), view.ops());
    if (choose.one_of("kind", offer.kinds) == "insert") {
      insert(editor, offer.block, *new_layer(view, offer.block));
    } else {
      duplicate(editor, offer.block);
    }
    return finish_mutation(std::move(editor), view, repair);
  }

 private:
  /// Returns the layer to insert after the block, if one keeps the shape.
  std::optional<Replacement> new_layer(const ModelView& view, const LayerBlock& block) const {
    const graph::ValueType& type = view.type(block.nodes.back());
    if (type.shape.rank() == 4) return same_conv(view.ops(), type, op_.empty() ? "conv3x3" : op_);
    if (!op_.empty() && op_ != "linear") return std::nullopt;
    return Replacement{"linear", {{"out", type.shape.dims.back()}}};
  }

  static bool can_duplicate(const ModelView& view, const LayerBlock& block) {
    const graph::ValueType& end = view.type(block.nodes.back());
    graph::ValueType type = end;
    for (const graph::NodeId id : block.nodes) {
      const graph::Node& node = view.graph().node(id);
      const auto next = result_type(view.ops(), node.op, node.attrs, {&type, 1});
      if (!next) return false;
      type = *next;
    }
    return type == end;
  }

  static void insert(graph::Editor& editor, const LayerBlock& block, Replacement layer) {
    const auto added = editor.insert_after({block.nodes.back(), 0}, std::move(layer.op), std::move(layer.attrs));
    editor.insert_after({added, 0}, block.activation);
  }

  static void duplicate(graph::Editor& editor, const LayerBlock& block) {
    graph::Port end{block.nodes.back(), 0};
    for (const graph::NodeId id : block.nodes) {
      const graph::Node node = editor.graph().node(id);
      end = {editor.insert_after(end, node.op, node.attrs, node.label), 0};
    }
  }

  std::string op_;
};

}  // namespace

MutatorPlugin deepen_plugin() {
  std::vector<std::string> allowed = {"", "linear"};
  for (std::string& word : conv_words()) allowed.push_back(std::move(word));
  return {"deepen",
          "adds a layer of the same width with its activation behind a hidden layer: a new one or a copy",
          {text_option("op", "", "the new layer; empty: linear or conv3x3, as it fits", allowed)},
          [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
            return std::unique_ptr<Mutator>(std::make_unique<Deepen>(options.at("op").get<std::string>()));
          }};
}

}  // namespace lanista::mutate
