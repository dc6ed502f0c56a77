#include "lanista/app/cli/streams.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

namespace lanista::cli {

bool reserve_standard_streams() {
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit is an error like a full disk
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // Opens stdin for writing and the others for reading, so that every use of a closed stream fails. open() returns
    // the lowest free number, which is this one.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != fd) return false;
  }
  return true;
}

Result<void> check_output() {
  errno = 0;
  const bool lost_before = std::cout.bad() || std::ferror(stdout) != 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::cout.bad() && !lost_before) return {};
  const std::string reason = errno != 0 ? ": " + std::system_category().message(errno) : "";
  return Error{Code::kIo, "cannot write the whole output" + reason, "standard output"};
}

}  // namespace lanista::cli
