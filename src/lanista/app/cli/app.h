#pragma once

namespace lanista::cli {

/// Exit codes of the command line, as the shell sees them.
enum Exit : int {
  kDone = 0,
  kStudyFailed = 1,   ///< No finished trial, a failed check, lost output, or an internal error.
  kUsage = 2,         ///< Wrong usage or configuration, or another error, such as an absent file.
  kRefused = 3,       ///< Refused input: a bad or unsafe file.
  kRequeue = 75,      ///< Paused on a scheduler's request, resumable.
  kInterrupted = 130  ///< Paused by Ctrl-C, resumable.
};

/// Parses the command line, runs the verb and returns the exit code. Data goes to stdout, everything else to stderr.
/// The verb `bench` replaces this process by the program lanista-bench.
int run(int argc, char** argv);

}  // namespace lanista::cli
