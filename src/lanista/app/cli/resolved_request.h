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

/// Where a study's settings come from: a file, and what goes before it.
struct StudySource {
  std::string text;    ///< of the study file; without one the default study's
  std::string name;    ///< what messages call it
  std::string folder;  ///< paths in it are told from here
  std::vector<studyfile::Override> overrides;

  /// A mistake that shows only with the data at hand, told with its place all the same: line and column of `key`.
  Error with_location(Error error, const std::string& key, const std::string& detail = "") const;
};

/// What `run` was asked, read and checked; nothing is written yet.
struct ResolvedRequest {
  StudySource source;
  study::StudyConfig config;
  data::Dataset data;
  std::shared_ptr<const mutate::ModelSpace> models;
  std::vector<runtime::NamedBackend> devices;
  std::vector<std::string> notes;  ///< what may not have been meant
};

/// Errors: whatever a study file, its data, its space, its devices or its start may have wrong, with the place.
/// Every line of an error's text is printable. Only the list of the file's mistakes has more than one line.
Result<ResolvedRequest> resolve_request(const RunRequest& request);

/// Resolves a study from any source. Errors: as for resolve_request().
Result<ResolvedRequest> resolve_source(const StudySource& source, const WorkerOverrides& worker_overrides);

}  // namespace lanista::cli
