#pragma once

/// `Tensor`: a named, dense, row-major array that owns its bytes. `elements_of<T>()` gives its elements.

#include "lanista/base/tensor.h"
