#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// One model of a zoo.
struct ZooModel {
  std::string id;     ///< Id of the model: 16 hexadecimal digits.
  std::string task;   ///< Key of the data and the targets for which it was trained.
  std::string state;  ///< "live", or why it is not offered as a start.
  /// Name of the metric of `quality`; "-" in front: the quality is the negated metric, of which smaller is better.
  std::string metric;
  std::string origin;               ///< Where the model comes from, for people, such as "studies/digits-1#7".
  double quality = 0;               ///< Value of `metric` on a part that it did not train on; larger is better.
  std::int64_t num_parameters = 0;  ///< Number of trained parameters of the model.
  std::int64_t bytes = 0;           ///< Bytes of its weights.
  std::int64_t hits = 0;            ///< Number of trainings that started from it.
  bool pinned = false;              ///< True: it is never evicted.
};

/// Returns the models of the zoo in `folder`, grouped by task, in each task the best first. It writes nothing. Damaged
/// rows are left out. Errors: kNotFound (no zoo), kFailedPrecondition (another version, or a folder with other files),
/// kUnavailable (another process holds its lock), kDataLoss (its index is damaged).
Result<std::vector<ZooModel>> list_zoo(const std::string& folder);

/// Returns the model with this id as text: one operator a line. Errors: those of list_zoo() (kNotFound,
/// kFailedPrecondition, kUnavailable, kDataLoss); kNotFound (no such model).
Result<std::string> read_zoo_model(const std::string& folder, const std::string& id);

}  // namespace lanista
