#include <algorithm>
#include <map>
#include <numeric>

#include "lanista/model/transfer/alignment.h"

namespace lanista::zoo {
namespace {

constexpr std::uint32_t kNoNode = 0xffffffff;
constexpr int kMaxPasses = 12;

/// The pairs during the search. Every change keeps them one-to-one and in the order of paths.
class Pairing {
 public:
  Pairing(const PackedModel& parent, const ChildModel& child, const PairTable& table)
      : parent_(parent),
        child_(child),
        table_(table),
        reach_(parent),
        partner_(child.model.size(), kNoNode),
        owner_(parent.size(), kNoNode) {
    for (std::uint32_t i = 0; i < parent.size(); ++i) by_kind_[table.kind_of_parent(parent.signatures[i])].push_back(i);
  }

  std::int64_t overlap(std::uint32_t i, std::uint32_t j) const {
    return table_.overlap(parent_.signatures[i], child_.model.signatures[j]);
  }
  std::int64_t value_of(std::uint32_t j) const { return partner_[j] == kNoNode ? 0 : overlap(partner_[j], j); }
  bool paired(std::uint32_t j) const { return partner_[j] != kNoNode; }
  std::uint32_t partner(std::uint32_t j) const { return partner_[j]; }
  bool unclaimed(std::uint32_t i) const { return owner_[i] == kNoNode; }

  void pair(std::uint32_t i, std::uint32_t j) {
    part(j);
    partner_[j] = i;
    owner_[i] = j;
  }
  void part(std::uint32_t j) {
    if (partner_[j] == kNoNode) return;
    owner_[partner_[j]] = kNoNode;
    partner_[j] = kNoNode;
  }

  /// The partners of the nodes before j, and of those after it.
  std::pair<NodeSet, NodeSet> surroundings(std::uint32_t j) const {
    std::pair out{NodeSet(parent_.size()), NodeSet(parent_.size())};
    for (std::uint32_t c = 0; c < partner_.size(); ++c) {
      if (partner_[c] == kNoNode) continue;
      if (child_.reach.above[j].has(c)) out.first.add(partner_[c]);
      if (child_.reach.below[j].has(c)) out.second.add(partner_[c]);
    }
    return out;
  }
  /// Returns the nodes of the child, other than j, with pairs that contradict (i, j).
  template <class Visit>
  bool visit_rivals(std::uint32_t i, std::uint32_t j, const std::pair<NodeSet, NodeSet>& around, Visit visit) const {
    if (owner_[i] != kNoNode && owner_[i] != j && !visit(owner_[i])) return false;
    return visit_crossings(around.first, reach_.below[i], around.second, reach_.above[i], [&](std::size_t p) {
      const std::uint32_t rival = owner_[p];
      return rival == j || p == i || visit(rival);
    });
  }
  bool fits(std::uint32_t i, std::uint32_t j, const std::pair<NodeSet, NodeSet>& around) const {
    return visit_rivals(i, j, around, [](std::uint32_t) { return false; });
  }

  /// Returns the nodes of the parent of the kind of j.
  const std::vector<std::uint32_t>& candidates(std::uint32_t j) const {
    static const std::vector<std::uint32_t> kEmpty;
    const auto found = by_kind_.find(table_.kind_of_child(child_.model.signatures[j]));
    return found == by_kind_.end() ? kEmpty : found->second;
  }

  /// Gives j the best partner that fits all other pairs. Returns whether its overlap grew.
  bool place_rival(std::uint32_t j) {
    const auto around = surroundings(j);
    std::int64_t best = value_of(j);
    std::uint32_t partner = kNoNode;
    for (const std::uint32_t i : candidates(j)) {
      if (owner_[i] != kNoNode || overlap(i, j) <= best || !fits(i, j, around)) continue;
      best = overlap(i, j);
      partner = i;
    }
    if (partner != kNoNode) pair(partner, j);
    return partner != kNoNode;
  }

  /// Adds the pair (i, j), removes pairs that contradict it, and gives their nodes new partners. Undoes all unless the
  /// sum grows.
  bool try_pair(std::uint32_t i, std::uint32_t j, const std::pair<NodeSet, NodeSet>& around) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> before;  // node of the child and its partner
    std::int64_t change = overlap(i, j) - value_of(j);
    const std::uint32_t old = partner_[j];
    visit_rivals(i, j, around, [&](std::uint32_t rival) {
      if (std::ranges::find(before, rival, &std::pair<std::uint32_t, std::uint32_t>::first) == before.end()) {
        before.emplace_back(rival, partner_[rival]);
        change -= value_of(rival);
      }
      return true;
    });
    std::int64_t hope = change;
    for (const auto& [rival, partner] : before) hope += overlap(partner, rival);
    if (hope <= 0 || before.size() > 4) return false;
    for (const auto& [rival, partner] : before) part(rival);
    pair(i, j);
    for (const auto& [rival, partner] : before) {
      if (child_.signature_params(rival) > 0 && place_rival(rival)) change += value_of(rival);
    }
    if (change > 0) return true;
    part(j);
    for (const auto& [rival, partner] : before) part(rival);
    for (const auto& [rival, partner] : before) pair(partner, rival);
    if (old != kNoNode) pair(old, j);
    return false;
  }

