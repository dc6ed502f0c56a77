#pragma once

#include <string>
#include <vector>

#include "lanista/io/data/table.h"

namespace lanista::data {

/// A warning for the user about a column that is read as texts but may be numbers in another notation, dates, or
/// numbers with something around them or with a few wrong cells. It names the option of the source that declares them.
/// Empty: no warning. `column` is an index from 0. Precondition: a cell of the column is neither missing nor a number.
std::string text_column_warning(const Table& table, std::size_t column);

/// The part of text_column_warning() about numbers with a decimal comma or groups of digits, and its precondition.
std::string decimal_warning(const Table& table, std::size_t column);

/// A warning for the user if all values of a column of texts differ, as those of an identifier do. `present` and
/// `unique` are its numbers of values and of different values. Empty: no warning, also with the first rules of studies.
std::string identifier_warning(const Table& table, std::size_t column, std::int64_t present, std::int64_t unique);

/// A warning for the user if a column of numbers counts the rows of its file from 0 or 1. The same for a column with
/// the name of an index and another whole number in each row, and one with neither a name nor values. `numbers` are
/// those of its cells; NaN without a value. Empty: no warning, also with the first rules of studies.
std::string counter_warning(const Table& table, std::size_t column, const std::vector<double>& numbers);

/// A warning for the user if two of `names` differ in the case of ASCII letters only; else empty.
std::string case_warning(const std::vector<std::string>& names);

/// A warning for the user if a number of a column looks like a code, such as a postcode: several digits, the first 0.
/// It names the option of the source that declares it as categorical. Empty: no warning. `column` is an index from 0.
std::string code_column_warning(const Table& table, std::size_t column);

}  // namespace lanista::data
