#include <algorithm>

#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {
namespace {

std::int64_t inherited_of(const TensorPlan& plan) {
  if (plan.kind != TensorPlan::Kind::kCopy && plan.kind != TensorPlan::Kind::kMap) return 0;
  std::int64_t out = 1;
  for (std::size_t axis = 0; axis < plan.shape.size(); ++axis) {
    const bool whole = axis >= plan.axes.size() || plan.axes[axis].from.empty();
    const auto is_parents = [](std::int64_t index) { return index >= 0 || index == kMean; };
    out *= whole ? plan.shape[axis] : std::ranges::count_if(plan.axes[axis].from, is_parents);
  }
  return out;
}

/// Whether all elements are distinct indices of the parent.
bool takes_each_once(const AxisMap& axis) {
  if (std::ranges::any_of(axis.times, [](double factor) { return factor != 1; })) return false;
  std::vector<std::int64_t> sorted = axis.from;
  std::ranges::sort(sorted);
  return (sorted.empty() || sorted.front() >= 0) && std::ranges::adjacent_find(sorted) == sorted.end();
}

bool is_one_to_one(const TensorPlan& plan) {
  if (plan.kind == TensorPlan::Kind::kCopy) return true;
  return plan.kind == TensorPlan::Kind::kMap && plan.groups == 1 && std::ranges::all_of(plan.axes, takes_each_once);
}

}  // namespace

std::string first_not_one_to_one(const TransferPlan& plan) {
  const auto found = std::ranges::find_if_not(plan.tensors, is_one_to_one);
  return found == plan.tensors.end() ? "" : found->name;
}

double inherited_share(const TransferPlan& plan) {
  std::int64_t all = 0, inherited = 0;
  for (const TensorPlan& tensor : plan.tensors) {
    std::int64_t elements = 1;
    for (const std::int64_t dim : tensor.shape) elements *= dim;
    all += elements;
    inherited += inherited_of(tensor);
  }
  return all > 0 ? static_cast<double>(inherited) / static_cast<double>(all) : 0;
}

}  // namespace lanista::zoo
