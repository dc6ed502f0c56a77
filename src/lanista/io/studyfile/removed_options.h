#pragma once

#include <string_view>

namespace lanista::studyfile {

/// Returns why this version lacks a setting that an earlier version had, as the end of a sentence that begins with the
/// full key, such as "train.start_race" or "train.select.batch". Empty: no version had the setting, or this one has it.
std::string_view removal_reason(std::string_view key);

}  // namespace lanista::studyfile
