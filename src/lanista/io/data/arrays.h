#pragma once

#include <string>

#include "lanista/base/tensor.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {

/// Rows as arrays.
struct Arrays {
  Tensor x;                          ///< [rows, …]; its name is its source, for errors
  std::optional<Tensor> y;           ///< [rows] or [rows, numbers]
  std::vector<std::string> labels;   ///< class names; empty: numbers from 0
  std::vector<std::string> names;    ///< names of rows, or empty
  std::int64_t first_test_row = -1;  ///< first row of an official test part, which ends the rows; -1: there is none
};

/// Features, and classes or numbers, from arrays. One whole number in each row is a class, unless `task` (auto,
/// classes, numbers) demands otherwise.
///
/// For a known data set the shape must be its shape. Dimensions of 1 and flat rows are accepted, and a single sample is
/// one row. Errors: kDataLoss with the shapes, or the row of a label; kResourceExhausted.
Result<LoadedRows> rows_from_arrays(Arrays arrays, const std::string& task, const DataSpec* expected_spec);

/// Appends the rows of `more`. Errors: kDataLoss (another shape or element type, with both).
Result<void> append_rows(Tensor& to, const Tensor& more);

}  // namespace lanista::data
