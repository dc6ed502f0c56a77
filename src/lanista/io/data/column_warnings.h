#pragma once

#include <string>

#include "lanista/io/data/table.h"

namespace lanista::data {

/// What a column of texts may have been meant to be, and the option that says so; empty: texts. Stops at the first cell
/// that speaks against it.
std::string text_column_warning(const Table& table, std::size_t column);

/// Whether numbers of a column look like codes, and the option that says so; empty: they do not.
std::string code_column_warning(const Table& table, std::size_t column);

}  // namespace lanista::data
