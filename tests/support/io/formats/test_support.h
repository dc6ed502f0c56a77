#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/base/tensor.h"
#include "support/base/sanitizer.h"

// Helpers for tests of file formats.
namespace lanista::formats::test {

/// A tensor of these elements.
template <class T>
Tensor tensor(std::string name, ElementType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  Tensor t{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  t.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

/// The elements of a decoded tensor.
template <class T>
std::vector<T> values(const Result<Tensor>& result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result) return {};
  const auto span = elements_of<T>(*result);
  return {span.begin(), span.end()};
}

/// Random bytes, the same on every machine.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(rng.below(256));
  return out;
}

/// Calls `decode(bytes)` with every prefix and with every byte changed in three ways; `damaged` receives the results.
template <class Decode, class Damaged>
void damage_bytes(const std::string& good, Decode decode, Damaged damaged) {
  for (std::size_t size = 0; size < good.size(); ++size) damaged(decode(good.substr(0, size)), true);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
      std::string bad = good;
      bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ change);
      damaged(decode(bad), false);
    }
  }
}

/// Whether `holds()` returns true in a child process in which memory may grow by at most 4 x input + 64 MB, C libraries
/// included. False if the child dies for lack of memory. Sanitizers map terabytes, so under them memory is not limited.
template <class Holds>
bool within_memory(std::size_t input_bytes, Holds holds) {
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + 4 * input_bytes + (rlim_t{64} << 20U);
    const rlimit memory{limit, limit};
#if LANISTA_SANITIZED
    bool good = memory.rlim_cur > 0;
#else
    bool good = pages > 0 && setrlimit(RLIMIT_AS, &memory) == 0;
#endif
    try {
      good = good && holds();
    } catch (...) {
      good = false;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace lanista::formats::test
