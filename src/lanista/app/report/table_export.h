#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

// Tables of a study. CSV is as in RFC 4180 with a header and CR LF. Numbers keep all digits. Missing numbers are empty;
// "nan", "inf" and "-inf" are values. A text that a spreadsheet could read as a formula (it begins with = + - @, a tab
// or a carriage return) gets an apostrophe in front and quotes.

/// Returns CSV with one row a trial, by number: trial, state, reason, rank, parent, same_as, base, edits (their
/// number), graph_hash, epochs, steps, kept_epoch, parameters, seconds. With refinements a column "tunes" follows. Then
/// come "metrics.<name>" of its result (study::result_of), and "params.<name>" of its hyper-parameter sample.
std::string trials_csv(const study::StudyView& view);

/// Returns CSV with one row a measurement: trial, epoch, step, seconds (worked seconds of the study at the end of the
/// epoch), and "metrics.<name>".
std::string measurements_csv(const study::StudyView& view);

/// Returns one JSON object a line for each trial, by number: v (1), trial, state, graph_hash, lineage, sample, budget
/// (epochs), parameters, seconds and measurements. If known, also kept_epoch, rungs, rank, reason, same_as, implied_by
/// and rule. Numbers that JSON does not have are the texts "nan", "inf" and "-inf".
std::string trials_jsonl(const study::StudyView& view);

}  // namespace lanista::report
