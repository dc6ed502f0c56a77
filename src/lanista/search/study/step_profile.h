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
  std::string program;    ///< program_key in hexadecimal digits; equal programs have equal times
  std::string structure;  ///< structure_key of the model
  std::string optimizer, precision;
  std::int64_t batch = 1, shards = 1;
  double parameters = 0;  ///< Parameters of the model.
  double operators = 0;   ///< Operators of the model.
  double widest = 0;      ///< Elements for a sample of the largest value in the model.
  double flops = 0;       ///< Forward FLOPs of a sample.
  double bytes = 0;       ///< Bytes read and written by the forward pass of a sample.

  /// Returns the logarithms of batch, largest value, operators, parameters, FLOPs and bytes of a step.
  std::array<double, 6> features() const;
  /// Returns the seconds of a step on a fixed fictitious machine. Stored prices are multiples of it.
  double nominal_step() const;
  /// Returns the seconds of the optimiser update on that machine, which do not depend on the batch: one pass over
  /// parameters, gradients and optimiser state.
  double nominal_update() const;
  bool operator==(const StepShape&) const = default;
};
/// Returns the step shape of a trial's model and recipe. O(nodes). Errors: those of shape inference.
Result<StepShape> step_shape(const graph::Graph& model, const graph::OpTable& ops, const Recipe& recipe);

/// Measurements of one program on one machine in one study. They are means over the spans of its trials, so other load
/// on the machine is averaged. 0: not known.
struct Profile {
  StepShape shape;
  std::string device;               ///< CPU or GPU model and numeric class.
  std::int64_t width = 1;           ///< Workers that shared its steps.
  std::int64_t lanes = 1;           ///< Trials trained together.
  std::int64_t residents = 1;       ///< Workers of the machine that were busy at the same time, on average.
  std::int64_t spans = 0;           ///< Number of spans.
  double step = 0;                  ///< Seconds of a step of one trial.
  double evaluation_row = 0;        ///< Seconds of evaluation of one row.
  double between = 0;               ///< Seconds of an epoch in which the worker waited for or received commands.
  double set_up = 0;                ///< Seconds of compiling the program.
  double save = 0, restore = 0;     ///< Seconds of writing a checkpoint, and of reading one.
  std::int64_t bytes = 0;           ///< Largest bytes of the program with its states.
  std::int64_t epochs_to_best = 0;  ///< Epochs after which its trials were within 2 % of their best measurement.
  bool operator==(const Profile&) const = default;
};
/// Returns the record of a profile.
nlohmann::json profile_json(const Profile& profile);
/// Reads the record of a profile. Errors: kDataLoss (a field is missing or out of range).
Result<Profile> read_profile(const nlohmann::json& in);

}  // namespace lanista::study
