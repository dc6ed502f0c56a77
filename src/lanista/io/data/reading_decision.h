#pragma once

#include <string>

namespace lanista::data {

/// How a reader understood something that has several readings, for users.
struct ReadingDecision {
  std::string topic;  ///< "header" or "target"
  std::string text;   ///< what it is read as, and the option that changes it
};

}  // namespace lanista::data
