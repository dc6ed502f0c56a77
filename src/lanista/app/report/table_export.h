#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

// Tables of a study. CSV as RFC 4180 with a header; rows end in CR LF. Numbers round-trip; missing ones are empty,
// "nan", "inf" and "-inf" are data. A text that a spreadsheet would take for a formula (it begins with = + - @, a tab
// or a carriage return) gets an apostrophe in front and stands in quotes.

/// One row a trial: its facts, "metrics.<name>" of its result (study::result_of), "params.<name>" of its sample.
std::string trials_csv(const study::StudyView& view);

/// One row a measurement: trial, epoch, step, seconds (worked seconds of the study when the epoch was over),
/// "metrics.<name>".
std::string measurements_csv(const study::StudyView& view);

/// One object a line and trial, with sample, lineage and all measurements; "v":1. Numbers that JSON cannot hold are the
/// texts "nan", "inf", "-inf".
std::string trials_jsonl(const study::StudyView& view);

}  // namespace lanista::report
