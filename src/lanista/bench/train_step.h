#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Time of one training step, batch 32, one thread: our one-lane program against a hand-written LibTorch loop of the
/// same model (functional calls, autograd, momentum update by hand; the better of plain and channels-last memory). Both
/// start from the same weights, and their losses after 20 steps must agree to 1e-4, or the benchmark fails.
Result<void> train_step(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
