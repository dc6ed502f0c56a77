#pragma once

#include <optional>
#include <string>

#include "lanista/engine/core/package.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/zoo/task.h"

namespace lanista::engine {

/// The key by which a zoo distinguishes tasks: kind and number of targets, hash of the class names, shape of a sample,
/// and hash of the data with their split.
zoo::TaskKey task_key(const data::DataSpec& data);

/// Quality of a model for a zoo; a larger value is better.
struct ZooQuality {
  double value = 0;                   ///< Value of the metric, negated if a smaller one is better.
  std::string metric;                 ///< Name of the metric, with "-" if it is negated: "accuracy", "-rmse".
  std::optional<double> chance = {};  ///< Value of a model without skill; absent: unknown.
};
/// The first metric of the study that the package has for the validation part, else the validation loss. nullopt: the
/// package has neither.
std::optional<ZooQuality> zoo_quality(const ModelPackage& package);
/// A JSON object with the package's facts `study`, `trial`, `epochs` and `recipe`, for storage in the zoo. A fact that
/// the package does not have is null.
nlohmann::json zoo_facts(const ModelPackage& package);

}  // namespace lanista::engine
