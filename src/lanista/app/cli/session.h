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
  bool json = false;      ///< True: one JSON event a line on stdout, and no final table.
  bool quiet = false;     ///< True: only the final table, warnings and errors.
  bool no_color = false;  ///< Has no effect.
  bool open = false;      ///< True: open the report page in a browser and update it.
};

/// Options of `run`.
struct RunRequest {
  std::string study_file;    ///< Study file; empty: the default study.
  std::string out;           ///< Folder of the study; empty: studies/NAME-NUMBER.
  std::string import;        ///< Earlier results for the strategy: study folder, table or Optuna storage; empty: none.
  std::string import_study;  ///< Name of the study of an Optuna storage; empty: the only one.
  std::string enqueue;       ///< File with configurations to try first; empty: those of the study.
  std::vector<studyfile::Override> overrides;  ///< Values of --set and of other options.
  WorkerOverrides worker_overrides;            ///< Workers of this run.
  bool dry_run = false;  ///< True: check everything, print the resolved file and the space, train nothing.
  std::optional<PlanVerbRequest> plan;  ///< If set: print a plan, train nothing.
  DisplayOptions display;               ///< Output of the run.
};
/// Options of `resume`.
struct ResumeRequest {
  std::string folder;                   ///< Folder of the study.
  ExpectedStudy expected_study;         ///< Settings that the study must have.
  engine::Engine::Extension extension;  ///< Additional trials, steps or minutes of the budget.
  WorkerOverrides worker_overrides;     ///< Workers of this run.
  DisplayOptions display;               ///< Output of the run.
};

/// Prints an error on stderr as "lanista: …" and returns its exit code: kRefused for kDataLoss, kUnimplemented and
/// kResourceExhausted, kStudyFailed for kInternal, else kUsage.
int print_error(const Error& error);

/// Prints notes on stderr, each as one line that begins with "lanista: ".
void print_notes(const std::vector<std::string>& notes);

/// Runs a new study, or prints its plan or its resolved file. Returns the exit code.
int run_study(const RunRequest& request);
/// Continues a study from its log. Returns the exit code.
int resume_study(const ResumeRequest& request);

}  // namespace lanista::cli
