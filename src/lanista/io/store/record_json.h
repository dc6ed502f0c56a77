#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::store {

/// The largest number of JSON values and keys of a record. In memory a value needs up to forty times its text.
inline constexpr std::size_t kMaxRecordValues = 500'000;
/// The largest number of nested objects and arrays of a record. Later functions visit the values by recursion.
inline constexpr std::size_t kMaxRecordDepth = 64;

/// Checks the JSON text of a record without building values. Errors: kDataLoss (no JSON, more than kMaxRecordValues
/// values and keys, more than kMaxRecordDepth levels). The message continues a sentence that begins with the name of
/// the record.
Result<void> check_record_json(std::string_view text);

/// Checks the JSON text of a record and returns its value. Errors: kDataLoss, as of check_record_json().
Result<nlohmann::json> parse_record_json(std::string_view text);

}  // namespace lanista::store
