#pragma once

#include <cstdint>
#include <string>

namespace lanista::zoo {

/// The task that a model was trained for. Qualities are comparable within one task, and its models are offered first.
struct TaskKey {
  std::string targets;       ///< "classes", "numbers", "labels"
  std::int64_t outputs = 0;  ///< classes, or targets of a sample
  std::string labels;        ///< the label space: a hash of the class names; empty: none
  std::string input;         ///< shape and kind of a sample: "[1,8,8]", "[32] tokens below 96"
  std::string data;          ///< hash of the data and its split
  bool operator==(const TaskKey&) const = default;

  /// All but the data. Models of one family have equal inputs and outputs, and may start each other.
  std::string family() const {
    return targets + " " + std::to_string(outputs) + (labels.empty() ? "" : " of " + labels) + " from " + input;
  }
  /// The family and the data.
  std::string text() const { return family() + " on " + data; }
};

}  // namespace lanista::zoo
