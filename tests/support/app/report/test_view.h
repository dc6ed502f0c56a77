#pragma once

#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::report::testing {

/// A small study with rare cases: a conditional hyper-parameter, hostile texts, a NaN metric, and one trial each that
/// is stopped, failed, a duplicate and running.
study::StudyView small_study();

/// A random study of `trials` trials with every outcome; the same seed gives the same study.
study::StudyView random_study(std::int64_t trials, std::uint64_t seed);

/// The bytes that a base64 text encodes.
std::string decoded(const std::string& text);

}  // namespace lanista::report::testing
