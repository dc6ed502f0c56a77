#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Steps of models in stages on two threads, really done: a model of two branches against one thread that does the same
/// micro-batches and against the bounds; 30 random plans of one model, what was predicted of each and what it took; and
/// eight small trials as branches of one graph, against their lanes and against taking turns.
Result<void> pipeline_real(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
