#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lanista {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A hostile input for one parser.
struct HostileInput {
  std::string parser, name;
  std::function<std::string()> make;
  std::function<bool(const std::string&)> parse;  ///< true: it was read
  bool read = false;                              ///< what must come out
};

std::vector<HostileInput> all_hostile_inputs();

}  // namespace lanista
