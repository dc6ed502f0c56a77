#pragma once

namespace lanista::cli {

/// Exit codes of the command line, as the shell sees them.
enum Exit : int {
  kDone = 0,
  kStudyFailed = 1,   ///< No finished trial, or a check failed.
  kUsage = 2,         ///< Wrong usage or configuration.
  kRefused = 3,       ///< Refused input: a bad or unsafe file.
  kRequeue = 75,      ///< Paused on a scheduler's request, resumable.
  kInterrupted = 130  ///< Paused by Ctrl-C, resumable.
};

/// Parses the command line, runs the verb and returns the exit code. Data goes to stdout, everything else to stderr.
int run(int argc, char** argv);

}  // namespace lanista::cli
