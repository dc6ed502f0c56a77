#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `folds`: the trainings of one proposal on five folds of the digits.
///
/// Arm `folds` trains them as lanes of one program, which share the augmented samples that all folds have. Arm `single`
/// trains five separate trials, one after the other. The value is milliseconds an epoch of all five on one thread.
/// `single/folds` is the median of the quotients round by round. Errors: those of train::Trainer; kInternal if arms
/// differ in a loss.
Result<void> folds(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
