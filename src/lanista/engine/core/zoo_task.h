#pragma once

#include <optional>
#include <string>

#include "lanista/io/data/spec.h"
#include "lanista/engine/core/package.h"
#include "lanista/io/zoo/task.h"

namespace lanista::engine {

/// What models of these data are trained for, as the zoo tells tasks apart: kind and number of targets, names of
/// labels, form of a sample, and the data with their split.
zoo::TaskKey task_key(const data::DataSpec& data);

/// How good a zoo takes a model to be: larger is better.
struct ZooQuality {
  double value = 0;
  std::string metric;  ///< "accuracy", "-rmse"
  std::optional<double> chance = {};
};
/// The first metric that was asked for, on the validation part; else the loss. nullopt: the package says neither.
std::optional<ZooQuality> zoo_quality(const ModelPackage& package);
/// What a zoo keeps beside a package's model: where it is from, how it was trained.
nlohmann::json zoo_facts(const ModelPackage& package);

}  // namespace lanista::engine
