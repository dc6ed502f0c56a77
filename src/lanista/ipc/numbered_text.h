#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

// A number in front of a message's text: the number of a lease, of a message, or of a task.
namespace lanista::engine {

/// A text and the number in front of it.
struct TokenMessage {
  std::uint64_t token = 0;  ///< the number
  std::string text;         ///< the text after it
};

/// Puts `token` in front of `text`.
std::string with_token(std::uint64_t token, std::string_view text);

/// Splits a text that with_token() returned. Errors: kDataLoss (the number is missing).
Result<TokenMessage> split_token(const std::string& text);

}  // namespace lanista::engine
