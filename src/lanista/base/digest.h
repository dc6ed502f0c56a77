#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// A 128-bit content hash (XXH3); identity inside a study, not a defence against attackers.
struct Digest {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
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

  Hasher& bytes(std::span<const std::byte> data);
  Hasher& text(std::string_view s);
  Hasher& number(std::int64_t v);
  Hasher& real(double v);
  Hasher& digest(const Digest& d);
  Digest finish() const;

 private:
  struct State;
  State* state_;
};

Digest hash_bytes(std::span<const std::byte> data);
Digest hash_text(std::string_view s);

}  // namespace lanista

template <>
struct std::hash<lanista::Digest> {
  std::size_t operator()(const lanista::Digest& d) const noexcept { return d.lo; }
};
