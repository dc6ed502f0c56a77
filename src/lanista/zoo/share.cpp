#include <algorithm>

#include "lanista/zoo/transfer.h"

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

}  // namespace

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
