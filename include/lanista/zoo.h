#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// One model of a zoo.
struct ZooModel {
  std::string id;                   ///< 16 hexadecimal digits.
  std::string task;                 ///< Key of the data and the targets for which it was trained.
  std::string state;                ///< "live", or why it is not offered as a start.
  std::string metric;               ///< Name of the quality; "-" in front of it where smaller numbers are better.
  std::string origin;               ///< Text for the user, such as "studies/digits-1#7".
  double quality = 0;               ///< Value on a held-out part; larger is better.
  std::int64_t num_parameters = 0;  ///< Trained numbers of the model.
  std::int64_t bytes = 0;           ///< Bytes of its weights.
  std::int64_t hits = 0;            ///< Trainings that started from it.
  bool pinned = false;              ///< Whether it is never evicted.
};

/// The models of the zoo in `folder`, by task, best first. It writes nothing. Damaged rows are left out. Errors:
/// kNotFound (no zoo), kFailedPrecondition (another version, or a folder with other files), kUnavailable, kDataLoss.
Result<std::vector<ZooModel>> list_zoo(const std::string& folder);

/// The model with this id as text: one operator a line. Errors: those of list_zoo(); kNotFound (no such model).
Result<std::string> read_zoo_model(const std::string& folder, const std::string& id);

}  // namespace lanista
