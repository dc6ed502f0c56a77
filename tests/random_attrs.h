#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/op.h"

namespace lanista::testing {

/// Returns random attributes for an operator on inputs of these types. Shape inference may refuse them.
///
/// An optional attribute is left out with a probability of one third.
graph::Attrs random_attrs(Rng& rng, const graph::OpDef& def, std::span<const graph::ValueType> inputs);

/// Returns a random shape of one to four dimensions with this number of elements.
std::vector<std::int64_t> random_dims(Rng& rng, std::int64_t elements);

}  // namespace lanista::testing
