#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/cost.h"
#include "lanista/plan/sharing/plan.h"

// Whether the values of a prefix are worth their place: one rule for the pass and for executors on a CPU.
namespace lanista::fuse {

/// Why values are not kept; empty: they are. `saved_us` is what all epochs but the first save, `faster` whether every
/// reader reads faster than it computes.
std::string materialize_refusal(bool faster, double saved_us, double store_us, double bytes, double room);

/// Who wants what a prefix gives.
struct PrefixReaders {
  std::int64_t samples = 0;  ///< of an epoch
  std::int64_t epochs = 0;   ///< of all readers together
  std::int64_t room = 0;     ///< bytes
};

/// What keeping all that a prefix (graph::Cut) gives would cost and save; `values` and `key` are left empty. The same
/// arguments give the same answer. Errors: unite's.
Result<Materialized> materialization_of(const graph::Graph& prefix, const PrefixReaders& readers,
                                        const graph::OpTable& ops, const CostModel& cost);

}  // namespace lanista::fuse
