#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/cells.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Writes training cases to `folder`, so that other programs can train them.
///
/// A case is a file NAME.f32 with little-endian floats and an entry of cases.json with the arrays in it:
/// {"v":1,"steps":20,"momentum":0.9,"models":64,"cases":[{"name","file","batch","classes","vocab","arrays":[{"name",
/// "shape","offset"}]}]}. Offsets count elements. The arrays of a case are:
/// - features [batch, sample…], also for token numbers
/// - labels [batch]
/// - rates [models]
/// - losses [steps, models]: the losses of the lanista kernels before each step
/// - trained/NAME and buffer/NAME [models, …]: the start weights, in the order of the state of a step
///
/// With `cells`, the case cells-N has a list "cells" of the operations on the edges of each cell. Its weights are
/// I/trained/NAME and I/buffer/NAME for cell I, without the axis of models.
///
/// Creates the folder. Errors: kIo, and those of LanistaProgram.
Result<void> write_case_files(std::span<const Case> cases, std::int64_t models, int steps, std::span<const Cell> cells,
                              const std::string& folder);

}  // namespace lanista::bench
