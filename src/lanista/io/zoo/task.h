#pragma once

#include <cstdint>
#include <string>

namespace lanista::zoo {

/// The task that a model was trained for. Qualities are comparable only between models of equal tasks.
struct TaskKey {
  std::string targets;       ///< kind of targets: "classes", "numbers" or "labels"
  std::int64_t outputs = 0;  ///< number of classes, or of targets of a sample
  std::string labels;        ///< hash of the class names; empty: there are no names
  std::string input;         ///< shape and kind of the features of a sample: "[1,8,8]", "[32] tokens below 96"
  std::string data;          ///< hash of the data and its split
  bool operator==(const TaskKey&) const = default;

  /// A text of all members except `data`. Models with equal families have equal inputs and outputs, so a model may
  /// start from the weights of another.
  std::string family() const {
    return targets + " " + std::to_string(outputs) + (labels.empty() ? "" : " of " + labels) + " from " + input;
  }
  /// A text of all members: the family and the data. Equal texts mean equal tasks.
  std::string text() const { return family() + " on " + data; }
};

}  // namespace lanista::zoo
