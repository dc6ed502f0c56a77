#pragma once

#include <string>
#include <vector>

#include "lanista/base/csv.h"

namespace lanista::formats {

/// Whether the first line of a table has the names of its columns.
struct HeaderDecision {
  bool has_names = false;    ///< True: the first line has names. False: it is a row.
  bool is_doubtful = false;  ///< True: the other reading is possible too.
};

/// Compares the first row of `lines` with the kinds of cells in the rows below it, at most 10,000 of them.
///
/// These speak for names: a text above numbers, whole numbers that differ above fractions, a number above texts or far
/// outside of its column, a text that does not recur above a few texts that do. These speak for a row: a text that
/// recurs below, a fraction above fractions, a number in the range of its column, a number that stands twice. A first
/// line with half or more of the names in `known` has names. The cost is linear in the compared cells, at most about
/// four million.
HeaderDecision decide_header(const CsvTable& lines, const std::vector<std::string>& known);

}  // namespace lanista::formats
