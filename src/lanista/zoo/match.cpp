#include "lanista/zoo/match.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "lanista/graph/infer.h"

namespace lanista::zoo {
namespace {

constexpr double kChildPenalty = 0.25, kParentPenalty = 1, kMismatch = -1;
constexpr double kLeastShare = 0.3;     // of weights that can move, for a pair to be one
constexpr double kLarger = 1.2;         // divisor where the parent has more than the child can take
constexpr double kWithoutWeights = 0.05;
constexpr std::size_t kMostAssigned = 10;
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Attributes that decide what a weight means; widths, windows and padding may differ.
std::string kind_of(const graph::Node& node, const graph::OpDef& def) {
  std::string out = node.op;
  for (const graph::AttrSpec& spec : def.attrs) {
    const bool counts = spec.name == "stride" || spec.name == "dilation" || spec.name == "groups" ||
                        spec.name == "multiplier" || spec.name == "causal" || spec.name == "mode";
    if (!counts) continue;
    const graph::AttrValue* value = node.attrs.find(spec.name);
    out += " " + spec.name + "=" + graph::attr_text(value != nullptr ? *value : spec.default_value);
  }
  return out;
}

enum class Move : std::uint8_t { kNone, kMatch, kSkipChild, kSkipParent };

/// The table of the recurrence. Row 0 and column 0 stand for the beginning of both models.
class Table {
 public:
  Table(const MatchModel& parent, const MatchModel& child, const MatchOptions& options)
      : parent_(parent), child_(child), weights_(node_weights(child, options)), columns_(child.nodes.size() + 1),
        scores_((parent.nodes.size() + 1) * columns_), moves_(scores_.size(), Move::kNone) {
    for (const MatchModel::Node& node : parent_.nodes) {
      parent_weights_.push_back(node.params > 0 || options.unit_weights ? 1.0 : kWithoutWeights);
    }
    for (std::size_t i = 0; i <= parent_.nodes.size(); ++i) {
      for (std::size_t j = 0; j < columns_; ++j) fill(i, j);
    }
  }

  double result() const { return scores_.back(); }

  std::vector<std::pair<std::size_t, std::size_t>> pairs() const {
    std::vector<std::pair<std::size_t, std::size_t>> out, left{{parent_.nodes.size(), child_.nodes.size()}};
    std::set<std::size_t> used;
    std::vector<bool> seen(scores_.size()), done(child_.nodes.size() + 1);
    while (!left.empty()) {
      const auto [i, j] = left.back();
      left.pop_back();
      if (i == 0 || j == 0 || seen[i * columns_ + j]) continue;
      seen[i * columns_ + j] = true;
      switch (moves_[i * columns_ + j]) {
        case Move::kNone: break;
        case Move::kSkipParent: left.emplace_back(best_parent(i, j), j); break;
        case Move::kSkipChild:
          for (const std::size_t c : child_inputs(j)) left.emplace_back(i, c);
          break;
        case Move::kMatch: {
          const bool same = parent_.nodes[i - 1].kind == child_.nodes[j - 1].kind;
          if (same && !done[j] && used.insert(i).second) done[j] = true, out.emplace_back(i - 1, j - 1);
          const std::vector<std::size_t> from = assignment(i, j).second, inputs = child_inputs(j);
          for (std::size_t k = 0; k < inputs.size(); ++k) left.emplace_back(from[k], inputs[k]);
          break;
        }
      }
    }
    std::ranges::sort(out, {}, &std::pair<std::size_t, std::size_t>::second);
    return out;
  }

 private:
  double at(std::size_t i, std::size_t j) const { return scores_[i * columns_ + j]; }
  /// What flows from (i, c) into one of c's readers.
  double flow(std::size_t i, std::size_t c) const {
    return c == 0 ? at(i, 0) : at(i, c) / static_cast<double>(std::max<std::int64_t>(child_.nodes[c - 1].readers, 1));
  }
  static std::vector<std::size_t> inputs_of(const MatchModel::Node& node) {
    std::vector<std::size_t> out;
    for (const std::size_t place : node.inputs) out.push_back(place + 1);
    if (out.empty()) out.push_back(0);
    return out;
  }
  std::vector<std::size_t> child_inputs(std::size_t j) const { return inputs_of(child_.nodes[j - 1]); }
  std::vector<std::size_t> parent_inputs(std::size_t i) const { return inputs_of(parent_.nodes[i - 1]); }

