#include "lanista/plan/pipeline/series_parallel.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "lanista/base/check.h"

namespace lanista::pipeline {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
/// After this many regions the rest is one region, since the search for the smallest is quadratic.
constexpr std::size_t kMaxRegions = 64;

/// A node of a binary tree that grows. A part of kNone is a dependency without operators.
struct Growing {
  Tree::Shape shape = Tree::Shape::kLeaf;
  std::uint32_t op = 0, first = kNone, second = kNone;
};

/// A multigraph with two terminals. Its edges are parts of the tree.
class Reducer {
 public:
  explicit Reducer(const Model& model) { build(model); }

  Tree run() {
    reduce();
    while (edges_alive_ > 1) {
      stratify(smallest_region());
      ++added_;
      reduce();
    }
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].alive) return flattened(edges_[e].part);
    }
    LANISTA_CHECK(false, "a model without operators");
  }

 private:
  struct Edge {
    std::uint32_t from, to, part;
    bool alive = true;
  };
  struct Region {
    std::uint32_t from = 0, to = 0;
    std::vector<std::uint32_t> edges;
  };

  std::uint32_t find(std::uint32_t v) {
    while (joined_[v] != v) v = joined_[v] = joined_[joined_[v]];
    return v;
  }

  void build(const Model& model) {
    const Neighbours neighbours(model);
    const auto count = static_cast<std::uint32_t>(model.operators.size());
    const std::uint32_t source = 2 * count, sink = source + 1;
    joined_.resize(2 * count + 2);
    std::iota(joined_.begin(), joined_.end(), 0);
    // Operators with the same readers, which read nothing else, share a vertex.
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> makers;
    for (std::uint32_t v = 0; v < count; ++v) makers[neighbours.next[v]].push_back(v);
    for (const auto& [readers, group] : makers) {
      const bool same = std::ranges::all_of(readers, [&](std::uint32_t r) { return neighbours.previous[r] == group; });
      if (!same || readers.empty()) continue;
      const std::uint32_t meeting = find(2 * group.front() + 1);
      for (const std::uint32_t maker : group) joined_[find(2 * maker + 1)] = meeting;
      for (const std::uint32_t reader : readers) joined_[find(2 * reader)] = meeting;
    }
    for (std::uint32_t v = 0; v < count; ++v) {
      if (neighbours.previous[v].empty()) joined_[find(2 * v)] = find(source);
      if (neighbours.next[v].empty()) joined_[find(2 * v + 1)] = find(sink);
    }
    source_ = find(source), sink_ = find(sink);
    in_.resize(joined_.size()), out_.resize(joined_.size());
    for (std::uint32_t v = 0; v < count; ++v) parts_.push_back({Tree::Shape::kLeaf, v, kNone, kNone});
    for (std::uint32_t v = 0; v < count; ++v) connect(find(2 * v), find(2 * v + 1), v);
    for (const auto& [from, to] : model.edges) {
      const std::uint32_t a = find(2 * from + 1), b = find(2 * to);
      if (a != b) connect(a, b, kNone);
    }
  }

  std::uint32_t joined_part(Tree::Shape shape, std::uint32_t first, std::uint32_t second) {
    if (first == kNone) return second;
    if (second == kNone) return first;
    parts_.push_back({shape, 0, first, second});
    return static_cast<std::uint32_t>(parts_.size() - 1);
  }

  /// Adds an edge, or combines its part in parallel with that of an existing edge.
  void connect(std::uint32_t from, std::uint32_t to, std::uint32_t part) {
    const auto [at, fresh] = between_.emplace(std::pair{from, to}, static_cast<std::uint32_t>(edges_.size()));
    if (!fresh) {
      Edge& there = edges_[at->second];
      there.part = joined_part(Tree::Shape::kParallel, there.part, part);
    } else {
      edges_.push_back({from, to, part});
      out_[from].insert(at->second);
      in_[to].insert(at->second);
      ++edges_alive_;
    }
    dirty_.insert(from);
    dirty_.insert(to);
  }

  void disconnect(std::uint32_t e) {
    Edge& edge = edges_[e];
    edge.alive = false;
    --edges_alive_;
    out_[edge.from].erase(e);
    in_[edge.to].erase(e);
    between_.erase({edge.from, edge.to});
  }

  void reduce() {
    while (!dirty_.empty()) {
      const std::uint32_t v = *dirty_.begin();
      dirty_.erase(dirty_.begin());
      if (v == source_ || v == sink_ || in_[v].size() != 1 || out_[v].size() != 1) continue;
      const Edge before = edges_[*in_[v].begin()], after = edges_[*out_[v].begin()];
      disconnect(*in_[v].begin());
      disconnect(*out_[v].begin());
      connect(before.from, after.to, joined_part(Tree::Shape::kSeries, before.part, after.part));
    }
  }

  std::vector<std::uint32_t> order() const {
    std::map<std::uint32_t, std::size_t> waits;
    std::vector<std::uint32_t> found{source_};
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const std::uint32_t e : out_[found[i]]) {
        const std::uint32_t to = edges_[e].to;
        if (++waits[to] == in_[to].size()) found.push_back(to);
      }
    }
    return found;
  }

  /// Returns, for every vertex, the nearest vertex on all its paths: to the sink with `forth`, else to the source.
  std::vector<std::uint32_t> dominators(const std::vector<std::uint32_t>& order, bool forth) const {
    std::vector<std::uint32_t> parent(joined_.size(), kNone), depth(joined_.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t v = forth ? order[order.size() - 1 - i] : order[i];
      for (const std::uint32_t e : forth ? out_[v] : in_[v]) {
        std::uint32_t other = forth ? edges_[e].to : edges_[e].from;
        if (parent[v] == kNone) {
          parent[v] = other;
          continue;
        }
        std::uint32_t mine = parent[v];
        while (mine != other) {
          if (depth[mine] >= depth[other])
            mine = parent[mine];
          else
            other = parent[other];
        }
        parent[v] = mine;
      }
      if (parent[v] != kNone) depth[v] = depth[parent[v]] + 1;
    }
    return parent;
  }

  Region region(std::uint32_t from, std::uint32_t to, std::size_t most) const {
    Region found{from, to, {}};
    std::set<std::uint32_t> seen{from};
    std::vector<std::uint32_t> open{from};
    while (!open.empty() && found.edges.size() < most) {
      const std::uint32_t v = open.back();
      open.pop_back();
      for (const std::uint32_t e : out_[v]) {
        found.edges.push_back(e);
        if (edges_[e].to != to && seen.insert(edges_[e].to).second) open.push_back(edges_[e].to);
      }
    }
    return found;
  }

  Region smallest_region() const {
    Region best = region(source_, sink_, SIZE_MAX);
    if (added_ >= kMaxRegions) return best;
    const auto topological = order();
    const auto ahead = dominators(topological, true), behind = dominators(topological, false);
    for (const std::uint32_t v : topological) {
      if (out_[v].size() < 2 || ahead[v] == kNone || behind[ahead[v]] != v) continue;
      Region next = region(v, ahead[v], best.edges.size());
      if (next.edges.size() > 1 && next.edges.size() < best.edges.size()) best = std::move(next);
    }
    return best;
  }

  /// Replaces a region by a series of strata. Edges that begin at the same depth are parallel.
  void stratify(const Region& region) {
    std::map<std::uint32_t, std::size_t> depth, waits;
    std::set<std::uint32_t> inside(region.edges.begin(), region.edges.end());
    std::map<std::uint32_t, std::size_t> entering;
    for (const std::uint32_t e : region.edges) ++entering[edges_[e].to];
    std::vector<std::uint32_t> open{region.from};
    std::map<std::size_t, std::vector<std::uint32_t>> strata;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::size_t mine = depth[open[i]];
      for (const std::uint32_t e : out_[open[i]]) {
        if (!inside.contains(e)) continue;
        const std::uint32_t to = edges_[e].to;
        depth[to] = std::max(depth[to], mine + (edges_[e].part != kNone ? 1 : 0));
        if (edges_[e].part != kNone) strata[mine].push_back(edges_[e].part);
        if (++waits[to] == entering[to] && to != region.to) open.push_back(to);
      }
    }
    std::uint32_t series = kNone;
    for (const auto& [at, parallel] : strata) {
      std::uint32_t stratum = kNone;
      for (const std::uint32_t part : parallel) stratum = joined_part(Tree::Shape::kParallel, stratum, part);
      series = joined_part(Tree::Shape::kSeries, series, stratum);
    }
    for (const std::uint32_t e : region.edges) disconnect(e);
    connect(region.from, region.to, series);
  }

  /// Returns the tree with nested series (or parallels) merged. Parts precede their node.
  Tree flattened(std::uint32_t root) const {
    Tree tree;
    tree.added = added_;
    std::vector<std::uint32_t> number(parts_.size(), kNone);
    std::vector<std::pair<std::uint32_t, bool>> open{{root, false}};
    std::map<std::uint32_t, std::vector<std::uint32_t>> gathered;
    while (!open.empty()) {
      const auto [part, done] = open.back();
      open.pop_back();
      const Growing& mine = parts_[part];
      if (mine.shape == Tree::Shape::kLeaf) {
        number[part] = static_cast<std::uint32_t>(tree.nodes.size());
        tree.nodes.push_back({Tree::Shape::kLeaf, mine.op, {}});
      } else if (done) {
        Tree::Node node{mine.shape, 0, {}};
        for (const std::uint32_t each : gathered[part]) node.parts.push_back(number[each]);
        gathered.erase(part);
        number[part] = static_cast<std::uint32_t>(tree.nodes.size());
        tree.nodes.push_back(std::move(node));
      } else {
        auto& parts = gathered[part];
        std::vector<std::uint32_t> inner{part};
        while (!inner.empty()) {
          const std::uint32_t each = inner.back();
          inner.pop_back();
          if (parts_[each].shape != mine.shape) {
            parts.push_back(each);
            continue;
          }
          inner.push_back(parts_[each].second);
          inner.push_back(parts_[each].first);
        }
        open.push_back({part, true});
        for (std::size_t i = parts.size(); i-- > 0;) open.push_back({parts[i], false});
      }
    }
    tree.root = static_cast<std::uint32_t>(tree.nodes.size() - 1);
    return tree;
  }

  std::vector<std::uint32_t> joined_;
  std::uint32_t source_ = 0, sink_ = 0;
  std::vector<Growing> parts_;
  std::vector<Edge> edges_;
  std::vector<std::set<std::uint32_t>> in_, out_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> between_;
  std::set<std::uint32_t> dirty_;
  std::size_t edges_alive_ = 0, added_ = 0;
};

}  // namespace

double critical_path(const Model& model) {
  const Neighbours neighbours(model);
  std::vector<double> end(model.operators.size(), 0);
  double longest = 0;
  for (const std::uint32_t v : dependency_order(neighbours)) {
    for (const std::uint32_t before : neighbours.previous[v]) end[v] = std::max(end[v], end[before]);
    longest = std::max(longest, end[v] += work_at(model.operators[v], model.batch));
  }
  return longest;
}

double critical_path(const Tree& tree, const Model& model) {
  std::vector<double> length(tree.nodes.size(), 0);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Tree::Node& node = tree.nodes[i];
    if (node.shape == Tree::Shape::kLeaf) length[i] = work_at(model.operators[node.op], model.batch);
    for (const std::uint32_t part : node.parts) {
      length[i] = node.shape == Tree::Shape::kSeries ? length[i] + length[part] : std::max(length[i], length[part]);
    }
  }
  return length[tree.root];
}

Tree decompose(const Model& model) {
  Tree tree = Reducer(model).run();
  const double before = critical_path(model);
  tree.loss = before > 0 ? critical_path(tree, model) / before : 1;
  return tree;
}

}  // namespace lanista::pipeline
