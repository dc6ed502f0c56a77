#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lanista/model/transfer/match.h"

namespace lanista::zoo::testing {

/// The index of a node in a model.
inline std::size_t place_of(const MatchModel& model, graph::NodeId id) {
  return static_cast<std::size_t>(std::ranges::find(model.nodes, id, &MatchModel::Node::id) - model.nodes.begin());
}

inline double elements(const std::vector<std::int64_t>& shape) {
  double all = 1;
  for (const std::int64_t dim : shape) all *= static_cast<double>(dim);
  return all;
}

/// Elements that two nodes of one kind have in common.
inline double common_by_hand(const MatchModel::Node& a, const MatchModel::Node& b) {
  double out = 0;
  for (std::size_t k = 0; k < a.shapes.size(); ++k) {
    std::vector<std::int64_t> smaller;
    for (std::size_t d = 0; d < a.shapes[k].size(); ++d) smaller.push_back(std::min(a.shapes[k][d], b.shapes[k][d]));
    out += elements(smaller);
  }
  return out;
}

/// function_overlap, as a sum over all backward paths from the ends to the inputs.
inline double function_overlap_by_paths(const MatchModel& parent, const MatchModel& child,
                                        const std::vector<graph::NodePair>& pairs) {
  std::map<std::size_t, std::size_t> partner;
  for (const graph::NodePair& pair : pairs) partner[place_of(child, pair.b)] = place_of(parent, pair.a);
  std::vector<std::pair<std::size_t, double>> ways;
  for (std::size_t j = 0; j < child.nodes.size(); ++j) {
    if (child.nodes[j].readers == 0) ways.emplace_back(j, 1.0);
  }
  const auto ends = static_cast<double>(ways.size());
  double out = 0;
  while (!ways.empty()) {
    auto [at, weight] = ways.back();
    ways.pop_back();
    if (!partner.contains(at)) continue;
    const MatchModel::Node &here = child.nodes[at], &there = parent.nodes[partner.at(at)];
    if (here.params > 0) weight *= common_by_hand(there, here) / static_cast<double>(here.params);
    if (here.inputs.empty() && there.inputs.empty()) out += weight;
    std::map<std::size_t, std::int64_t> taken;
    for (const std::size_t input : here.inputs) {
      if (!partner.contains(input)) continue;
      const std::size_t wanted = partner.at(input);
      if (++taken[wanted] > std::ranges::count(there.inputs, wanted)) continue;
      ways.emplace_back(input, weight / static_cast<double>(std::max(here.inputs.size(), there.inputs.size())));
    }
  }
  return out / ends;
}

}  // namespace lanista::zoo::testing
