#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bench/cells.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Writes training cases for programs that are not ours: for each a file NAME.f32 of little-endian floats and an entry
/// in cases.json, which says where in it what lies:
/// {"v":1,"steps":20,"momentum":0.9,"models":64,"cases":[{"name","file","batch","classes","vocab","arrays":[{"name",
/// "shape","offset"}]}]}, offsets in elements. Arrays: features [batch, sample…] (token numbers too), labels [batch],
/// rates [models], losses [steps, models] of own kernels before each step, and then the starting weights in the order
/// of a step's state, [models, …]: "trained/NAME", "buffer/NAME". With `cells`, an entry "cells-N"
/// besides: "cells" lists the operations of each on its edges (Cell), and weights are "I/trained/NAME", "I/buffer/NAME"
/// of cell I, without the axis of models. Makes the folder. Errors: kIo, those of LanistaProgram.
Result<void> write_case_files(std::span<const Case> cases, std::int64_t models, int steps, std::span<const Cell> cells,
                              const std::string& folder);

}  // namespace lanista::bench
