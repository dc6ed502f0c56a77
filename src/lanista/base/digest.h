#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// A 128-bit content hash (XXH3). It identifies contents inside a study; it is no defence against attackers.
struct Digest {
  std::uint64_t hi = 0;  ///< the upper 64 bits
  std::uint64_t lo = 0;  ///< the lower 64 bits
  auto operator<=>(const Digest&) const = default;

  std::string hex() const;                                  ///< 32 lower-case digits
  static std::optional<Digest> from_hex(std::string_view);  ///< the inverse
};

/// Feeds values one after the other; strings are length-prefixed, so fields cannot run together.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& bytes(std::span<const std::byte> data);  ///< adds bytes without their number
  Hasher& text(std::string_view s);                ///< adds a text with its length
  Hasher& number(std::int64_t v);                  ///< adds a whole number
  Hasher& real(double v);                          ///< adds the bits of a number
  Hasher& digest(const Digest& d);                 ///< adds another hash
  Digest finish() const;                           ///< the hash of all that was added

 private:
  struct State;
  State* state_;
};

Digest hash_bytes(std::span<const std::byte> data);  ///< the hash of bytes
Digest hash_text(std::string_view s);                ///< the hash of a text, without its length

}  // namespace lanista

/// Hash of a digest for containers: its lower bits.
template <>
struct std::hash<lanista::Digest> {
  std::size_t operator()(const lanista::Digest& d) const noexcept { return d.lo; }
};
