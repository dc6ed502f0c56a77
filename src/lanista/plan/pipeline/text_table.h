#pragma once

#include <cstddef>
#include <string>
#include <vector>

// What this room prints is made of.
namespace lanista::pipeline {

std::string fixed(double value, int digits);

/// "0-3,7", of ascending numbers.
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

/// Columns as wide as what stands in them; a line a row.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace lanista::pipeline
