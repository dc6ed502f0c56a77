#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/raw_data.h"

namespace lanista::data {

/// What stands for the label or targets of a new row that has none, where other rows have some.
inline constexpr std::int32_t kNoLabel = -1;
inline constexpr float kNoTarget = std::numeric_limits<float>::quiet_NaN();

/// New rows as samples of a data set, encoded and normalised as its own rows were: the same numbers become the same
/// bits.
///
/// `path` is a file (or folder) in the format of the data set, one whose name tells its format (.csv .tsv .npy .npz
/// .png .jpg), or a source in the notation "kind:argument?option=value"; options that say how a file is read hold on
/// from training. Labels or targets are read where the file has them (a table with the target column, X.npy,Y.npy,
/// images in folders of known classes); rows of a table that lack one have kNoLabel, or kNoTarget in all targets. A table needs all feature columns, by name; further columns are ignored; cells
/// without a value and unknown categories follow the rules of `spec.schema` and are counted. One sample alone is one
/// row. All rows come in the order of the files, an official test part last.
///
/// The result's specification is `spec`. Errors: as of `open`; kDataLoss (shapes, columns or classes that do not fit),
/// kInvalidArgument (a format that cannot stand for that of the data set).
Result<RawData> read_raw(const DataSpec& spec, const std::string& path, FileSystem& fs);

}  // namespace lanista::data
