#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// The trainings of one proposal on five folds of the digits: as lanes of one program that share what augmentations
/// only move, against five trials of their own, one after the other. Milliseconds an epoch of all five, on one thread;
/// `single/folds` is the median of quotients round by round. Errors: those of train::Trainer; kInternal (arms differ in
/// a loss).
Result<void> folds(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
