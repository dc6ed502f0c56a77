#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lanista/search/study/assessment.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Settings of a report page.
struct PageOptions {
  std::string folder;                 ///< Name of the study's folder, for the commands on the page.
  std::string version;                ///< Version of lanista.
  std::size_t max_bytes = 5'000'000;  ///< Size limit, kept if possible; large studies are sampled, with a note.
  double reload_seconds = 0;          ///< Seconds between reloads of the page; 0: never.
  std::optional<study::ModelAssessment> assessment = {};  ///< Assessment of the winner, if there is one.
};

/// Returns the report of a study as one HTML page. The page needs no network and works from file://. Equal views and
/// options give equal bytes. Text of the study (names, labels, messages) is data, never markup or code. It is in one
/// JSON block, and the scripts only make text nodes of it. The content security policy allows only the scripts and
/// styles of this module, by hash.
std::string report_page(const study::StudyView& view, const PageOptions& options);

}  // namespace lanista::report
