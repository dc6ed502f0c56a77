#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/io/zoo/catalogue.h"
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {

/// How to search for a warm start.
struct QueryOptions {
  SearchOptions search = {};      ///< of the catalogue
  TransferOptions transfer = {};  ///< of the plan

  /// Whether models of the family (other data) are searched if the task has none.
  bool related = false;
};

/// The model from which a new one should start, and how.
struct WarmStart {
  ParentMatch parent_match;  ///< The parent; parent_match.entry.id is its id.
  graph::Graph parent;       ///< Its graph.
  TransferPlan plan;         ///< How its weights become those of the child.
  bool related = false;      ///< The parent was trained on another data set.
  /// Leading nodes of the child, in dependency order, that compute the same as in the parent.
  std::int64_t exact_prefix = 0;
  std::optional<ExpectedSaving> expected_saving = {};  ///< What earlier starts saved.
};

/// The best start for `child` in `catalogue`; none if there is none. `graph_of` reads a parent's graph. Errors: those
/// of verify() for the child; those of `graph_of`.
Result<std::optional<WarmStart>> query(const Catalogue& catalogue, const std::string& task, const graph::Graph& child,
                                       const graph::OpTable& ops,
                                       const std::function<Result<graph::Graph>(const std::string&)>& graph_of,
                                       const QueryOptions& options = {});

/// The best start for `child` in a store, which does not change. Thread-safe.
Result<std::optional<WarmStart>> query(const Store& store, const graph::Graph& child, const TaskKey& task,
                                       const graph::OpTable& ops, const QueryOptions& options = {});

/// A start with the tensors of the child that come from the parent (see apply()).
struct LoadedStart {
  WarmStart start;              ///< the parent and the plan
  std::vector<Tensor> tensors;  ///< tensors of the child
  /// Better models that are damaged, one line each. They are quarantined.
  std::vector<std::string> skipped;
};
/// Finds the best start with query() and loads it with apply(). It reads only the weights that the plan needs. A model
/// with damaged weights is quarantined, and the next one is tried. Errors: those of the store except kDataLoss of a
/// model.
Result<std::optional<LoadedStart>> load_start(Store& store, const graph::Graph& child, const TaskKey& task,
                                              const graph::OpTable& ops, const QueryOptions& options = {});

}  // namespace lanista::zoo
