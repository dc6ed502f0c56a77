#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

// A number in front of a message's text: the number of a lease, of a message, or of a task.
namespace lanista::engine {

/// The text of a message with a number before it: the number of a lease, of a message, or of a task.
struct TokenMessage {
  std::uint64_t token = 0;  ///< the number
  std::string text;         ///< the text after the number
};

/// Returns the text of a message: `token` in decimal, a newline, then `text`.
std::string with_token(std::uint64_t token, std::string_view text);

/// Splits a text that with_token() returned. Errors: kDataLoss if it does not begin with a number and a newline.
Result<TokenMessage> split_token(const std::string& text);

}  // namespace lanista::engine
