#include "lanista/base/digest.h"

#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

namespace lanista {
namespace {

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

Digest from_xxh(XXH128_hash_t h) { return {h.high64, h.low64}; }

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    std::uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(hi >> (4 * i)) & 15];
    text[31 - i] = kDigits[(lo >> (4 * i)) & 15];
  }
  return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto hi = parse_hex(text.substr(0, 16));
  const auto lo = parse_hex(text.substr(16));
  if (!hi || !lo) return std::nullopt;
  return Digest{*hi, *lo};
}

// Most inputs are short. They are collected and hashed at once; longer ones are streamed.
struct Hasher::State {
  static constexpr std::size_t kShort = 512;
  std::unique_ptr<XXH3_state_t, FreeState> stream;
  std::size_t used = 0;
  std::array<std::byte, kShort> collected;

  void begin_stream() {
    stream.reset(XXH3_createState());
    if (!stream) throw std::bad_alloc();
    XXH3_128bits_reset(stream.get());
    XXH3_128bits_update(stream.get(), collected.data(), used);
  }
};

Hasher::Hasher() : state_(new State) {}

Hasher::~Hasher() { delete state_; }

Hasher& Hasher::bytes(std::span<const std::byte> data) {
  State& state = *state_;
  if (!state.stream && data.size() <= State::kShort - state.used) {
    if (!data.empty()) std::memcpy(state.collected.data() + state.used, data.data(), data.size());
    state.used += data.size();
    return *this;
  }
  if (!state.stream) state.begin_stream();
  XXH3_128bits_update(state.stream.get(), data.data(), data.size());
  return *this;
}

Hasher& Hasher::text(std::string_view s) {
  number(static_cast<std::int64_t>(s.size()));
  return bytes(std::as_bytes(std::span(s)));
}

Hasher& Hasher::number(std::int64_t v) {
  // Little-endian on every machine.
  std::array<std::byte, 8> raw;
  for (std::size_t i = 0; i < 8; ++i) raw[i] = static_cast<std::byte>(static_cast<std::uint64_t>(v) >> (8 * i) & 255);
  return bytes(raw);
}

Hasher& Hasher::real(double v) { return number(std::bit_cast<std::int64_t>(v)); }

Hasher& Hasher::digest(const Digest& d) {
  number(std::bit_cast<std::int64_t>(d.hi));
  return number(std::bit_cast<std::int64_t>(d.lo));
}

Digest Hasher::finish() const {
  return from_xxh(state_->stream ? XXH3_128bits_digest(state_->stream.get())
                                 : XXH3_128bits(state_->collected.data(), state_->used));
}

Digest hash_bytes(std::span<const std::byte> data) { return from_xxh(XXH3_128bits(data.data(), data.size())); }

Digest hash_text(std::string_view s) { return hash_bytes(std::as_bytes(std::span(s))); }

}  // namespace lanista
