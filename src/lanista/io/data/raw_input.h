#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// The label of a new row without a label, if other rows of the input have one.
inline constexpr std::int32_t kNoLabel = -1;
/// The value of every target of a new row without targets (NaN), if other rows of the input have targets.
inline constexpr float kNoTarget = std::numeric_limits<float>::quiet_NaN();

/// Reads new rows for a trained model, encoded and normalised as the rows of the data set `spec` were. Equal raw
/// numbers give equal bits.
///
/// `path` is a file or folder in the format of the data set, a file with a known extension (.csv .tsv .npy .npz .png
/// .jpg), or a source "kind:argument?option=value". Options on how to read a file come from spec.source, if its kind is
/// equal.
///
/// Labels or targets are read if the file has them: a table with the target column, X.npy,Y.npy, or images in folders
/// of known classes. A table row without one has kNoLabel, or kNoTarget in all targets. A table needs all feature
/// columns, by name; more columns are ignored. A file without a header has exactly the feature columns, in their order.
/// Missing values and unknown categories follow the rules of `spec.schema` and are counted in the result. A single
/// sample is one row. Rows have the order of the files, an official test part last.
///
/// The result's specification is `spec`. Errors: those of open() (kNotFound, kInvalidArgument, kDataLoss,
/// kResourceExhausted, kUnimplemented); kDataLoss (shapes, columns or classes that do not fit), kInvalidArgument (a
/// format that cannot replace that of the data set).
Result<RawData> read_raw(const DataSpec& spec, const std::string& path, FileSystem& fs);

}  // namespace lanista::data
