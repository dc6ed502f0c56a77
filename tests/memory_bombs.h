#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lanista {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;  ///< bytes of a MiB

/// An input that tries to make one parser use much memory.
struct HostileInput {
  std::string parser, name;                       ///< names in messages
  std::function<std::string()> make;              ///< returns the bytes
  std::function<bool(const std::string&)> parse;  ///< returns true if the parser accepts the bytes
  bool read = false;                              ///< expected result of `parse`
};

/// Returns the hostile inputs of all parsers.
std::vector<HostileInput> all_hostile_inputs();

}  // namespace lanista
