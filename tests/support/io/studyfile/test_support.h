#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lanista/io/studyfile/study_file.h"

namespace lanista::studyfile::testing {

/// The mistakes in a study file "s.yaml" with this text; empty: none.
inline std::string errors_of(std::string_view text, const std::vector<Override>& overrides = {}) {
  const auto read = read_study(text, "s.yaml", overrides);
  return read ? "" : read.error().text();
}

}  // namespace lanista::studyfile::testing
