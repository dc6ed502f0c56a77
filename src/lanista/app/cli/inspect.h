#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::cli {

struct StatusRequest {
  std::string folder;  ///< empty: all below studies/
  bool json = false;
};
struct ShowRequest {
  std::string target;  ///< DIR or DIR#TRIAL
  std::size_t top = 20;
  bool json = false, dot = false, plan = false, config = false, canonical = false;
};
struct CheckRequest {
  std::string file;
  std::vector<std::string> set;
  bool schema = false;
  // Of an ONNX model: what goes in, what should come out, and how near (as numpy.allclose).
  std::string inputs, expect;
  double rtol = 1e-3, atol = 1e-5;
};
struct ReportRequest {
  std::string folder;
  std::string out;     ///< empty: DIR/report.html
  bool watch = false;  ///< until the study ends
};
struct ControlRequest {
  std::string folder;
  std::string action;  ///< pause | stop
  std::optional<std::uint32_t> trial;
};

/// The report page of a study as it stands; one that reloads itself every so many seconds, if they are not 0.
std::string report_text(const std::string& folder, const study::StudyView& view, double reload_seconds = 0);

// Each prints on stdout and gives the exit code.
int show_status(const StatusRequest& request);
int show_study(const ShowRequest& request);
int check_study(const CheckRequest& request);
int check_model(const CheckRequest& request);  ///< of an ONNX file
int write_report(const ReportRequest& request);
int control_study(const ControlRequest& request);

}  // namespace lanista::cli
