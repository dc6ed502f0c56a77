#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report::testing {

/// A small study with everything that is awkward: a conditional hyper-parameter, hostile texts, a stopped, a failed, a
/// duplicate and a running trial, a metric that is not a number.
study::StudyView small_study();

/// A random study of `trials` trials with every outcome; the same seed gives the same study.
study::StudyView random_study(std::int64_t trials, std::uint64_t seed);

/// The bytes of base64.
std::string decoded(const std::string& text);

}  // namespace lanista::report::testing
