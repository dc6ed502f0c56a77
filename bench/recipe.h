#pragma once

#include "lanista/search/study/config.h"

namespace lanista::bench {

/// The recipe of benchmarks that do not compare recipes: SGD with momentum, a constant rate of 0.05, batches of 32, no
/// augmentation, and a million epochs.
study::Recipe plain_recipe();

}  // namespace lanista::bench
