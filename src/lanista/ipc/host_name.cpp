#include "lanista/ipc/host_name.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace lanista::engine {

std::string local_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string sanitize_host_name(std::string_view name) {
  constexpr std::size_t kMost = 64;  // HOST_NAME_MAX of Linux
  std::string out(name.substr(0, kMost));
  std::ranges::replace_if(
      out, [](char c) { return c <= ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace lanista::engine
