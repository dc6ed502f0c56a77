#pragma once

#include <optional>
#include <string>

#include "lanista/engine/core/package.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/zoo/task.h"

namespace lanista::engine {

/// The key by which a zoo distinguishes tasks: kind and number of targets, label names, shape of a sample, and the data
/// with their split.
zoo::TaskKey task_key(const data::DataSpec& data);

/// Quality of a model for a zoo; a larger value is better.
struct ZooQuality {
  double value = 0;                   ///< The metric, with the sign of `metric`.
  std::string metric;                 ///< "accuracy", "-rmse".
  std::optional<double> chance = {};  ///< Value of a model without skill, if known.
};
/// The first metric of the study on the validation part, else the loss. nullopt: the package has neither.
std::optional<ZooQuality> zoo_quality(const ModelPackage& package);
/// Origin and training of a package's model, for storage in the zoo.
nlohmann::json zoo_facts(const ModelPackage& package);

}  // namespace lanista::engine
