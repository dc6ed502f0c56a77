#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/check.h"

/// Entry point of libFuzzer, which calls it with one input after another. Each fuzzer defines it once. An exception
/// that leaves it is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lanista::fuzz {

/// The input as text.
inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Checks that a message which `decode` accepts is equal after it is encoded and decoded again.
///
/// Compares encoded texts, not the input: the input may omit fields with a default. `name` is for the message of the
/// failed check, as in "a report".
template <class Decode, class Encode>
void check_round_trip(std::string_view input, const Decode& decode, const Encode& encode, const char* name) {
  const auto message = decode(input);
  if (!message) return;
  const std::string text = encode(*message);
  const auto again = decode(text);
  LANISTA_CHECK(again.ok(), std::string(name) + " cannot be decoded after encoding");
  LANISTA_CHECK(encode(*again) == text, std::string(name) + " changes when it is encoded and decoded again");
}

}  // namespace lanista::fuzz
