#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lanista::device {

/// For a device that answers nothing any more, and never will in this process: what it held of states is gone, and
/// nobody may take an older one for it. The process says so and ends; its trials are in their checkpoints, and a new
/// process goes on from there.
[[noreturn]] inline void abort_on_lost_device(std::string_view name) {
  std::fprintf(stderr, "lanista: device %s failed and cannot be used by this process any more; resume the study\n",
               std::string(name).c_str());
  std::abort();
}

}  // namespace lanista::device
