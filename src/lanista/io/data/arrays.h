#pragma once

#include <string>

#include "lanista/base/tensor.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {

/// The features and targets of rows as arrays, read from NumPy, IDX or CIFAR files.
struct Arrays {
  Tensor x;                          ///< features [rows, …]; its name is the path of the file, for errors
  std::optional<Tensor> y;           ///< targets [rows] or [rows, numbers]; none: rows without targets
  std::vector<std::string> labels;   ///< class names by class number; empty: "0", "1" and so on
  std::vector<std::string> names;    ///< name of each row, such as a file name; or empty
  std::int64_t first_test_row = -1;  ///< this row and all later ones are an official test part; -1: there is none
};

/// How arrays are read.
enum class ArrayRule {
  kClassNumbers,  ///< Integers of a target are the numbers of classes, from 0 to the largest one.
  /// As tables: targets by are_classes(), and classes have the values as names. Features [rows, columns] have a mean
  /// and a deviation for each column.
  kAsTables,
};

/// Rows with features, and with classes or numbers as targets, from arrays. The spec of the rows has shape, classes and
/// targets, but no name.
///
/// "classes", "numbers" and "multilabel" (check_numbers() later requires 0 and 1) as `task` force one kind. With "auto"
/// and kClassNumbers one integer for each row is a class; other targets are numbers. With kAsTables whole numbers of
/// any type are classes by are_classes(), rows of zeros with a single 1 are classes, other rows of zeros and ones are
/// labels, and other targets are numbers.
///
/// With `expected_spec` (null: none) samples must have its shape and its kind of targets. Dimensions of 1 and flat rows
/// are accepted, and a single sample is one row. Errors: kDataLoss (shapes do not fit, no rows, a label out of range
/// with its row); kResourceExhausted (more than kMaxFeatures numbers).
Result<LoadedRows> rows_from_arrays(Arrays arrays, const std::string& task, const DataSpec* expected_spec,
                                    ArrayRule rule = ArrayRule::kClassNumbers);

/// Appends the rows of `more` to `to` along the first axis. Errors: kDataLoss (another shape of a row, or another
/// element type); the message has both shapes.
Result<void> append_rows(Tensor& to, const Tensor& more);

}  // namespace lanista::data
