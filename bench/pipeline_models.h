#pragma once

#include <cstdint>

#include "lanista/plan/pipeline/model.h"

namespace lanista::bench {

/// The models of GraphPipe's evaluation (graphpipe.md 7) with stated costs; nothing here was measured. A pass of n
/// samples takes 10 us a kernel, and its arithmetic and its bytes at 0.8 of what a V100 has (15.7 TFLOP/s of single
/// precision, 900 GB/s); weight-gradient passes touch their bytes twice. Parameters are held four times. `batch`:
/// samples of a step.

/// `branches` of `layers` transformer layers (width 1024, 16 heads, inner width 4096, 256 tokens), one operator each,
/// and what concatenates them.
pipeline::Model multi_modal_transformer(std::int64_t branches, std::int64_t layers, std::int64_t batch);
/// Seven branches of four dense layers of 4096 and seven tables of a million vectors of 64 (a hundred of them are added
/// up a sample), concatenated, and four dense layers.
pipeline::Model recommendation_model(std::int64_t batch);
/// CANDLE-Uno: branches of four dense layers of 4096, concatenated, and four dense layers.
pipeline::Model candle_uno(std::int64_t branches, std::int64_t batch);

/// V100s of 16 GB, four a machine: NVLink (50 GB/s a direction, 10 us) inside, 100 Gb/s (20 us) between machines.
pipeline::Devices summit(std::int64_t devices);

}  // namespace lanista::bench
