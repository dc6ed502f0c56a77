#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lanista/search/study/assessment.h"
#include "lanista/search/study/study_view.h"

namespace lanista::report {

struct PageOptions {
  std::string folder;                 ///< the study's, as seen from the folder in which it lies: commands are for there
  std::string version;                ///< of lanista
  std::size_t max_bytes = 5'000'000;  ///< of the page; large studies are thinned out to fit, and the page says how
  double reload_seconds = 0;          ///< of a study under way: the page loads itself again so often; 0: never
  std::optional<study::ModelAssessment> assessment = {};  ///< of the study's winner; none: the page does without
};

/// The report of a study as one HTML page: no network, works from file://, same view and options -> same bytes. What
/// the study says (names, labels, messages) is data to the page, never markup or code: it stands in one JSON block, the
/// scripts only ever make text nodes of it, and the content security policy admits our own scripts and styles by hash
/// and nothing else.
std::string report_page(const study::StudyView& view, const PageOptions& options);

}  // namespace lanista::report
