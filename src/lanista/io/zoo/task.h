#pragma once

#include <cstdint>
#include <string>

namespace lanista::zoo {

/// What a model was trained for. Models are compared by quality within one task, and offered within it first.
struct TaskKey {
  std::string targets;       ///< "classes", "numbers", "labels"
  std::int64_t outputs = 0;  ///< classes, or targets of a sample
  std::string labels;        ///< the label space: a hash of its names; empty: they have none
  std::string input;         ///< shape and kind of a sample: "[1,8,8]", "[32] tokens below 96"
  std::string data;          ///< hash of the data and its split
  bool operator==(const TaskKey&) const = default;

  /// Everything but the data: models of one family take and give the same, and may start each other.
  std::string family() const {
    return targets + " " + std::to_string(outputs) + (labels.empty() ? "" : " of " + labels) + " from " + input;
  }
  std::string text() const { return family() + " on " + data; }
};

}  // namespace lanista::zoo
