#pragma once

#include "lanista/base/result.h"

namespace lanista::cli {

/// Opens standard streams that are closed, and ignores SIGXFSZ. Call it before anything else. Otherwise the first file
/// that the process opens would become a standard stream, and messages would be written into it. A limit on the size of
/// files would end the process by a signal. Returns false if a stream could not be opened.
bool reserve_standard_streams();

/// Flushes standard output and checks that all of it was written. Call it at the end. Errors: kIo (a write failed).
Result<void> check_output();

}  // namespace lanista::cli
