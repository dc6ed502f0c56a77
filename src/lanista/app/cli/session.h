#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/app/cli/expected_study.h"
#include "lanista/app/cli/print_plan.h"
#include "lanista/app/cli/worker_overrides.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/engine.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::cli {

/// How a running study is shown.
struct DisplayOptions {
  bool json = false;
  bool quiet = false;
  bool no_color = false;
  bool open = false;  ///< the page, kept fresh
};

/// What `run` was asked.
struct RunRequest {
  std::string study_file;  ///< empty: the default study
  std::string out;         ///< empty: studies/<name>-<first free number>
  std::string import;      ///< folder of a study whose trials the strategy knows at first; empty: none
  std::string enqueue;     ///< file with a list of configurations that are tried first; empty: the study's own
  std::vector<studyfile::Override> overrides;
  WorkerOverrides worker_overrides;
  bool dry_run = false;
  std::optional<PlanVerbRequest> plan;  ///< print it, train nothing
  DisplayOptions display;
};
/// What `resume` was asked.
struct ResumeRequest {
  std::string folder;
  ExpectedStudy expected_study;  ///< what somebody says that it is
  engine::Engine::Extension extension;
  WorkerOverrides worker_overrides;
  DisplayOptions display;
};

/// Prints an error on stderr, "lanista: …", and gives the exit code that fits its kind.
int print_error(const Error& error);

/// Prints what may not have been meant on stderr, a line each.
void print_notes(const std::vector<std::string>& notes);

int run_study(const RunRequest& request);
int resume_study(const ResumeRequest& request);

}  // namespace lanista::cli
