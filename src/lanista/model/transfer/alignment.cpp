#include "lanista/model/transfer/alignment.h"

#include <algorithm>
#include <array>
#include <limits>

namespace lanista::zoo {
namespace {

constexpr double kChildPenalty = 0.25, kParentPenalty = 1;
constexpr double kWithoutWeights = 0.05;
constexpr std::size_t kMaxAssigned = 10;
constexpr double kNever = -std::numeric_limits<double>::infinity();
enum Move : std::uint8_t { kNone, kMatch, kSkipChild, kSkipParent };
constexpr std::array<std::uint32_t, 1> kBeginning{0};

}  // namespace

ChildModel::ChildModel(const MatchModel& child, const MatchOptions& options)
    : ChildModel(child, options, Signatures()) {}

ChildModel::ChildModel(const MatchModel& child, const MatchOptions& options, Signatures table)
    : model(pack_model(child, table)),
      weights(node_weights(child, options)),
      reach(model),
      unit_weights(options.unit_weights) {
  signatures = std::move(table);
  for (const MatchModel::Node& node : child.nodes) {
    shares.push_back(1.0 / static_cast<double>(std::max<std::int64_t>(node.readers, 1)));
  }
}

// Row 0 and column 0 are the start of both models, so node indices are shifted by one. The only input of a source is
// the start.
double Alignment::run(const PackedModel& parent) {
  parent_ = &parent;
  columns_ = child_.model.size() + 1;
  const std::size_t cells = (parent.size() + 1) * columns_;
  if (scores_.size() < cells) scores_.resize(cells), flows_.resize(cells), moves_.resize(cells);
  for (std::size_t i = 0; i <= parent.size(); ++i) fill_row(i);
  return at(parent.size(), child_.model.size());
}

void Alignment::fill_row(std::size_t i) {
  const PackedModel& child = child_.model;
  const auto to = i == 0 ? std::span<const std::uint32_t>() : parent_->inputs_of(i - 1);
  // For a node with at most one input, the row to read is the same for all columns.
  const bool single = to.size() < 2;
  const std::size_t only = to.empty() ? 0 : to[0] + 1;
  const double* above = scores_.data() + only * columns_;
  const double* above_flow = flows_.data() + only * columns_;
  double* here = scores_.data() + i * columns_;
  double* here_flow = flows_.data() + i * columns_;
  std::uint8_t* moves = moves_.data() + i * columns_;
  const std::uint32_t signature = i == 0 ? 0 : parent_->signatures[i - 1];
  const double* pair = i == 0 ? nullptr : table_.scores_of(signature);
  const double skip_parent =
      i == 0 ? 0 : kParentPenalty * (child_.unit_weights || parents_[signature].params > 0 ? 1.0 : kWithoutWeights);

  const auto passed = [&](std::size_t j) { return (single ? above[j] : at(best_parent(i, j), j)) - skip_parent; };
  here[0] = i == 0 ? 0 : passed(0);
  here_flow[0] = here[0];
  moves[0] = i == 0 ? kNone : kSkipParent;
  for (std::size_t j = 1; j < columns_; ++j) {
    const std::uint32_t* from = child.inputs.data() + child.begins[j - 1];
    const std::size_t count = child.begins[j] - child.begins[j - 1];
    const double weight = child_.weights[j - 1];
    double skipped = -kChildPenalty * weight;
    if (count == 0) skipped += here_flow[0];
    for (std::size_t k = 0; k < count; ++k) skipped += here_flow[from[k] + 1];
    double best = skipped;
    std::uint8_t move = kSkipChild;
    if (i > 0) {
      double matched = weight * pair[child.signatures[j - 1]];
      if (!single) {
        matched += assigned(i, j);
      } else if (count == 0) {
        matched += above_flow[0];
      } else {
        for (std::size_t k = 0; k < count; ++k) matched += above_flow[from[k] + 1];
      }
      if (matched >= best) best = matched, move = kMatch;  // a match wins a tie
      if (const double other = passed(j); other > best) best = other, move = kSkipParent;
    }
    here[j] = best;
    here_flow[j] = best * child_.shares[j - 1];
    moves[j] = move;
  }
}

std::size_t Alignment::best_parent(std::size_t i, std::size_t j) const {
  std::size_t best = 0;
  bool first = true;
  for (const std::uint32_t p : parent_->inputs_of(i - 1)) {
    if (first || at(p + 1, j) > at(best, j)) best = p + 1, first = false;
  }
  return best;
}

double Alignment::assigned(std::size_t i, std::size_t j) const {
  const auto to = parent_->inputs_of(i - 1), from = child_.model.inputs_of(j - 1);
  if (from.size() < 2) {
    const std::size_t c = from.empty() ? 0 : from[0] + 1;
    double best = kNever;
    for (const std::uint32_t p : to) best = std::max(best, flow(p + 1, c));
    return best;
  }
  if (to.size() == 2 && from.size() == 2) {
    const std::size_t p = to[0] + 1, q = to[1] + 1, a = from[0] + 1, b = from[1] + 1;
    return std::max(flow(p, a) + flow(q, b), flow(p, b) + flow(q, a));
  }
  return assign(to, from, nullptr);
}

/// Returns the row of the table for each input of j.
std::vector<std::size_t> Alignment::assignment(std::size_t i, std::size_t j) const {
  auto to = parent_->inputs_of(i - 1), from = child_.model.inputs_of(j - 1);
  std::vector<std::size_t> out;
  if (to.empty()) {
    out.assign(std::max<std::size_t>(from.size(), 1), 0);
  } else if (from.empty()) {
    std::size_t best = to[0] + 1;
    for (const std::uint32_t p : to) {
      if (flow(p + 1, 0) > flow(best, 0)) best = p + 1;
    }
    out.push_back(best);
  } else {
    assign(to, from, &out);
  }
  return out;
}

/// Assigns the inputs of the child's node to different inputs of the parent's node, and those left over to any. It uses
/// dynamic programming over sets of used inputs, and a greedy rule if there are too many.
double Alignment::assign(std::span<const std::uint32_t> to, std::span<const std::uint32_t> from,
                         std::vector<std::size_t>* choice) const {
  const auto best_of = [&](std::uint32_t c, auto&& allowed) {
    std::size_t best = to.size();
    for (std::size_t p = 0; p < to.size(); ++p) {
      if (allowed(p) && (best == to.size() || flow(to[p] + 1, c + 1) > flow(to[best] + 1, c + 1))) best = p;
    }
    return best;
  };
  const auto anyone = [](std::size_t) { return true; };
  if (choice != nullptr) choice->assign(from.size(), 0);
  if (to.size() > kMaxAssigned || to.size() == 1) {
    std::vector<bool> taken(to.size());
    std::size_t free = to.size();
    double sum = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::size_t p =
          free > 0 ? best_of(from[k], [&](std::size_t one) { return !taken[one]; }) : best_of(from[k], anyone);
      if (!taken[p]) taken[p] = true, --free;
      sum += flow(to[p] + 1, from[k] + 1);
      if (choice != nullptr) (*choice)[k] = to[p] + 1;
    }
    return sum;
  }
  const std::size_t masks = std::size_t{1} << to.size();
  const std::size_t surplus_replicas = from.size() > to.size() ? from.size() - to.size() : 0;
  std::vector<double> best(masks, kNever), next;
  std::vector<std::uint8_t> chosen(from.size() * masks, 0);
  best[0] = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    next.assign(masks, kNever);
    const double any = flow(to[best_of(from[k], anyone)] + 1, from[k] + 1);
    for (std::size_t mask = 0; mask < masks; ++mask) {
      if (best[mask] == kNever) continue;
      if (k - static_cast<std::size_t>(std::popcount(mask)) < surplus_replicas && best[mask] + any > next[mask]) {
        next[mask] = best[mask] + any;
        chosen[k * masks + mask] = static_cast<std::uint8_t>(to.size());
      }
      for (std::size_t p = 0; p < to.size(); ++p) {
        const std::size_t with = mask | (std::size_t{1} << p);
        const double sum = best[mask] + flow(to[p] + 1, from[k] + 1);
        if (with != mask && sum > next[with]) {
          next[with] = sum;
          chosen[k * masks + with] = static_cast<std::uint8_t>(p);
        }
      }
    }
    best.swap(next);
  }
  auto mask = static_cast<std::size_t>(std::ranges::max_element(best) - best.begin());
  const double sum = best[mask];
  if (choice == nullptr) return sum;
  for (std::size_t k = from.size(); k-- > 0;) {
    std::size_t p = chosen[k * masks + mask];
    if (p < to.size()) {
      mask &= ~(std::size_t{1} << p);
    } else {
      p = best_of(from[k], anyone);
    }
    (*choice)[k] = to[p] + 1;
  }
  return sum;
}