  std::size_t best_parent(std::size_t i, std::size_t j) const {
    const std::vector<std::size_t> all = parent_inputs(i);
    return *std::ranges::max_element(all, {}, [&](std::size_t p) { return at(p, j); });
  }

  /// The best way to lead the child's inputs to different inputs of the parent's node; those left over, to any.
  std::pair<double, std::vector<std::size_t>> assignment(std::size_t i, std::size_t j) const {
    const std::vector<std::size_t> to = parent_inputs(i), from = child_inputs(j);
    if (to.size() == 1 || from.size() == 1 || to.size() > kMostAssigned) return one_by_one(to, from);
    const std::size_t masks = std::size_t{1} << to.size();
    const std::size_t surplus = from.size() > to.size() ? from.size() - to.size() : 0;
    std::vector<double> best(masks, kNever);
    std::vector<std::vector<std::size_t>> choice(from.size(), std::vector<std::size_t>(masks, to.size()));
    best[0] = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      std::vector<double> next(masks, kNever);
      double any = kNever;
      for (const std::size_t p : to) any = std::max(any, flow(p, from[k]));
      for (std::size_t mask = 0; mask < masks; ++mask) {
        if (best[mask] == kNever) continue;
        const auto taken = static_cast<std::size_t>(__builtin_popcountll(mask));
        if (k - taken < surplus && best[mask] + any > next[mask]) {
          next[mask] = best[mask] + any;
          choice[k][mask] = to.size();
        }
        for (std::size_t p = 0; p < to.size(); ++p) {
          const std::size_t with = mask | (std::size_t{1} << p);
          const double sum = best[mask] + flow(to[p], from[k]);
          if (with != mask && sum > next[with]) next[with] = sum, choice[k][with] = p;
        }
      }
      best = std::move(next);
    }
    std::size_t mask = static_cast<std::size_t>(std::ranges::max_element(best) - best.begin());
    const double sum = best[mask];
    std::vector<std::size_t> out(from.size());
    for (std::size_t k = from.size(); k-- > 0;) {
      const std::size_t p = choice[k][mask];
      if (p < to.size()) {
        out[k] = to[p];
        mask &= ~(std::size_t{1} << p);
      } else {
        out[k] = *std::ranges::max_element(to, {}, [&](std::size_t any) { return flow(any, from[k]); });
      }
    }
    return {sum, std::move(out)};
  }

  std::pair<double, std::vector<std::size_t>> one_by_one(std::vector<std::size_t> to,
                                                         const std::vector<std::size_t>& from) const {
    const std::vector<std::size_t> all = to;
    std::pair<double, std::vector<std::size_t>> out{0, {}};
    for (const std::size_t c : from) {
      const auto& among = to.empty() ? all : to;
      const std::size_t p = *std::ranges::max_element(among, {}, [&](std::size_t any) { return flow(any, c); });
      out.first += flow(p, c);
      out.second.push_back(p);
      if (!to.empty()) to.erase(std::ranges::find(to, p));
    }
    return out;
  }

  void fill(std::size_t i, std::size_t j) {
    if (i == 0 && j == 0) return;
    double best = kNever;
    Move move = Move::kNone;
    const auto offer = [&](double score, Move by) {
      if (score > best) best = score, move = by;
    };
    if (i > 0 && j > 0) {
      offer(weights_[j - 1] * pair_score(parent_.nodes[i - 1], child_.nodes[j - 1]) + assignment(i, j).first,
            Move::kMatch);
    }
    if (j > 0) {
      double sum = -kChildPenalty * weights_[j - 1];
      for (const std::size_t c : child_inputs(j)) sum += flow(i, c);
      offer(sum, Move::kSkipChild);
    }
    if (i > 0) offer(at(best_parent(i, j), j) - kParentPenalty * parent_weights_[i - 1], Move::kSkipParent);
    scores_[i * columns_ + j] = best;
    moves_[i * columns_ + j] = move;
  }

  const MatchModel& parent_;
  const MatchModel& child_;
  std::vector<double> weights_, parent_weights_;  // of the parent's: what a node of the child counts on average
  std::size_t columns_;
  std::vector<double> scores_;
  std::vector<Move> moves_;
};

}  // namespace

