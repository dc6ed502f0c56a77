#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// The label of a new row without a label, where other rows have one.
inline constexpr std::int32_t kNoLabel = -1;
/// The target of a new row without targets, where other rows have some.
inline constexpr float kNoTarget = std::numeric_limits<float>::quiet_NaN();

/// Reads new rows as samples of a data set. They are encoded and normalised as its own rows were: equal numbers become
/// equal bits.
///
/// `path` is a file or folder in the format of the data set, a file with a known extension (.csv .tsv .npy .npz .png
/// .jpg), or a source "kind:argument?option=value". Options on how a file is read are kept from training.
///
/// Labels or targets are read if the file has them: a table with the target column, X.npy,Y.npy, or images in folders
/// of known classes. A table row without one has kNoLabel, or kNoTarget in all targets. A table needs all feature
/// columns, by name; more columns are ignored. Missing values and unknown categories follow the rules of `spec.schema`
/// and are counted. A single sample is one row. Rows have the order of the files, an official test part last.
///
/// The result's specification is `spec`. Errors: those of open(); kDataLoss (shapes, columns or classes that do not
/// fit), kInvalidArgument (a format that cannot replace that of the data set).
Result<RawData> read_raw(const DataSpec& spec, const std::string& path, FileSystem& fs);

}  // namespace lanista::data
