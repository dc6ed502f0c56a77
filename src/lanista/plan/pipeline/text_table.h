#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Formatting of the texts of this module.
namespace lanista::pipeline {

/// Returns a number as text with this many decimals.
std::string fixed(double value, int digits);

/// Returns ascending numbers as text, with ranges for three or more consecutive ones: "0-3,7". Empty for no numbers.
template <class Number>
std::string ranges(const std::vector<Number>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

/// Returns a table with aligned columns and one line for each row. All rows have equally many cells; there is at least
/// one row.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace lanista::pipeline
