#pragma once

#include "lanista/search/study/config.h"

namespace lanista::bench {

/// What benchmarks train with where the recipe is not their subject: SGD with momentum at a constant rate, batches of
/// 32, no augmentation, no end.
study::Recipe plain_recipe();

}  // namespace lanista::bench
