#include "lanista/model/graph/lineage.h"

#include "lanista/model/graph/flat_graph.h"

namespace lanista::graph {

std::vector<NodeHash> structural_hashes(const Graph& graph, const OpTable& ops) {
  const FlatGraph flat = flatten(graph, ops);
  const auto hashes = merkle_hashes(flat);
  std::vector<NodeHash> out;
  out.reserve(hashes.size());
  for (std::size_t v = 0; v < hashes.size(); ++v) out.push_back({flat.nodes[v]->id, hashes[v]});
  return out;
}

}  // namespace lanista::graph
