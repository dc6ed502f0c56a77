#include "lanista/app/cli/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "lanista/app/cli/app.h"

namespace lanista::cli {
namespace {

constexpr int kContinues = 50;  ///< exit code of a process that the signals did not end, plus what they asked for

/// The wait status of a process that receives these signals one after the other.
int code_after(const std::vector<int>& signals) {
  const pid_t child = ::fork();
  if (child == 0) {
    const PauseSignals pause;
    for (const int signal : signals) ::raise(signal);
    ::_exit(kContinues + pause.requested());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PauseSignals, FirstSignalRequestsPause) {
  EXPECT_EQ(code_after({}), kContinues);
  EXPECT_EQ(code_after({SIGINT}), kContinues + kInterrupted);
  EXPECT_EQ(code_after({SIGTERM}), kContinues + kRequeue);
  EXPECT_EQ(code_after({SIGUSR1, SIGUSR1, SIGTERM}), kContinues + kRequeue);
  EXPECT_EQ(code_after({SIGINT, SIGTERM}), kContinues + kInterrupted);
}

TEST(PauseSignals, SecondSignalEndsProcess) {
  EXPECT_EQ(code_after({SIGINT, SIGINT}), kInterrupted);
  EXPECT_EQ(code_after({SIGTERM, SIGTERM}), kRequeue);
  EXPECT_EQ(code_after({SIGUSR1, SIGTERM, SIGTERM}), kRequeue);
  EXPECT_EQ(code_after({SIGTERM, SIGINT}), kInterrupted);
}

}  // namespace
}  // namespace lanista::cli
