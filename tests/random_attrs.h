#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/op.h"

namespace lanista::testing {

/// Attributes of one use of an operator on inputs of these types, at random; inference may refuse them. Optional ones
/// are left out in one of three cases.
graph::Attrs random_attrs(Rng& rng, const graph::OpDef& def, std::span<const graph::ValueType> inputs);

/// The dimensions of a shape with as many elements in one to four dimensions.
std::vector<std::int64_t> random_dims(Rng& rng, std::int64_t elements);

}  // namespace lanista::testing
