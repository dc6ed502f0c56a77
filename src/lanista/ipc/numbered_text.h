#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

// A number in front of a message's text: the number of a lease, of a message, or of a task.
namespace lanista::engine {

/// A text with the number that stands in front of it.
struct TokenMessage {
  std::uint64_t token = 0;
  std::string text;
};

/// Puts `token` in front of `text`.
std::string with_token(std::uint64_t token, std::string_view text);

/// Splits what `with_token` returned. Errors: kDataLoss (no number in front).
Result<TokenMessage> split_token(const std::string& text);

}  // namespace lanista::engine
