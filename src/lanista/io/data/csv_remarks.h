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

/// `error` about a column, with the option sep= if the whole file is one column.
Error with_separator_hint(const Table& table, Error error);

/// `error` of a reader of tables with what the bytes of the file are instead: an archive or a workbook, or a table with
/// comments.
Error with_content_hint(std::string_view bytes, Error error);

/// The end of an error about a target without values if its column has no name; else empty.
std::string unnamed_target_hint(const Table& table, const TableRoles& roles);

/// Adds to `raw` how the first line of a file was read, with a warning if it is in doubt. `name` is empty for the main
/// file.
void report_header(const formats::CsvTable& cells, const std::string& name, RawData& raw);

/// Makes the spellings of true and false in a column of categories, a target or a group one value each, as pandas does,
/// if a value has several. They become the declared categories, else False and True. The first rules change nothing.
void unify_booleans(const TableRoles& roles, Table& table);

/// Lets columns of texts keep the texts of keep_na= as values. In columns of numbers or dates they are missing values.
void keep_na_texts(const TableRoles& roles, Table& table);

/// A warning if a target without a declared kind is texts that are numbers in another notation; else empty.
std::string target_notation_warning(const TableRoles& roles, const Table& table);

/// Drops the rows without a target. The result has for users how many are dropped, of how many, and what their cells
/// hold; it is empty if all rows have a target.
std::string drop_rows_without_target(const TableRoles& roles, Table& table);

}  // namespace lanista::data
