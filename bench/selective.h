#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Training on some of the examples (train.select) against training on all of them, on the digits with labels that are
/// wrong in 0 to 40 % of the training rows, on the digits where five classes have a tenth of their rows, and on three
/// spirals. Arms: `uniform`; the bold controls `uniform-matched` (so many epochs that it does as many
/// backward passes as `selective-1`, with a schedule that decays in these) and `random`; selective with beta 1, 2, 3
/// and with losses that count for 2 and 3 passes; `auto` and `auto-every-5`, that select where it has won (what they
/// give up counts as backward passes); Composer's rule. `seeds` trainings an arm, with the same seeds, in turn.
///
/// A row a measure: final error in per cent of the validation rows; its distance to `uniform`, `uniform-matched` and
/// `random`, seed by seed, with a half width of the 95 % interval (Student's) in place of the spread; seconds and
/// thousands of backward passes to 1.1, 1.2 and 1.4 times the final error of `uniform` (its median; trainings that do
/// not get there are left out, and `reached` says their share); milliseconds of training an epoch, beside those that
/// the model of gain predicts (select_model.h), and what its parts took. Seconds are those of the training's thread.
/// The parts are measured by five trainings more, each of which does one thing more than another; all train side by
/// side, an epoch of each in turn. Errors: those of train::Trainer.
Result<void> selective(int seeds, bool json, std::ostream& out);

}  // namespace lanista::bench
