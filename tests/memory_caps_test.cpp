#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <string>

#include "memory_bombs.h"
#include "support/base/sanitizer.h"

// Memory of parsers: each reads or refuses each hostile input in at most 4 x input + 64 MB. Outside of ctest, the
// program prints a table.

namespace lanista {
namespace {

constexpr bool kMeasured = LANISTA_SANITIZED == 0;  // the shadow memory of sanitizers would count

/// Returns a value of /proc/self/status in bytes.
std::size_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    std::size_t kilobytes = 0;
    if (word == key && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

struct Seen {
  bool survived = false, read = false;
  std::size_t peak = 0;  ///< peak of resident bytes above the start
};

/// Parses in a child process, after a reset of its peak of resident bytes.
Seen parse_with_limit(const HostileInput& hostile_input, const std::string& input) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  malloc_trim(0);  // else freed memory of this process would serve the child uncounted
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << 5;
    const std::size_t before = status_bytes("VmRSS:");
    Seen seen;
    try {
      seen.read = hostile_input.parse(input);
      seen.survived = true;
    } catch (...) {
    }
    seen.peak = status_bytes("VmHWM:") - before;
    const auto sent = write(ends[1], &seen, sizeof seen);
    _exit(sent == static_cast<ssize_t>(sizeof seen) ? 0 : 1);
  }
  close(ends[1]);
  Seen seen;
  if (child < 0 || read(ends[0], &seen, sizeof seen) != static_cast<ssize_t>(sizeof seen)) seen = {};
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return seen;
}

class MemoryCaps : public ::testing::TestWithParam<HostileInput> {};

TEST_P(MemoryCaps, HoldForEachInput) {
  const HostileInput& hostile_input = GetParam();
  const std::string input = hostile_input.make();
  const Seen seen = parse_with_limit(hostile_input, input);

  std::printf("%-12s %-32s input %8.2f MB   peak %8.2f MB   %s\n", hostile_input.parser.c_str(),
              hostile_input.name.c_str(), static_cast<double>(input.size()) / kMiB,
              static_cast<double>(seen.peak) / kMiB,
              !seen.survived ? "died"
              : seen.read    ? "read"
                             : "refused");
  ASSERT_TRUE(seen.survived);
  EXPECT_EQ(seen.read, hostile_input.read);
  if (kMeasured) {
    EXPECT_LE(seen.peak, 4 * input.size() + 64 * kMiB);
  }
}

std::string test_name(const ::testing::TestParamInfo<HostileInput>& hostile_input) {
  std::string name = hostile_input.param.parser + "_" + hostile_input.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, MemoryCaps, ::testing::ValuesIn(all_hostile_inputs()), test_name);

}  // namespace
}  // namespace lanista
