#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/io/zoo/catalogue.h"
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::zoo {

struct QueryOptions {
  SearchOptions search = {};
  TransferOptions transfer = {};
  /// Where the task has nothing to offer, models of the same family (other data, the same form) are asked.
  bool related = false;
};

/// From which model a new one should start, and how.
struct WarmStart {
  ParentMatch parent_match;  ///< offer.entry.id: the parent
  graph::Graph parent;
  TransferPlan plan;
  bool related = false;  ///< the parent is of another data set
  std::int64_t exact_prefix =
      0;  ///< leading nodes of the child, in dependency order, that compute what the parent's do
  std::optional<ExpectedSaving> expected_saving = {};  ///< what earlier starts saved
};

/// The best start for `child` that `catalogue` has; nullopt: none. `graph_of` reads a parent's graph. Errors: verify's,
/// of the child; graph_of's.
Result<std::optional<WarmStart>> query(const Catalogue& catalogue, const std::string& task, const graph::Graph& child,
                                       const graph::OpTable& ops,
                                       const std::function<Result<graph::Graph>(const std::string&)>& graph_of,
                                       const QueryOptions& options = {});

/// The same from a store; changes nothing in it. Thread-safe.
Result<std::optional<WarmStart>> query(const Store& store, const graph::Graph& child, const TaskKey& task,
                                       const graph::OpTable& ops, const QueryOptions& options = {});

/// A start with the child's tensors, but for random ones (see apply).
struct LoadedStart {
  WarmStart start;
  std::vector<Tensor> tensors;
  /// Models that would have been better but are damaged, a line each; they are quarantined.
  std::vector<std::string> skipped;
};
/// query, and what apply makes of the parent's weights; reads no more of them than the plan wants. Where those are
/// damaged the model is quarantined and the next one asked. Errors: the store's but kDataLoss of a model.
Result<std::optional<LoadedStart>> load_start(Store& store, const graph::Graph& child, const TaskKey& task,
                                              const graph::OpTable& ops, const QueryOptions& options = {});

}  // namespace lanista::zoo
