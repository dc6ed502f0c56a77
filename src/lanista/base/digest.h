#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// A 128-bit hash of contents (XXH3). It identifies contents inside a study; an attacker can make equal hashes.
struct Digest {
  std::uint64_t hi = 0;  ///< upper 64 bits
  std::uint64_t lo = 0;  ///< lower 64 bits
  auto operator<=>(const Digest&) const = default;

  std::string hex() const;                                  ///< 32 lower-case hexadecimal digits
  static std::optional<Digest> from_hex(std::string_view);  ///< inverse of hex(); no value: other text
};

/// Collects values one after the other and returns their hash. A text is preceded by its length, so that fields cannot
/// merge.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& bytes(std::span<const std::byte> data);  ///< adds bytes without their length
  Hasher& text(std::string_view s);                ///< adds length and bytes of a text
  Hasher& number(std::int64_t v);                  ///< adds 8 bytes of an integer
  Hasher& real(double v);                          ///< adds 8 bytes of a real number
  Hasher& digest(const Digest& d);                 ///< adds another hash
  Digest finish() const;                           ///< hash of all values so far

 private:
  struct State;
  State* state_;
};

Digest hash_bytes(std::span<const std::byte> data);  ///< the hash of bytes
Digest hash_text(std::string_view s);                ///< the hash of a text, without its length

}  // namespace lanista

/// Hash of a digest for containers: the lower 64 bits.
template <>
struct std::hash<lanista::Digest> {
  std::size_t operator()(const lanista::Digest& d) const noexcept { return d.lo; }
};
