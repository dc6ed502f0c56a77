#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/cost.h"
#include "lanista/plan/sharing/plan.h"

// Whether the output of a frozen prefix is cached for every sample.
namespace lanista::sharing {

/// How often the output of a shared prefix is read, and the memory for caching it. It is cached for all samples or not
/// at all.
struct PrefixReaders {
  std::int64_t samples = 0;      ///< Samples of an epoch.
  std::int64_t epochs = 0;       ///< Epochs of all readers together.
  std::int64_t cache_bytes = 0;  ///< Memory that the cache may use, in bytes.
};

/// Computes what caching the output of `prefix` for every sample costs and saves, and decides whether it pays.
///
/// `prefix` has one output (see graph::Cut). Caching pays if (epochs - 1) * (compute - read) > store, where compute and
/// read are microseconds of an epoch, if reading is faster, and if the values fit into PrefixReaders::cache_bytes. The
/// same arguments give the same result. Errors: those of `unite`, such as an invalid model.
Result<Materialized> materialization_of(const graph::Graph& prefix, const PrefixReaders& readers,
                                        const graph::OpTable& ops, const plan::Costs& costs);

}  // namespace lanista::sharing
