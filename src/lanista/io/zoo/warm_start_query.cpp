#include "lanista/io/zoo/warm_start_query.h"

#include <algorithm>
#include <set>

namespace lanista::zoo {

Result<std::optional<WarmStart>> query(const Catalogue& catalogue, const std::string& task, const graph::Graph& child,
                                       const graph::OpTable& ops,
                                       const std::function<Result<graph::Graph>(const std::string&)>& graph_of,
                                       const QueryOptions& options) {
  LANISTA_ASSIGN(const MatchModel model, MatchModel::of(child, ops));
  std::optional<ParentMatch> parent_match = catalogue.best(model, task, options.search);
  if (!parent_match) return std::optional<WarmStart>();
  WarmStart out{*std::move(parent_match), {}, {}};
  LANISTA_ASSIGN(out.parent, graph_of(out.parent_match.entry.id));
  // The packed form and the graph are two columns of the index, which may disagree.
  std::erase_if(out.parent_match.match.pairs,
                [&](const graph::NodePair& pair) { return !out.parent.contains(pair.a); });
  LANISTA_ASSIGN(out.plan, plan_transfer(out.parent, child, out.parent_match.match.pairs, ops, options.transfer));
  const std::set<graph::NodeId> exact(out.plan.exact_nodes.begin(), out.plan.exact_nodes.end());
  for (const graph::NodeId id : child.topo()) {
    if (!exact.contains(id)) break;
    ++out.exact_prefix;
  }
  return std::optional(std::move(out));
}

Result<std::optional<WarmStart>> query(const Store& store, const graph::Graph& child, const TaskKey& task,
                                       const graph::OpTable& ops, const QueryOptions& options) {
  const auto graph_of = [&](const std::string& id) { return store.graph(id); };
  const auto ask = [&](Store::Scope scope, const std::string& text) -> Result<std::optional<WarmStart>> {
    LANISTA_ASSIGN(const auto catalogue, store.find(task, scope));
    return query(*catalogue, text, child, ops, graph_of, options);
  };
  LANISTA_ASSIGN(std::optional<WarmStart> out, ask(Store::Scope::kTask, task.text()));
  if (!out && options.related) {
    LANISTA_ASSIGN(out, ask(Store::Scope::kFamily, task.family()));
    if (out) out->related = true;
  }
  if (out) {
    LANISTA_ASSIGN(out->expected_saving, store.expected_gain(out->parent_match.entry.id));
  }
  return out;
}

}  // namespace lanista::zoo
