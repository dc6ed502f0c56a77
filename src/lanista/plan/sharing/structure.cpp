#include "lanista/plan/sharing/structure.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lanista/model/graph/flat_graph.h"

namespace lanista::sharing {
namespace {

using graph::HashInput;

/// Gives numbers to nodes, which are equal in two members as long as all nodes before them agree.
///
/// A trained node has its position as its number. Values of the prefix are numbered in the order in which they are
/// first read.
class Numbering {
 public:
  /// Gives the next number to a trained node.
  void place(std::size_t node) { trained_.emplace(node, trained_.size()); }
  /// Returns the source of an input: "t<position>.<slot>" for a trained node, else "s<number>".
  std::string source(const OutputRef& wire) {
    if (const auto found = trained_.find(wire.node); found != trained_.end()) {
      return "t" + std::to_string(found->second) + "." + std::to_string(wire.slot);
    }
    return "s" + std::to_string(sources_.emplace(wire, sources_.size()).first->second);
  }

 private:
  std::map<std::size_t, std::size_t> trained_;
  std::map<OutputRef, std::size_t> sources_;
};

/// Returns "WHAT A against B", or an empty text if they are equal.
std::string against(const std::string& what, const std::string& a, const std::string& b) {
  return a == b ? std::string() : what + " " + a + " against " + b;
}

/// Returns the first setting in which the steps differ, or an empty text.
std::string recipe_difference(const StepRecipe& a, const StepRecipe& b) {
  for (std::string text :
       {against("batch size", std::to_string(a.batch_size), std::to_string(b.batch_size)),
        against("loss", a.step.loss, b.step.loss), against("optimizer", a.step.optimizer, b.step.optimizer),
        against("precision", name_of(a.precision), name_of(b.precision))}) {
    if (!text.empty()) return text;
  }
  return "";
}

/// Returns why the trained nodes at one position cannot be lanes of one operator.
std::string node_difference(const LogicalNode& a, const LogicalNode& b) {
  std::string both = node_text(a) + " against " + node_text(b);
  if (a.frozen != b.frozen) return both + ": one is frozen";
  for (std::size_t i = 0; i < std::min(a.work.inputs.size(), b.work.inputs.size()); ++i) {
    const graph::ValueType& left = a.work.inputs[i];
    const graph::ValueType& right = b.work.inputs[i];
    if (left.shape != right.shape) return both + ": inputs " + left.shape.text() + ", " + right.shape.text();
  }
  if (a.work.input_grad != b.work.input_grad) return both + ": only one has a gradient to pass on";
  return both;
}

}  // namespace

Digest step_key(const LogicalGraph& graph, std::size_t member) {
  const StepRecipe& recipe = graph.members[member].recipe;
  HashInput key;
  key.text(recipe.step.loss).text(recipe.step.optimizer);
  key.number(static_cast<std::uint64_t>(recipe.batch_size)).number(static_cast<std::uint64_t>(recipe.precision));
  Numbering numbers;
  for (const std::size_t v : graph.trained_part(member)) {
    const LogicalNode& node = graph.nodes[v];
    key.digest(node.alike).number(node.inputs.size());
    for (const OutputRef& wire : node.inputs) key.text(numbers.source(wire));
    numbers.place(v);
  }
  return key.finish();
}

bool same_ids(const LogicalGraph& graph, std::size_t a, std::size_t b) {
  const auto ids = [&](std::size_t member) {
    std::vector<graph::NodeId> all;
    for (const std::size_t v : graph.trained_part(member)) all.push_back(*graph.nodes[v].owners.front().node);
    return all;
  };
  return ids(a) == ids(b);
}

Difference step_difference(const LogicalGraph& graph, std::size_t a, std::size_t b) {
  if (std::string text = recipe_difference(graph.members[a].recipe, graph.members[b].recipe); !text.empty()) {
    return {0, std::move(text)};
  }
  const std::vector<std::size_t> left = graph.trained_part(a);
  const std::vector<std::size_t> right = graph.trained_part(b);
  Numbering left_numbers;
  Numbering right_numbers;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const LogicalNode& l = graph.nodes[left[i]];
    const LogicalNode& r = graph.nodes[right[i]];
    if (l.alike != r.alike) return {i, node_difference(l, r)};
    bool wired = l.inputs.size() == r.inputs.size();
    for (std::size_t slot = 0; wired && slot < l.inputs.size(); ++slot) {
      wired = left_numbers.source(l.inputs[slot]) == right_numbers.source(r.inputs[slot]);
    }
    if (!wired) return {i, node_text(l) + " against " + node_text(r) + ": they read other nodes"};
    left_numbers.place(left[i]);
    right_numbers.place(right[i]);
  }
  const std::size_t common = std::min(left.size(), right.size());
  if (left.size() > common) return {common, node_text(graph.nodes[left[common]]) + " against nothing"};
  if (right.size() > common) return {common, "nothing against " + node_text(graph.nodes[right[common]])};
  return {common, ""};
}

Difference stream_difference(const LogicalGraph& graph, std::size_t a, std::size_t b) {
  if (graph.stream[a] == graph.stream[b]) return {};
  const StepRecipe& l = graph.members[a].recipe;
  const StepRecipe& r = graph.members[b].recipe;
  for (std::string text :
       {against("data set", l.data.dataset.hex(), r.data.dataset.hex()), against("split", l.data.split, r.data.split),
        against("data seed", std::to_string(l.data.order_seed), std::to_string(r.data.order_seed)),
        against("batch size", std::to_string(l.batch_size), std::to_string(r.batch_size)),
        against("local step", std::to_string(l.local_step), std::to_string(r.local_step)),
        against("precision", name_of(l.precision), name_of(r.precision))}) {
    if (!text.empty()) return {0, std::move(text)};
  }
  const auto text = [](const StepRecipe& recipe, std::size_t i) {
    if (i >= recipe.data.steps.size()) return std::string("nothing");
    return (recipe.data.steps[i].random ? "random " : "") + recipe.data.steps[i].text;
  };
  for (std::size_t i = 0; i < std::max(l.data.steps.size(), r.data.steps.size()); ++i) {
    if (text(l, i) != text(r, i)) return {i + 1, against("data step", text(l, i), text(r, i))};
  }
  return {0, "other data steps"};
}

}  // namespace lanista::sharing
