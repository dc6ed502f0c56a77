#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/app/cli/session.h"
#include "lanista/base/result.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// The source of a study's settings: a study file and overrides, which replace its values.
struct StudySource {
  std::string text;                            ///< Text of the study file, or of the default study.
  std::string name;                            ///< Name of the source in messages, such as its path.
  std::string folder;                          ///< Base of relative paths in the text.
  std::vector<studyfile::Override> overrides;  ///< Values of --set and of other options.

  /// Returns `error` with its location replaced by the line and column of `key`, and made printable. It is for an error
  /// that was found after the text was read, for example in the data. `detail` is the position inside the value.
  Error with_location(Error error, const std::string& key, const std::string& detail = "") const;
};

/// A study that `run` may start: settings, data and devices, read and checked. Nothing is written yet.
struct ResolvedRequest {
  StudySource source;
  study::StudyConfig config;  ///< Settings of the study.
  data::Dataset data;         ///< Opened data set.
  std::shared_ptr<const mutate::ModelSpace> models;
  std::vector<runtime::NamedBackend> devices;  ///< Devices that train.
  std::vector<std::string> notes;  ///< Warnings on the data and settings, and notes on the file of train.start.
};

/// Reads and checks the study of `run`. Errors: mistakes in the study file, its data, space, devices or start, with
/// line and column. Every line of an error's text is printable. Only the list of the file's mistakes has several lines.
Result<ResolvedRequest> resolve_request(const RunRequest& request);

/// Reads and checks a study from any source, with the devices of `worker_overrides`. Errors: those of
/// resolve_request().
Result<ResolvedRequest> resolve_source(const StudySource& source, const WorkerOverrides& worker_overrides);

}  // namespace lanista::cli
