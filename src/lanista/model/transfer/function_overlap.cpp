#include "lanista/model/transfer/function_overlap.h"

#include <algorithm>
#include <map>

namespace lanista::zoo {
namespace {

constexpr std::uint32_t kNoNode = 0xffffffff;
constexpr double kOfRounding = 1e-9;

/// Returns the share of backward walks that visit each node.
std::vector<double> visit_probabilities_of(const PackedModel& model) {
  std::vector<double> out(model.size());
  std::vector<bool> read(model.size());
  for (const std::uint32_t input : model.inputs) read[input] = true;
  const auto ends = static_cast<double>(std::ranges::count(read, false));
  for (std::size_t j = model.size(); j-- > 0;) {
    if (!read[j]) out[j] = 1 / ends;
    const auto inputs = model.inputs_of(j);
    for (const std::uint32_t input : inputs) out[input] += out[j] / static_cast<double>(inputs.size());
  }
  return out;
}

}  // namespace

double function_overlap(const NodePairs& pairs, const PackedModel& parent, const ChildModel& child,
                        const PairTable& table) {
  std::vector<std::uint32_t> partner(child.model.size(), kNoNode);
  for (const auto& [i, j] : pairs) partner[j] = i;
  std::vector<double> kept(child.model.size());
  std::vector<bool> read(child.model.size());
  for (std::uint32_t j = 0; j < child.model.size(); ++j) {
    const auto inputs = child.model.inputs_of(j);
    for (const std::uint32_t input : inputs) read[input] = true;
    if (partner[j] == kNoNode) continue;
    const auto of_partner = parent.inputs_of(partner[j]);
    std::vector<std::uint32_t> left(of_partner.begin(), of_partner.end());
    double sum = 0;
    for (const std::uint32_t input : inputs) {
      const auto found = std::ranges::find(left, partner[input]);
      if (found == left.end()) continue;  // kNoNode is no index of a node
      left.erase(found);
      sum += kept[input];
    }
    const std::size_t most = std::max(inputs.size(), of_partner.size());
    const std::int64_t params = child.signature_params(j);
    const std::int64_t common = table.overlap(parent.signatures[partner[j]], child.model.signatures[j]);
    kept[j] = most == 0 ? 1.0 : sum / static_cast<double>(most);
    if (params > 0) kept[j] *= static_cast<double>(common) / static_cast<double>(params);
  }
  double ends = 0, sum = 0;
  for (std::uint32_t j = 0; j < child.model.size(); ++j) {
    if (!read[j]) ++ends, sum += kept[j];
  }
  return ends == 0 ? 0.0 : sum / ends;
}

FunctionOverlapBound::FunctionOverlapBound(const ChildModel& child, const Signatures& parents, const PairTable& table)
    : table_(table) {
  const std::vector<double> visit_probability = visit_probabilities_of(child.model);
  std::map<std::uint32_t, std::vector<double>> of_kind;  // the nodes of all kinds that no parent has are one entry
  std::map<std::uint32_t, double> of_signature;
  for (std::size_t j = 0; j < child.model.size(); ++j) {
    const std::uint32_t signature = child.model.signatures[j];
    of_kind[table.kind_of_child(signature)].push_back(visit_probability[j]);
    double& most = of_signature[signature];
    most = std::max(most, visit_probability[j]);
  }
  for (auto& [number, values] : of_kind) {
    std::ranges::sort(values);
    kinds_.push_back({number, std::move(values)});
  }
  for (const PackedModel::ParamSignature& holder : child.model.param_signatures) {
    param_signatures_.push_back({holder.signature, table.kind_of_child(holder.signature),
                                 of_signature[holder.signature],
                                 static_cast<double>(child.signatures[holder.signature].params)});
  }
  for (std::uint32_t p = 0; p < parents.size(); ++p) {
    parent_kinds_ = std::max<std::size_t>(parent_kinds_, parents[p].kind_number + std::size_t{1});
  }
}

double FunctionOverlapBound::of(const PackedModel& parent) const {
  std::vector<std::uint32_t> there(parent_kinds_);
  for (const std::uint32_t signature : parent.signatures) ++there[table_.kind_of_parent(signature)];
  double lost = 0;
  for (const Kind& kind : kinds_) {
    const std::size_t partners = kind.number == Signatures::kNone ? 0 : there[kind.number];
    if (partners < kind.visit_probability.size())
      lost = std::max(lost, kind.visit_probability[kind.visit_probability.size() - partners - 1]);
  }
  for (const ParamSignature& holder : param_signatures_) {
    std::int64_t most = 0;
    for (const PackedModel::ParamSignature& other : parent.param_signatures) {
      if (table_.kind_of_parent(other.signature) != holder.kind) continue;
      most = std::max(most, table_.overlap(other.signature, holder.signature));
    }
    lost = std::max(lost, holder.visit_probability * (1 - static_cast<double>(most) / holder.params));
  }
  return std::min(1.0, 1 - lost + kOfRounding);
}

}  // namespace lanista::zoo
