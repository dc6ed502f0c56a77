#include "bench/node_match.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/flat_graph.h"

namespace lanista::bench {

using graph::Edge;
using graph::FlatGraph;
using graph::Graph;
using graph::kNoNode;
using graph::NodeId;
using graph::NodePair;
using graph::OpTable;

namespace {

/// Walks upstream from each candidate and decides inputs before their users.
class Lineage {
 public:
  Lineage(const Graph& a, const Graph& b, const OpTable& ops) : a_(a), b_(b), ops_(ops), states_(a.size()) {}

  std::vector<NodeId> run() {
    compare();
    std::vector<NodeId> shared;
    for (std::size_t place = 0; place < states_.size(); ++place) {
      if (states_[place] == State::kOpen) decide(place);
      if (states_[place] == State::kShared) shared.push_back(a_.nodes()[place]->id);
    }
    return shared;
  }

 private:
  enum class State : std::uint8_t { kDiffers, kOpen, kWaiting, kShared };

  /// Both lists are sorted by id. Equal nodes are open until their inputs are decided.
  void compare() {
    const auto others = b_.nodes();
    std::size_t at = 0;
    for (std::size_t place = 0; place < states_.size(); ++place) {
      const auto& node = a_.nodes()[place];
      while (at < others.size() && others[at]->id < node->id) ++at;
      if (at == others.size()) return;
      const auto& other = others[at];
      if (other->id != node->id) continue;
      // Unedited nodes are the same object in both models.
      if (other == node || (other->inputs == node->inputs && same_operation(*node, *other, ops_))) {
        states_[place] = State::kOpen;
      }
    }
  }

  /// Decides the node and all open nodes before it.
  void decide(std::size_t place) {
    stack_.assign(1, {place, 0});
    states_[place] = State::kWaiting;
    while (!stack_.empty()) {
      auto& [at, next] = stack_.back();
      const auto& inputs = a_.nodes()[at]->inputs;
      if (next == inputs.size()) {
        states_[at] = State::kShared;
        stack_.pop_back();
        continue;
      }
      const std::size_t source = a_.index_of(inputs[next].node);
      const State state = source == a_.size() ? State::kDiffers : states_[source];
      if (state == State::kShared) {
        ++next;
      } else if (state == State::kOpen) {
        states_[source] = State::kWaiting;
        stack_.emplace_back(source, 0);
      } else {
        LANISTA_CHECK(state != State::kWaiting, "a graph with a cycle has no lineage");
        // All nodes on the stack depend on this node.
        for (const auto& waiting : stack_) states_[waiting.first] = State::kDiffers;
        stack_.clear();
      }
    }
  }

  const Graph& a_;
  const Graph& b_;
  const OpTable& ops_;
  std::vector<State> states_;                               // by index in a_
  std::vector<std::pair<std::size_t, std::size_t>> stack_;  // a node and its current input
};

/// Two nodes are the same if their hashes and their inputs, as nodes and ports of `b`, are equal.
using Signature = std::pair<Digest, std::vector<Edge>>;

}  // namespace

std::vector<NodeId> lineage_match(const Graph& a, const Graph& b, const OpTable& ops) {
  return Lineage(a, b, ops).run();
}

std::vector<NodePair> structural_match(const Graph& a, const Graph& b, const OpTable& ops) {
  const FlatGraph left = flatten(a, ops);
  const FlatGraph right = flatten(b, ops);
  const auto left_hashes = merkle_hashes(left);
  const auto right_hashes = merkle_hashes(right);

  // Among nodes with one signature, the first is used first.
  std::map<Signature, std::vector<std::size_t>> free;
  for (std::size_t v = right.size(); v-- > 0;) {
    std::vector<Edge> inputs(right.inputs[v].begin(), right.inputs[v].end());
    std::sort(inputs.begin(), inputs.end());
    free[{right_hashes[v], std::move(inputs)}].push_back(v);
  }

  std::vector<std::size_t> partner(left.size(), kNoNode);
  std::vector<NodePair> pairs;
  for (std::size_t v = 0; v < left.size(); ++v) {
    std::vector<Edge> inputs(left.inputs[v].begin(), left.inputs[v].end());
    for (Edge& edge : inputs) {
      if (edge.node != kNoNode) edge.node = partner[edge.node];
    }
    if (std::any_of(inputs.begin(), inputs.end(), [](const Edge& e) { return e.node == kNoNode; })) continue;
    std::sort(inputs.begin(), inputs.end());
    const auto alike = free.find({left_hashes[v], std::move(inputs)});
    if (alike == free.end() || alike->second.empty()) continue;
    partner[v] = alike->second.back();
    alike->second.pop_back();
    pairs.push_back({left.nodes[v]->id, right.nodes[partner[v]]->id});
  }
  return pairs;
}

}  // namespace lanista::bench
