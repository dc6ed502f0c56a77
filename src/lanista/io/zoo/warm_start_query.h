#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/io/zoo/catalogue.h"
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {

/// Settings of a search for a warm start.
struct QueryOptions {
  SearchOptions search = {};      ///< settings of Catalogue::best()
  TransferOptions transfer = {};  ///< settings of plan_transfer()

  /// True: if no model of the task fits, models of the family (other data) are searched. Only for queries of a Store.
  bool related = false;
};

/// The parent model from which a child should start, and the transfer of its weights.
struct WarmStart {
  ParentMatch parent_match;  ///< The parent; parent_match.entry.id is its id.
  graph::Graph parent;       ///< Graph of the parent.
  TransferPlan plan;         ///< How weights of the parent become those of the child.
  bool related = false;      ///< True: the parent was trained on another data set.
  /// Number of first nodes of the child, in dependency order, that compute the same values as nodes of the parent.
  std::int64_t exact_prefix = 0;
  /// Mean saving of earlier starts; none: not reported, or the query was not of a Store.
  std::optional<ExpectedSaving> expected_saving = {};
};

/// The best start for `child` among models of `task` in `catalogue`; none if no model fits. `graph_of` returns the
/// graph of a model by id, and is called for the parent only. Errors: those of graph::verify() (kNotFound,
/// kInvalidArgument) for the child or the parent; those of `graph_of`.
Result<std::optional<WarmStart>> query(const Catalogue& catalogue, const std::string& task, const graph::Graph& child,
                                       const graph::OpTable& ops,
                                       const std::function<Result<graph::Graph>(const std::string&)>& graph_of,
                                       const QueryOptions& options = {});

/// The best start for `child` among live models of `task` in a store; none if no model fits. It writes nothing.
/// Thread-safe. Errors: those of graph::verify() (kNotFound, kInvalidArgument) for the child; those of the store.
Result<std::optional<WarmStart>> query(const Store& store, const graph::Graph& child, const TaskKey& task,
                                       const graph::OpTable& ops, const QueryOptions& options = {});

}  // namespace lanista::zoo
