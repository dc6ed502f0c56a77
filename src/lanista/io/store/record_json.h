#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::store {

/// A record says little; who says more wants our memory. In memory a value takes up to forty times its text.
inline constexpr std::size_t kMaxRecordValues = 500'000;
/// What is built is walked over by recursion later.
inline constexpr std::size_t kMaxRecordDepth = 64;

/// Looks over the JSON text of a record without building anything. Errors: kDataLoss (no JSON, more than
/// kMaxRecordValues values and keys, nested deeper than kMaxRecordDepth); the message goes on behind a record's name.
Result<void> check_record_json(std::string_view text);

/// The value of a text that passes the check. Errors: those of the check.
Result<nlohmann::json> parse_record_json(std::string_view text);

}  // namespace lanista::store
