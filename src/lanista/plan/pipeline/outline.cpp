#include "lanista/plan/pipeline/outline.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lanista::pipeline {
namespace {

constexpr std::uint32_t kNoNode = UINT32_MAX;

/// Combines neighbours that are not cut apart.
void merge_small_parts(std::vector<std::uint32_t>& parts, std::vector<Outline::Node>& nodes, std::vector<double>& work,
                       double grain) {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t part : parts) {
    const bool both = !kept.empty() && nodes[kept.back()].parts.empty() && nodes[part].parts.empty();
    if (!both || work[kept.back()] + work[part] > grain) {
      kept.push_back(part);
      continue;
    }
    nodes[kept.back()].end = nodes[part].end;
    work[kept.back()] += work[part];
  }
  parts = std::move(kept);
}

/// Sets the received bytes of every node. The value of an operator counts once for each node.
void count_bytes(Outline& outline, const Model& model) {
  auto& nodes = outline.nodes;
  std::vector<std::uint32_t> leaf(outline.order.size(), kNoNode), above(nodes.size(), kNoNode),
      before(nodes.size(), kNoNode);
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    nodes[n].received = nodes[n].received_from_outside = 0;
    for (std::size_t i = 0; i < nodes[n].parts.size(); ++i) {
      above[nodes[n].parts[i]] = n;
      if (i > 0 && nodes[n].shape == Tree::Shape::kSeries) before[nodes[n].parts[i]] = nodes[n].parts[i - 1];
    }
  }
  std::vector<std::uint32_t> open{outline.root};
  while (!open.empty()) {
    const std::uint32_t n = open.back();
    open.pop_back();
    if (nodes[n].parts.empty()) std::fill(leaf.begin() + nodes[n].begin, leaf.begin() + nodes[n].end, n);
    open.insert(open.end(), nodes[n].parts.begin(), nodes[n].parts.end());
  }
  std::vector<std::uint32_t> rank(model.operators.size()), counted(nodes.size(), kNoNode);
  for (std::uint32_t i = 0; i < outline.order.size(); ++i) rank[outline.order[i]] = i;
  for (const auto& [from, to] : model.edges) {
    for (std::uint32_t n = leaf[rank[to]]; n != kNoNode && nodes[n].begin > rank[from]; n = above[n]) {
      if (counted[n] == from) continue;
      counted[n] = from;
      nodes[n].received += model.operators[from].output_bytes;
      if (before[n] != kNoNode && rank[from] < nodes[before[n]].begin) {
        nodes[n].received_from_outside += model.operators[from].output_bytes;
      }
    }
  }
}

/// Finds equal nodes. Parts precede their node, except for added roots.
void find_alike(Outline& outline, const Model& model) {
  auto& nodes = outline.nodes;
  std::map<std::vector<double>, double> operators;
  std::vector<double> kind;
  for (const std::uint32_t o : outline.order) {
    const Operator& op = model.operators[o];
    std::vector<double> facts{op.activation_bytes, op.output_bytes, op.parameter_bytes, op.warm_cache_factor};
    for (const Curve* curve : {&op.forward, &op.input_grad, &op.weight_grad}) {
      facts.insert(facts.end(), curve->begin(), curve->end());
    }
    kind.push_back(operators.emplace(std::move(facts), static_cast<double>(operators.size())).first->second);
  }
  std::map<std::vector<double>, std::uint32_t> known;
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    Outline::Node& node = nodes[n];
    std::vector<double> facts{static_cast<double>(node.shape), node.received, node.received_from_outside};
    for (const std::uint32_t part : node.parts) facts.push_back(static_cast<double>(nodes[part].first_equal));
    if (node.parts.empty()) facts.insert(facts.end(), kind.begin() + node.begin, kind.begin() + node.end);
    node.first_equal = known.emplace(std::move(facts), n).first->second;
  }
}

}  // namespace

Outline outline_of(const Tree& tree, const Model& model, double grain) {
  const std::size_t count = tree.nodes.size();
  std::vector<double> work(count, 0);
  for (std::size_t n = 0; n < count; ++n) {
    const Tree::Node& node = tree.nodes[n];
    if (node.shape == Tree::Shape::kLeaf) work[n] = work_at(model.operators[node.op], model.batch);
    for (const std::uint32_t part : node.parts) work[n] += work[part];
  }
  std::vector<std::vector<std::uint32_t>> sorted(count);
  for (std::size_t n = 0; n < count; ++n) {
    sorted[n] = tree.nodes[n].parts;
    if (tree.nodes[n].shape != Tree::Shape::kParallel) continue;
    std::ranges::stable_sort(sorted[n], [&](std::uint32_t a, std::uint32_t b) { return work[a] > work[b]; });
  }
  Outline outline;
  outline.nodes.resize(count);
  std::vector<std::pair<std::uint32_t, bool>> open{{tree.root, false}};
  while (!open.empty()) {
    const auto [n, done] = open.back();
    open.pop_back();
    Outline::Node& node = outline.nodes[n];
    if (done) {
      node.end = static_cast<std::uint32_t>(outline.order.size());
      node.shape = tree.nodes[n].shape;
      if (work[n] > grain && !sorted[n].empty()) {
        node.parts = sorted[n];
        merge_small_parts(node.parts, outline.nodes, work, grain);
      } else {
        node.shape = Tree::Shape::kLeaf;
      }
      continue;
    }
    node.begin = static_cast<std::uint32_t>(outline.order.size());
    if (tree.nodes[n].shape == Tree::Shape::kLeaf) outline.order.push_back(tree.nodes[n].op);
    open.push_back({n, true});
    for (std::size_t i = sorted[n].size(); i-- > 0;) open.push_back({sorted[n][i], false});
  }
  outline.root = tree.root;
  if (outline.nodes[outline.root].shape != Tree::Shape::kSeries) {
    Outline::Node whole = outline.nodes[outline.root];
    whole.shape = Tree::Shape::kSeries;
    whole.parts = {outline.root};
    outline.root = static_cast<std::uint32_t>(outline.nodes.size());
    outline.nodes.push_back(std::move(whole));
  }
  count_bytes(outline, model);
  find_alike(outline, model);
  return outline;
}

Outline as_chain(const Outline& outline, const Model& model) {
  Outline row{outline.order, {}, 0};
  std::vector<std::uint32_t> open{outline.root};
  std::vector<std::uint32_t> parts;
  while (!open.empty()) {
    const Outline::Node& node = outline.nodes[open.back()];
    open.pop_back();
    if (node.parts.empty()) {
      parts.push_back(static_cast<std::uint32_t>(row.nodes.size()));
      row.nodes.push_back(node);
    }
    for (std::size_t i = node.parts.size(); i-- > 0;) open.push_back(node.parts[i]);
  }
  row.root = static_cast<std::uint32_t>(row.nodes.size());
  row.nodes.push_back(
      {Tree::Shape::kSeries, 0, static_cast<std::uint32_t>(row.order.size()), std::move(parts), 0, 0, 0});
  count_bytes(row, model);
  find_alike(row, model);
  return row;
}

}  // namespace lanista::pipeline