 private:
  const PackedModel& parent_;
  const ChildModel& child_;
  const PairTable& table_;
  Reachability reach_;
  std::vector<std::uint32_t> partner_, owner_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_kind_;
};

/// Pairs nodes without parameters, in dependency order, with a reader of the partner of one of their inputs.
void pair_the_rest(Pairing& pairing, const PackedModel& parent, const ChildModel& child) {
  for (std::uint32_t j = 0; j < child.model.size(); ++j) {
    if (pairing.paired(j) || child.signature_params(j) > 0) continue;
    const auto around = pairing.surroundings(j);
    std::size_t most = 0;
    std::uint32_t best = kNoNode;
    for (const std::uint32_t i : pairing.candidates(j)) {
      std::size_t shared = 0;
      for (const std::uint32_t c : child.model.inputs_of(j)) {
        const auto of_parent = parent.inputs_of(i);
        shared += pairing.paired(c) && std::ranges::find(of_parent, pairing.partner(c)) != of_parent.end();
      }
      if (shared > most && pairing.unclaimed(i) && pairing.fits(i, j, around)) most = shared, best = i;
    }
    if (best != kNoNode) pairing.pair(best, j);
  }
}

/// Adds pairs with parameters, the largest first, if they fit; then the others.
void begin_with(const NodePairs& pairs, Pairing& pairing) {
  NodePairs order = pairs;
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) {
    return pairing.overlap(a.first, a.second) > pairing.overlap(b.first, b.second);
  });
  for (const auto& [i, j] : order) {
    if (pairing.fits(i, j, pairing.surroundings(j))) pairing.pair(i, j);
  }
}

bool improve_once(Pairing& pairing, std::span<const std::uint32_t> order) {
  bool gained = false;
  for (const std::uint32_t j : order) {
    gained |= pairing.place_rival(j);
    auto around = pairing.surroundings(j);
    for (const std::uint32_t i : pairing.candidates(j)) {
      if (pairing.overlap(i, j) <= pairing.value_of(j) || !pairing.try_pair(i, j, around)) continue;
      gained = true;
      around = pairing.surroundings(j);
    }
  }
  return gained;
}

}  // namespace

NodePairs improved(NodePairs pairs, const PackedModel& parent, const ChildModel& child, const PairTable& table) {
  Pairing pairing(parent, child, table);
  begin_with(pairs, pairing);
  std::vector<std::uint32_t> order;
  for (std::uint32_t j = 0; j < child.model.size(); ++j) {
    if (child.signature_params(j) > 0) order.push_back(j);
  }
  std::ranges::stable_sort(
      order, [&](std::uint32_t a, std::uint32_t b) { return child.signature_params(a) > child.signature_params(b); });
  for (int pass = 0; pass < kMaxPasses && improve_once(pairing, order); ++pass) {
  }
  pair_the_rest(pairing, parent, child);
  pairs.clear();
  for (std::uint32_t j = 0; j < child.model.size(); ++j) {
    if (pairing.paired(j)) pairs.emplace_back(pairing.partner(j), j);
  }
  return pairs;
}

std::int64_t overlap_of(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table) {
  std::int64_t out = 0;
  for (const auto& [i, j] : pairs) out += table.overlap(parent.signatures[i], child.model.signatures[j]);
  return out;
}

NodePairs identical_pairs(const PackedModel& parent, const PackedModel& child) {
  std::multimap<std::uint64_t, std::uint32_t> free;
  for (std::uint32_t i = 0; i < parent.size(); ++i) free.emplace(parent.computes[i], i);
  std::vector<std::uint32_t> partner(child.size(), kNoNode);
  NodePairs out;
  for (std::uint32_t j = 0; j < child.size(); ++j) {
    std::vector<std::uint32_t> wanted;
    for (const std::uint32_t c : child.inputs_of(j)) wanted.push_back(partner[c]);
    // Tries the given order first, and all orders for a commutative operator.
    const auto [begin, end] = free.equal_range(child.computes[j]);
    auto found = std::find_if(
        begin, end, [&](const auto& one) { return std::ranges::equal(parent.inputs_of(one.second), wanted); });
    if (found == end) {
      std::ranges::sort(wanted);
      found = std::find_if(begin, end, [&](const auto& one) {
        const auto inputs = parent.inputs_of(one.second);
        std::vector<std::uint32_t> sorted(inputs.begin(), inputs.end());
        std::ranges::sort(sorted);
        return sorted == wanted;
      });
    }
    if (found == end) return {};
    partner[j] = found->second;
    out.emplace_back(found->second, j);
    free.erase(found);
  }
  return out;
}

Match match_of(const NodePairs& pairs, double score, const PackedModel& parent, const ChildModel& child,
               const PairTable& table) {
  Match out;
  out.score = score;
  for (const auto& [i, j] : pairs) out.pairs.push_back({parent.ids[i], child.model.ids[j]});
  out.overlap = overlap_of(pairs, parent, child, table);
  const auto share = [](std::int64_t part, std::int64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
  };
  out.coverage = share(out.overlap, child.model.params);
  out.retention = share(out.overlap, parent.params);
  out.sim = share(2 * out.overlap, child.model.params + parent.params);
  out.start_benefit = benefit_of(out.overlap, child.model.params, parent.params);
  if (child.model.hash == parent.hash) out.coverage = out.retention = out.sim = out.start_benefit = 1;
  return out;
}

}  // namespace lanista::zoo
