#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"

// Measured step times of a program: the rows of the timing history, which is kept across studies.
namespace lanista::study {

/// The properties of a training step that determine its time on a machine.
struct StepShape {
  std::string program;                 ///< program_key in hexadecimal digits; equal programs have equal times
  std::string structure;               ///< structure_key of the model, in hexadecimal digits
  std::string optimizer, precision;    ///< Names, as in the recipe.
  std::int64_t batch = 1, shards = 1;  ///< Samples of a step, and shards of its batch.
  double parameters = 0;               ///< Number of parameters of the model.
  double operators = 0;                ///< Number of operators of the model.
  double widest = 0;                   ///< Elements of the largest value between operators, for one sample.
  double flops = 0;                    ///< Forward FLOPs of a sample.
  double bytes = 0;                    ///< Bytes read and written by the forward pass of a sample.

  /// Returns natural logarithms of batch, largest value, operators, parameters, and forward FLOPs and bytes of a whole
  /// batch, in this order. Values below 1 count as 1.
  std::array<double, 6> features() const;
  /// Returns the seconds of a step, without the optimiser update, on a fictitious machine: 20 GFLOP/s, 10 GB/s and 1
  /// microsecond an operator.
  double nominal_step() const;
  /// Returns the seconds of the optimiser update on the same fictitious machine: one pass over parameters, gradients
  /// and optimiser state. They do not depend on the batch.
  double nominal_update() const;
  bool operator==(const StepShape&) const = default;
};
/// Returns the step shape of a trial's model and recipe. O(nodes). Errors: those of graph::infer_shapes (kNotFound,
/// kInvalidArgument).
Result<StepShape> step_shape(const graph::Graph& model, const graph::OpTable& ops, const Recipe& recipe);

/// Measurements of one program on one machine in one study. Times of steps, evaluation and waits are means over the
/// spans of its trials, so other load on the machine is averaged. Times of compiling, writing and reading, and
/// `epochs_to_best`, are medians. 0: not known.
struct Profile {
  StepShape shape;
  std::string device;          ///< Name of the CPU or GPU model, with the numeric class.
  std::int64_t width = 1;      ///< Number of workers that shared its steps.
  std::int64_t lanes = 1;      ///< Number of trials that were trained together.
  std::int64_t residents = 1;  ///< Workers of the machine that were busy at the same time, on average.
  std::int64_t spans = 0;      ///< Number of spans behind these means.
  double step = 0;             ///< Seconds of a step of one trial; its share of a step with several lanes.
  double evaluation_row = 0;   ///< Seconds of evaluation of one row.
  /// Seconds between two spans of a worker, without compiling, restoring and saving, such as waits for commands.
  double between = 0;
  double set_up = 0;             ///< Seconds of compiling the program.
  double save = 0, restore = 0;  ///< Seconds of writing one checkpoint, and of reading one.
  std::int64_t bytes = 0;        ///< Most memory of the program with its attached states, in bytes.
  /// Number of epochs after which its trials were within 2 % of their best measurement.
  std::int64_t epochs_to_best = 0;
  bool operator==(const Profile&) const = default;
};
/// Returns a profile as a flat JSON record: the fields of StepShape and Profile by name. Keys of times end in
/// "_seconds"; the bytes are "bytes_moved" (of the shape) and "peak_bytes".
nlohmann::json profile_json(const Profile& profile);
/// Reads the record of a profile. Errors: kDataLoss (a field is missing or out of range).
Result<Profile> read_profile(const nlohmann::json& in);

}  // namespace lanista::study
