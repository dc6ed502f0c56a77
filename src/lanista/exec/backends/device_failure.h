#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lanista::device {

/// Ends the process after a failure of the device `name` that the process cannot recover from.
///
/// The states on the device are lost, and an older copy must not replace them. The function prints an error with the
/// name and aborts. A new process resumes the trials from their checkpoints.
[[noreturn]] inline void abort_on_lost_device(std::string_view name) {
  std::fprintf(stderr, "lanista: device %s failed, and this process cannot use it any more; resume the study\n",
               std::string(name).c_str());
  std::abort();
}

}  // namespace lanista::device
