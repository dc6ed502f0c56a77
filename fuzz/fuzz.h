#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/check.h"

/// libFuzzer's entry point; every program here defines it once. An exception that leaves it is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lanista::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What `decode` takes of the input says the same when it is told again: by its text, for what was read may lack what
/// has a default.
template <class Decode, class Encode>
void check_told_again(std::string_view input, const Decode& decode, const Encode& encode, const char* what) {
  const auto read = decode(input);
  if (!read) return;
  const std::string told = encode(*read);
  const auto again = decode(told);
  LANISTA_CHECK(again.ok(), std::string(what) + " that was read is not read again");
  LANISTA_CHECK(encode(*again) == told, std::string(what) + " changes on its way");
}

}  // namespace lanista::fuzz
