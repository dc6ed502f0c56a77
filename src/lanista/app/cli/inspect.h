#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Options of `status`.
struct StatusRequest {
  std::string folder;  ///< Empty: all studies below studies/.
  bool json = false;   ///< True: print one JSON object a study.
};
/// Options of `show`. At most one of `dot`, `plan`, `config` and `canonical` is set. `dot` needs a trial; `config` and
/// `canonical` have an effect only for a whole study.
struct ShowRequest {
  std::string target;      ///< Study folder DIR, DIR#TRIAL for one trial, or, with `plan`, a pipeline plan (.json).
  std::size_t top = 20;    ///< Most rows of the table of trials.
  bool json = false;       ///< True: print JSON.
  bool dot = false;        ///< True: print the model of the trial as Graphviz source.
  bool plan = false;       ///< True: print the program of the trial with its times.
  bool config = false;     ///< True: print the resolved study file.
  bool canonical = false;  ///< True: print the canonical export of the log.
};
/// Options of `check`. The last four are for ONNX models.
struct CheckRequest {
  std::string file;              ///< Study file or MODEL.onnx.
  std::vector<std::string> set;  ///< KEY=VALUE that override settings of the study file.
  bool schema = false;           ///< True: print the JSON Schema of study files.
  std::string inputs;            ///< File (.npy or .pb) with the input of the model; empty: the model is not run.
  std::string expect;            ///< File (.npy or .pb) with the expected output; empty: the output is not compared.
  double rtol = 1e-3;            ///< Allowed difference relative to the expected output, as in numpy.allclose.
  double atol = 1e-5;            ///< Allowed absolute difference in addition.
};
/// Options of `report`.
struct ReportRequest {
  std::string folder;  ///< Folder of the study.
  std::string out;     ///< File of the page; empty: DIR/report.html.
  bool watch = false;  ///< True: update the page until the study ends or a signal arrives.
};
/// Options of `pause` and `stop`.
struct ControlRequest {
  std::string folder;                  ///< Folder of the study.
  std::string action;                  ///< One of "pause" and "stop".
  std::optional<std::uint32_t> trial;  ///< Number of the trial to stop, from 1; absent: the whole study.
};

/// Returns the report page of a study in its current state, as HTML. It shows the stored assessment of the best model,
/// and only the last component of the path `folder`. The page reloads itself every `reload_seconds`; 0: never.
std::string report_text(const std::string& folder, const study::StudyView& view, double reload_seconds = 0);

/// Prints the state of one study or of all. Returns the exit code; kDone for all studies, also if one cannot be read.
int show_status(const StatusRequest& request);
/// Prints the table of a study, one trial, or what the options select. Returns the exit code.
int show_study(const ShowRequest& request);
/// Checks a study file, and prints its resolved form and a preview of its space; or prints the schema. Returns the exit
/// code.
int check_study(const CheckRequest& request);
/// Without an input file, prints the properties of an ONNX file. With one, runs the model and compares its output with
/// the expected file, or writes the output as .npy to stdout if there is none. Returns the exit code; kStudyFailed if
/// the outputs differ.
int check_model(const CheckRequest& request);
/// Writes the report page of a study. Returns the exit code.
int write_report(const ReportRequest& request);
/// Writes a control request into the folder of a study, which a running study reads. It does not check that the study
/// runs; an ended study is an error. Returns the exit code.
int control_study(const ControlRequest& request);

}  // namespace lanista::cli
