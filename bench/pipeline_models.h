#pragma once

#include <cstdint>

#include "lanista/plan/pipeline/model.h"

namespace lanista::bench {

// The models of the evaluation of GraphPipe (ASPLOS'25, section 7), with stated costs. Nothing here was measured.
//
// The time of a pass is 10 us for each kernel, its arithmetic and its memory traffic. Both run at 0.8 of the peak of a
// V100 (15.7 TFLOP/s of single precision, 900 GB/s). Weight-gradient passes have twice the traffic. Each parameter is
// stored four times. `batch` is the number of samples of a step.

/// MMT: branches of transformer layers, and a concatenation.
///
/// A layer is one operator, with width 1024, 16 heads, inner width 4096 and 256 tokens.
pipeline::Model multi_modal_transformer(std::int64_t branches, std::int64_t layers, std::int64_t batch);

/// DLRM: seven dense branches and seven tables, a concatenation, and four dense layers.
///
/// A dense branch has four layers of width 4096. A table has 1,000,000 vectors of width 64; a sample adds 100 of them.
pipeline::Model recommendation_model(std::int64_t batch);

/// CANDLE-Uno: branches of four dense layers of width 4096, a concatenation, and four dense layers.
pipeline::Model candle_uno(std::int64_t branches, std::int64_t batch);

/// Summit: V100s with 16 GB, four a machine.
///
/// Links have 50 GB/s a direction and 10 us inside a machine (NVLink), 100 Gb/s and 20 us between machines.
pipeline::Devices summit(std::int64_t devices);

}  // namespace lanista::bench
