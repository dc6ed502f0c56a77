#pragma once

#include <string>

#include "lanista/io/data/table.h"

namespace lanista::data {

/// A warning for a column of texts that may be numbers or dates, with the option that declares it; empty: no warning.
/// It stops at the first cell that does not fit.
std::string text_column_warning(const Table& table, std::size_t column);

/// A warning for a column of numbers that look like codes, with the option that declares it; empty: no warning.
std::string code_column_warning(const Table& table, std::size_t column);

}  // namespace lanista::data
