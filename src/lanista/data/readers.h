#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/data/dataset.h"
#include "lanista/data/source.h"

namespace lanista::data {

// One reader a kind of source; `open` chooses. Errors are those of `open`; `where` is the file.

/// builtin:digits
Result<Dataset> read_builtin(const Source& source, const study::DataConfig& config);
/// npy:X.npy,Y.npy[?task=auto|classes|numbers]
Result<Dataset> read_npy(const Source& source, const study::DataConfig& config, const std::string& folder,
                         FileSystem& fs);
/// csv:FILE[?target=NAME|INDEX&header=auto|yes|no&drop=A,B&task=auto|classes|numbers]
Result<Dataset> read_csv(const Source& source, const study::DataConfig& config, const std::string& folder,
                         FileSystem& fs);
/// synthetic:spirals|blobs|regression[?rows=…&classes=…&features=…&seed=…]
Result<Dataset> make_synthetic(const Source& source, const study::DataConfig& config);

/// `path` as it is if absolute, else inside `folder`.
std::string resolve_path(const std::string& path, const std::string& folder);
/// The whole file. Errors: kNotFound, kIo, kResourceExhausted (larger than `max_bytes`).
Result<std::string> read_capped(FileSystem& fs, const std::string& path, std::uint64_t max_bytes);
/// The file's name without folders and ending.
std::string stem_of(const std::string& path);
/// The same error, placed in a file.
Error at_file(Error error, const std::string& path);

}  // namespace lanista::data
