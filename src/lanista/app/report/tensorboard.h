#pragma once

#include <cstddef>

#include "lanista/app/report/facts.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Settings of the export for TensorBoard.
struct TensorboardOptions {
  double base_time = 0;      ///< Start of the study in Unix seconds; worked seconds are added.
  std::size_t trials = 200;  ///< Number of the best trials; several hundred make TensorBoard slow.
  bool all = false;          ///< True: export all trials, whatever `trials` is.
};

/// Returns the event files of a log folder for TensorBoard, by path relative to that folder.
///
/// The root has one file with the HParams record of the experiment: all hyper-parameters, the base model ("base") and
/// all metrics. Each exported trial has a folder "trial_<id>", with the id in four digits or more. It contains the
/// trial's hyper-parameters, one float32 scalar for each metric and measurement, and the status of an ended trial. The
/// step of a scalar is the number of training steps, which increases strictly; a measurement without more steps is left
/// out. NaN is a value. A hyper-parameter has one type in all trials. Wall times in a file never decrease.
///
/// Trials are in the order of rank, then those without a rank by id. O(measurements).
FilesByPath tensorboard_files(const study::StudyView& view, const TensorboardOptions& options = {});

/// Returns one record of a TFRecord file, as bytes: length, masked CRC-32C of the length, payload, masked CRC-32C of
/// the payload.
std::string tf_record(std::string_view payload);

}  // namespace lanista::report
