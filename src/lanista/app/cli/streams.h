#pragma once

#include "lanista/base/result.h"

namespace lanista::cli {

/// Makes the process ready to write files: whoever started us may have closed the standard streams, and then the first
/// file that we open, a study's log perhaps, would become the place where messages go; and a limit on the size of files
/// would end us by a signal (SIGXFSZ). Call it before anything else. False: there is nothing to put in a stream's
/// place.
bool reserve_standard_streams();

/// Whether everything that was said on standard output got there; call it at the end. Errors: kIo.
Result<void> check_output();

}  // namespace lanista::cli
