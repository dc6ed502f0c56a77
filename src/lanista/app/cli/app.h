#pragma once

namespace lanista::cli {

/// Exit codes of the command line.
enum Exit : int {
  kDone = 0,
  kStudyFailed = 1,   ///< no finished trial, or a check failed
  kUsage = 2,         ///< wrong usage or configuration
  kRefused = 3,       ///< refused input: a bad or unsafe file
  kRequeue = 75,      ///< paused on a scheduler's request, resumable
  kInterrupted = 130  ///< paused by Ctrl-C, resumable
};

/// Parses the command line, runs the verb and returns the exit code. Data goes to stdout, everything else to stderr.
int run(int argc, char** argv);

}  // namespace lanista::cli
