#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lanista/model/mutate/family.h"
#include "lanista/model/mutate/fit.h"

namespace lanista::mutate {

/// One way to change a model at a site. To make a model takes time that grows with the model, so it is made only where
/// nothing else tells whether it can be.
struct Change {
  std::function<Result<graph::Edited>()> make;
  /// Types tell that it can be made: every value that others read has the type that it had, or one that they take.
  bool is_sure = false;
};

/// Whether one of them can be made; else `why` says what is wrong with the last one. An error stands for a change that
/// cannot be meant.
bool any_applies(std::span<const Result<Change>> changes, std::string& why);
/// All that can.
std::vector<Change> applying(std::vector<Result<Change>> changes);

/// Whether layers behind a value of type `from` end in one of type `to`, in a model where only first outputs are read.
bool lead(const View& view, graph::ValueType from, std::span<const Replacement> layers, const graph::ValueType& to);

}  // namespace lanista::mutate