Result<MatchModel> MatchModel::of(const graph::Graph& graph, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(graph, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  MatchModel out;
  std::map<graph::NodeId, std::size_t> places;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    const graph::OpDef& def = *ops.find(node.op);
    Node one{id, kind_of(node, def), {}, 0, {}, 0, 0};
    const auto inputs = types.inputs(node);
    if (def.params) {
      for (const graph::ParamSpec& spec : def.params({inputs, node.attrs, def})) {
        one.shapes.push_back(spec.shape.dims);
        one.params += spec.shape.elements_per_sample();
      }
    }
    for (const graph::Port& input : node.inputs) {
      const std::size_t from = places.at(input.node);
      one.inputs.push_back(from);
      ++out.nodes[from].readers;
      one.depth = std::max(one.depth, out.nodes[from].depth + 1);
    }
    out.params += one.params;
    places[id] = out.nodes.size();
    out.nodes.push_back(std::move(one));
  }
  const double deepest = std::max(1.0, std::ranges::max_element(out.nodes, {}, &Node::depth)->depth);
  for (Node& node : out.nodes) node.depth /= deepest;
  out.hash = graph::canonical_hash(graph, ops);
  return out;
}

std::vector<double> node_weights(const MatchModel& child, const MatchOptions& options) {
  if (options.unit_weights) return std::vector<double>(child.nodes.size(), 1.0);
  const auto holders =
      static_cast<double>(std::ranges::count_if(child.nodes, [](const auto& node) { return node.params > 0; }));
  std::vector<double> out;
  for (const MatchModel::Node& node : child.nodes) {
    const auto all = static_cast<double>(std::max<std::int64_t>(child.params, 1));
    const double share = static_cast<double>(node.params) / all;
    out.push_back((node.params > 0 ? share * holders : kWithoutWeights) * (1 + options.lambda * (1 - node.depth)));
  }
  return out;
}

std::int64_t node_overlap(const MatchModel::Node& parent, const MatchModel::Node& child) {
  if (parent.kind != child.kind) return 0;
  std::int64_t out = 0;
  for (std::size_t k = 0; k < std::min(parent.shapes.size(), child.shapes.size()); ++k) {
    const auto &a = parent.shapes[k], &b = child.shapes[k];
    if (a.size() != b.size()) continue;
    std::int64_t both = 1;
    for (std::size_t i = 0; i < a.size(); ++i) both *= std::min(a[i], b[i]);
    out += both;
  }
  return out;
}

double pair_score(const MatchModel::Node& parent, const MatchModel::Node& child) {
  if (parent.kind != child.kind) return kMismatch;
  if (parent.params == 0 && child.params == 0) return 1;
  const auto both = static_cast<double>(node_overlap(parent, child));
  const auto p = static_cast<double>(parent.params), c = static_cast<double>(child.params);
  const double share = p > c ? both / (kLarger * p) : both / c;
  return share > kLeastShare ? share : kMismatch;
}

Match match(const MatchModel& parent, const MatchModel& child, const MatchOptions& options) {
  const Table table(parent, child, options);
  Match out;
  out.score = table.result();
  const auto pairs = table.pairs();
  for (const auto& [i, j] : pairs) {
    out.pairs.push_back({parent.nodes[i].id, child.nodes[j].id});
    out.overlap += node_overlap(parent.nodes[i], child.nodes[j]);
  }
  const auto share = [](std::int64_t part, std::int64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
  };
  out.coverage = share(out.overlap, child.params);
  out.retention = share(out.overlap, parent.params);
  out.sim = share(2 * out.overlap, child.params + parent.params);
  if (child.hash == parent.hash) out.coverage = out.retention = out.sim = 1;
  return out;
}

double sim_bound(const MatchModel& parent, const MatchModel& child) {
  if (parent.hash == child.hash) return 1;
  // Per kind: no more than the child's nodes can take, nor than the parent's can give.
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> by_kind;
  const auto best = [](const MatchModel::Node& one, const MatchModel& other, bool one_is_parent) {
    std::int64_t most = 0;
    for (const MatchModel::Node& two : other.nodes) {
      most = std::max(most, one_is_parent ? node_overlap(one, two) : node_overlap(two, one));
    }
    return most;
  };
  for (const MatchModel::Node& node : child.nodes) {
    if (node.params > 0) by_kind[node.kind].first += best(node, parent, false);
  }
  for (const MatchModel::Node& node : parent.nodes) {
    if (node.params > 0) by_kind[node.kind].second += best(node, child, true);
  }
  std::int64_t most = 0;
  for (const auto& [kind, both] : by_kind) most += std::min(both.first, both.second);
  const std::int64_t all = child.params + parent.params;
  return all == 0 ? 0.0 : 2 * static_cast<double>(most) / static_cast<double>(all);
}

}  // namespace lanista::zoo
