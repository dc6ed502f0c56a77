#pragma once

#include <cstdint>
#include <string>

namespace lanista::data {

/// The different values of a target of whole numbers.
struct WholeTarget {
  std::size_t rows = 0;       ///< number of rows
  std::size_t different = 0;  ///< number of different values
  double min = 0, max = 0;    ///< the smallest and the largest value
};

/// Whether whole numbers are classes, in tables and arrays alike.
///
/// They are if at most 20 values differ, or if they are 0 to k-1 without gaps and a class has two rows or more on
/// average. `most` is the largest number of classes of the source.
bool are_classes(const WholeTarget& target, std::size_t most);

/// What a target of whole numbers is read as, and the option that changes it, for users.
std::string whole_target_text(const WholeTarget& target, bool classes);

/// What rows of zeros and ones in `columns` columns are read as, for users. True for `one_hot`: a single one in each
/// row.
std::string label_rows_text(std::size_t columns, bool one_hot);

}  // namespace lanista::data
