// Processes add models to a zoo, match and sweep at the same time, and are killed at random moments. Afterwards, each
// acknowledged model must be in the zoo, and the index must be valid.
//
// usage: zoo_kills FOLDER SECONDS [PROCESSES]
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "support/io/zoo/test_crash_storm.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: zoo_kills FOLDER SECONDS [PROCESSES]\n");
    return 2;
  }
  const auto tally = lanista::zoo::testing::run_crash_storm(
      argv[1], {.processes = argc > 3 ? std::atoi(argv[3]) : 8, .milliseconds = std::atol(argv[2]) * 1000});
  std::printf("%ld models acknowledged, %ld processes killed\n%s", static_cast<long>(tally.acknowledged),
              static_cast<long>(tally.killed), tally.failures.c_str());
  return tally.failures.empty() && tally.acknowledged > 0 ? 0 : 1;
}
