#pragma once

#include <map>
#include <string>

#include "lanista/engine/engine.h"

namespace lanista::engine {

/// What goes into the model package `best/`.
struct Package {
  std::string study;
  const TrialView* trial = nullptr;
  const graph::Graph* model = nullptr;
  const data::DataSpec* data = nullptr;
  std::map<std::string, double> test;
};

/// Writes `best/`: model.graph, weights.safetensors (parameters and buffers), package.json. The same input gives the
/// same bytes. Errors: kDataLoss, kNotFound (weights), kIo, kResourceExhausted.
Result<void> write_package(FileSystem& fs, const std::string& study_folder, const store::Checkpoint& weights,
                           const Package& package);

}  // namespace lanista::engine
