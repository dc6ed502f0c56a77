#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/mutate/view.h"

namespace lanista::mutate {

/// Which nodes an option means: "conv2d & label(stage*)". Terms joined by &, all of which must hold; a term is an
/// operator's name, a word of a family ("conv3x3"), or label(GLOB) with * and ?. The empty text means every node.
class Pattern {
 public:
  /// `known` are the names that may stand as terms. Errors: kInvalidArgument with the term, and the nearest name.
  static Result<Pattern> parse(std::string_view text, const std::vector<std::string>& known);

  bool matches(const View& view, const graph::Node& node) const;

 private:
  struct Term {
    bool is_label = false;
    std::string text;
  };
  std::vector<Term> terms_;
};

/// Whether all of `text` fits `glob`; * stands for any letters, ? for one.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace lanista::mutate