NodePairs Alignment::pairs() const {
  const PackedModel& child = child_.model;
  NodePairs out;
  std::vector<std::pair<std::size_t, std::size_t>> left{{parent_->size(), child.size()}};
  std::vector<bool> used(parent_->size() + 1), done(child.size() + 1), seen((parent_->size() + 1) * columns_);
  while (!left.empty()) {
    const auto [i, j] = left.back();
    left.pop_back();
    if (i == 0 || j == 0 || seen[i * columns_ + j]) continue;
    seen[i * columns_ + j] = true;
    const auto from = child.inputs_of(j - 1);
    switch (moves_[i * columns_ + j]) {
      case kSkipParent:
        left.emplace_back(parent_->inputs_of(i - 1).empty() ? 0 : best_parent(i, j), j);
        break;
      case kSkipChild:
        for (const std::uint32_t c : from) left.emplace_back(i, c + 1);
        break;
      case kMatch: {
        const bool same = table_.same_kind(parent_->signatures[i - 1], child.signatures[j - 1]);
        if (same && !done[j] && !used[i]) {
          done[j] = used[i] = true;
          out.emplace_back(static_cast<std::uint32_t>(i - 1), static_cast<std::uint32_t>(j - 1));
        }
        const std::vector<std::size_t> to = assignment(i, j);
        for (std::size_t k = 0; k < from.size(); ++k) left.emplace_back(to[k], from[k] + 1);
        break;
      }
      default:
        break;
    }
  }
  std::ranges::sort(out, {}, &NodePairs::value_type::second);
  return out;
}

}  // namespace lanista::zoo
