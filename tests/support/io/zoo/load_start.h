#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/io/zoo/warm_start_query.h"

namespace lanista::zoo::testing {

/// A warm start with the tensors of the child that come from the parent.
struct LoadedStart {
  WarmStart start;              ///< the parent and the plan
  std::vector<Tensor> tensors;  ///< tensors of the child from apply(), without random ones
  /// One text for users for each better parent that was damaged and is quarantined now.
  std::vector<std::string> skipped;
};
/// Finds the best start with query() and makes the tensors of the child with apply(); none if no model fits. It reads
/// only the tensors that the plan needs. A model with damaged weights is quarantined, and the next one is tried.
/// Errors: those of the store except kDataLoss of a model.
inline Result<std::optional<LoadedStart>> load_start(Store& store, const graph::Graph& child, const TaskKey& task,
                                                     const graph::OpTable& ops, const QueryOptions& options = {}) {
  std::vector<std::string> skipped;
  while (true) {
    auto start = query(store, child, task, ops, options);
    std::string damaged, id;
    if (!start) return start.error();
    if (!*start) return std::optional<LoadedStart>();
    id = (*start)->parent_match.entry.id;
    std::set<std::string> wanted;
    for (const TensorPlan& tensor : (*start)->plan.tensors) {
      if (!tensor.from.empty()) wanted.insert(tensor.from);
    }
    Result<std::vector<Tensor>> parent = std::vector<Tensor>();
    if (!wanted.empty()) parent = store.weights(id, {wanted.begin(), wanted.end()});
    Result<std::vector<Tensor>> tensors =
        parent ? apply((*start)->plan, *parent, child, ops, options.transfer.seed) : std::move(parent);
    if (tensors) return std::optional(LoadedStart{**std::move(start), *std::move(tensors), std::move(skipped)});
    if (tensors.error().code == Code::kNotFound) continue;  // removed in the meantime
    if (tensors.error().code != Code::kDataLoss && tensors.error().code != Code::kInvalidArgument)
      return tensors.error();
    skipped.push_back(tensors.error().message);
    LANISTA_TRY(store.quarantine(id, tensors.error().message));
  }
}

}  // namespace lanista::zoo::testing
