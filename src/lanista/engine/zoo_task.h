#pragma once

#include "lanista/data/spec.h"
#include "lanista/zoo/task.h"

namespace lanista::engine {

/// What models of these data are trained for, as the zoo tells tasks apart: kind and number of targets, names of
/// labels, form of a sample, and the data with their split.
zoo::TaskKey task_key(const data::DataSpec& data);

}  // namespace lanista::engine
