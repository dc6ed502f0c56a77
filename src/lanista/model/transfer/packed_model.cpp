#include "lanista/model/transfer/packed_model.h"

#include <algorithm>

namespace lanista::zoo {
namespace {

constexpr double kMinShare = 0.3;  // least share of transferable weights of a pair
constexpr double kLarger = 1.2;    // divisor if the parent has more weights than the child
constexpr double kMismatch = -1;

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t dim : shape) out *= dim;
  return out;
}

}  // namespace

std::int64_t shape_overlap(const Signature& parent, const Signature& child) {
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

double signature_score(const Signature& parent, const Signature& child) {
  if (parent.kind != child.kind) return kMismatch;
  if (parent.params == 0 && child.params == 0) return 1;
  const auto both = static_cast<double>(shape_overlap(parent, child));
  const auto p = static_cast<double>(parent.params), c = static_cast<double>(child.params);
  const double share = p > c ? both / (kLarger * p) : both / c;
  return share > kMinShare ? share : kMismatch;
}

std::uint32_t Signatures::intern(const std::string& kind, const std::vector<std::vector<std::int64_t>>& shapes) {
  const auto [it, fresh] = numbers_.try_emplace({kind, shapes}, static_cast<std::uint32_t>(all_.size()));
  if (fresh) {
    Signature one{kind, shapes, 0, kinds_.try_emplace(kind, static_cast<std::uint32_t>(kinds_.size())).first->second};
    for (const auto& shape : shapes) one.params += elements(shape);
    all_.push_back(std::move(one));
  }
  return it->second;
}

std::uint32_t Signatures::kind_number(const std::string& kind) const {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? kNone : found->second;
}

PackedModel pack_model(const MatchModel& model, Signatures& table) {
  PackedModel out;
  out.hash = model.hash;
  out.begins.push_back(0);
  for (const MatchModel::Node& node : model.nodes) {
    out.signatures.push_back(table.intern(node.kind, node.shapes));
    out.ids.push_back(node.id);
    out.computes.push_back(node.computes);
    for (const std::size_t place : node.inputs) out.inputs.push_back(static_cast<std::uint32_t>(place));
    out.begins.push_back(static_cast<std::uint32_t>(out.inputs.size()));
  }
  count_param_signatures(out, table);
  return out;
}

void count_param_signatures(PackedModel& model, const Signatures& table) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts;
  model.params = 0;
  for (const std::uint32_t signature : model.signatures) {
    const Signature& one = table[signature];
    model.params += one.params;
    if (one.params > 0) ++counts[{one.kind_number, signature}];
  }
  model.param_signatures.clear();
  for (const auto& [key, count] : counts) model.param_signatures.push_back({key.second, count});
}

PairTable::PairTable(const Signatures& parents, const Signatures& children)
    : columns_(children.size()), scores_(parents.size() * columns_, kMismatch), overlaps_(parents.size() * columns_) {
  for (std::uint32_t c = 0; c < columns_; ++c) child_kinds_.push_back(parents.kind_number(children[c].kind));
  for (std::uint32_t p = 0; p < parents.size(); ++p) {
    parent_kinds_.push_back(parents[p].kind_number);
    for (std::uint32_t c = 0; c < columns_; ++c) {
      if (parent_kinds_[p] != child_kinds_[c]) continue;
      scores_[p * columns_ + c] = signature_score(parents[p], children[c]);
      overlaps_[p * columns_ + c] = shape_overlap(parents[p], children[c]);
    }
  }
}

std::int64_t overlap_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table) {
  std::int64_t most = 0;
  const auto &ps = parent.param_signatures, &cs = child.param_signatures;
  // Both lists are sorted by kind.
  for (std::size_t c = 0; c < cs.size();) {
    const std::uint32_t kind = table.kind_of_child(cs[c].signature);
    std::size_t end = c + 1;
    while (end < cs.size() && table.kind_of_child(cs[end].signature) == kind) ++end;
    std::size_t p = 0;
    while (p < ps.size() && table.kind_of_parent(ps[p].signature) != kind) ++p;
    std::int64_t gives = 0, takes = 0;
    std::size_t last = p;
    for (; last < ps.size() && table.kind_of_parent(ps[last].signature) == kind; ++last) {
      std::int64_t best = 0;
      for (std::size_t k = c; k < end; ++k) best = std::max(best, table.overlap(ps[last].signature, cs[k].signature));
      gives += best * ps[last].count;
    }
    for (std::size_t k = c; k < end; ++k) {
      std::int64_t best = 0;
      for (std::size_t q = p; q < last; ++q) best = std::max(best, table.overlap(ps[q].signature, cs[k].signature));
      takes += best * cs[k].count;
    }
    most += std::min(gives, takes);
    c = end;
  }
  return most;
}

double similarity_bound(const PackedModel& parent, const PackedModel& child, const PairTable& table) {
  if (parent.hash == child.hash) return 1;
  const std::int64_t most = overlap_bound(parent, child, table);
  const std::int64_t all = child.params + parent.params;
  return all == 0 ? 0.0 : 2 * static_cast<double>(most) / static_cast<double>(all);
}

}  // namespace lanista::zoo
