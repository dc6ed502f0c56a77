#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"

// What a step of a program took somewhere: the rows of a store of times that outlives studies.
namespace lanista::study {

/// What the time of a step depends on beside the machine: which program it is, and what its like have in common.
struct StepShape {
  std::string program;    ///< program_key, in hexadecimal digits: equal programs take equal times
  std::string structure;  ///< structure_key of its model
  std::string optimizer, precision;
  std::int64_t batch = 1, shards = 1;
  double parameters = 0;
  double operators = 0;  ///< of the model: its depth, for whoever looks at many
  double widest = 0;     ///< numbers a sample of the largest value in it
  double flops = 0;      ///< forward, a sample
  double bytes = 0;      ///< forward, a sample: read and written once

  /// Logarithms of batch, width, depth, parameters, FLOPs and bytes of a step.
  std::array<double, 6> features() const;
  /// Seconds of a step on a machine that nobody has: what prices in a table are told as multiples of.
  double nominal_step() const;
  /// Beside that, on the same machine: of what a step does once whatever its batch is, the optimiser's pass over all
  /// parameters with their gradients and slots.
  double nominal_update() const;
  bool operator==(const StepShape&) const = default;
};
/// Of a trial's model and recipe. O(nodes). Errors: those of shape inference.
Result<StepShape> step_shape(const graph::Graph& model, const graph::OpTable& ops, const Recipe& recipe);

/// What was measured of a program on a machine, in one study: means over the spans of its trials, since a machine that
/// has something else to do now and then takes as long as it takes. 0: not known.
struct Profile {
  StepShape shape;
  std::string device;               ///< model of the CPU and numeric class
  std::int64_t width = 1;           ///< workers that shared its steps
  std::int64_t lanes = 1;           ///< trials that were trained in the same go
  std::int64_t residents = 1;       ///< workers of the machine that worked at the same time, on average
  std::int64_t spans = 0;           ///< that it is of
  double step = 0;                  ///< seconds of a step of one trial
  double evaluation_row = 0;        ///< seconds a row that is measured on
  double between = 0;               ///< seconds of an epoch in which its worker was told what to do, or waited for that
  double set_up = 0;                ///< seconds in which the program was made
  double save = 0, restore = 0;     ///< seconds of a snapshot, and of going on from one
  std::int64_t bytes = 0;           ///< of the program with its states, at most
  std::int64_t epochs_to_best = 0;  ///< in which its trials came within 2 % of their best measurement
  bool operator==(const Profile&) const = default;
};
nlohmann::json profile_json(const Profile& profile);
/// Errors: kDataLoss (what is missing or out of its bounds).
Result<Profile> read_profile(const nlohmann::json& in);

}  // namespace lanista::study
