#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Microseconds a model and epoch for K models that read the same augmented digits, K = 1, 2, 4, 8, 16, one after the
/// other on one thread. Arms: `apart` augments for every model, `shared` once an epoch (data::EpochCache); `prefix` is
/// the augmentation of an epoch alone, `head` an epoch of training on samples that lie ready, `limit` what sharing can
/// reach: (prefix + K head) / K.
Result<void> prefix(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
