#pragma once

#include <string>

#include "lanista/base/csv.h"
#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/io/data/source.h"
#include "lanista/io/data/table.h"

namespace lanista::data {

/// Whether a name is that of a column of a file without a header: "c0", "c1" and so on.
bool is_generated_name(const std::string& name);

/// `error` about a column of `table`, with header=yes or header=no if a column of `source` would be found with it.
Error with_header_hint(const Source& source, const Table& table, Error error);

/// Adds to `raw` how the first line of a file was read, with a warning if it is in doubt. `name` is empty for the main
/// file.
void report_header(const formats::CsvTable& cells, const std::string& name, RawData& raw);

/// Lets columns of texts keep the texts of keep_na= as values. In columns of numbers or dates they are missing values.
void keep_na_texts(const TableRoles& roles, Table& table);

/// Drops the rows without a target. The result has for users how many are dropped, of how many, and what their cells
/// hold; it is empty if all rows have a target.
std::string drop_rows_without_target(const TableRoles& roles, Table& table);

}  // namespace lanista::data
