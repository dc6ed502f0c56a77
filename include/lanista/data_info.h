#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// Description of a data set as a study reads it.
struct DataInfo {
  std::string name;                         ///< Name, such as "digits".
  std::string licence;                      ///< Licence, such as "CC BY 4.0"; empty: unknown.
  std::vector<std::int64_t> feature_shape;  ///< Shape of one sample without the batch.
  std::int64_t num_rows = 0;                ///< Number of rows of all parts.
  std::int64_t num_training_rows = 0;       ///< Number of rows of the training part.
  std::int64_t num_validation_rows = 0;     ///< Number of rows of the validation part.
  std::int64_t num_test_rows = 0;           ///< Number of rows of the test part.
  std::int64_t num_classes = 0;             ///< Number of classes; 0: targets are numbers or labels.
  std::vector<std::string> class_names;     ///< Names of classes or labels, by index; empty: the data has no names.
  std::vector<std::string> target_names;    ///< Names of the columns to predict; empty: the data has no names.
  std::string columns_text;                 ///< Description for users, one line for each column of a table.
  std::vector<std::string> warnings;        ///< Sentences on what the reader may have read in an unintended way.
};

/// Returns a description of a data source as in the key `data.source`, such as "builtin:digits" or
/// "csv:flats.csv?target=price", with the default split. It reads the data. Relative paths start at `folder`. Errors:
/// kNotFound, kInvalidArgument (the notation of the source), kDataLoss (a file that breaks a rule), kResourceExhausted
/// (too large), kUnimplemented (a format that is refused).
Result<DataInfo> describe_data(const std::string& source, const std::string& folder = ".");

}  // namespace lanista
