#pragma once

#include <cstddef>

#include "lanista/app/report/facts.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

struct TensorboardOptions {
  double base_time = 0;      ///< unix seconds of the study's beginning; worked seconds are added to it
  std::size_t trials = 200;  ///< the best so many; TensorBoard becomes slow with several hundred runs
  bool all = false;          ///< every trial
};

/// A log folder for TensorBoard: event files by path.
///
/// In the root one file with the HParams record of the experiment: every hyper-parameter of the space, the base model
/// ("base") and every metric. For each trial a folder "trial_<id>" with its hyper-parameters (those that are absent
/// from its sample are left out), a scalar a metric and measurement (step: training steps, strictly increasing; NaN is
/// data) and, once it has ended, its status. A hyper-parameter has one type in all trials. Wall times never run
/// backwards in a file.
///
/// Best trials first, then those without a place in the ranking by id. O(measurements).
FilesByPath tensorboard_files(const study::StudyView& view, const TensorboardOptions& options = {});

/// A record of a TFRecord file: length, masked CRC-32C of the length, payload, masked CRC-32C of the payload.
std::string tf_record(std::string_view payload);

}  // namespace lanista::report
