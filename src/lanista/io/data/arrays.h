#pragma once

#include <string>

#include "lanista/base/tensor.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {

/// Rows as arrays, as most formats hold them.
struct Arrays {
  Tensor x;                         ///< [rows, …]; its name is where it comes from, for errors
  std::optional<Tensor> y;          ///< [rows] or [rows, numbers]
  std::vector<std::string> labels;  ///< class names; empty: numbers from 0
  std::vector<std::string> names;   ///< of rows, or empty
  std::int64_t first_test_row = -1;      ///< rows from here are an official test part; -1: there is none
};

/// Features, and classes or numbers, out of arrays. Whole numbers, one a row, are classes unless `task` (auto | classes
/// | numbers) says otherwise. For a known data set the shape must be its shape; dimensions of 1 and flat rows are put
/// up with, and one sample alone is one row. Errors: kDataLoss naming shapes, or the row of a label;
/// kResourceExhausted.
Result<LoadedRows> rows_from_arrays(Arrays arrays, const std::string& task, const DataSpec* expected_spec);

/// Appends the rows of `more`. Errors: kDataLoss (another shape or kind of number, naming both).
Result<void> append_rows(Tensor& to, const Tensor& more);

}  // namespace lanista::data
