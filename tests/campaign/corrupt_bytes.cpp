#include "campaign/corrupt_bytes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "lanista/base/frame.h"

namespace lanista::campaign {
namespace {

constexpr std::array kNumbers{"0",
                              "-1",
                              "1e308",
                              "-1e400",
                              "nan",
                              "9223372036854775807",
                              "18446744073709551616",
                              "4294967296",
                              "2147483648",
                              "0.5",
                              "null",
                              "[]",
                              "{}",
                              "\"\"",
                              "true"};
constexpr std::array<std::uint8_t, 5> kBytes{0x00, 0xff, 0x7f, 0x80, 0x0a};

std::size_t random_position(const std::string& bytes, Rng& rng) { return rng.below(bytes.size() + 1); }

void flip(std::string& bytes, Rng& rng) {
  if (bytes.empty()) return;
  char& byte = bytes[rng.below(bytes.size())];
  byte = static_cast<char>(byte ^ (1 << rng.below(8)));
}

void cut_out(std::string& bytes, Rng& rng) {
  const std::size_t from = random_position(bytes, rng);
  bytes.erase(from, rng.below(rng.bernoulli(0.7) ? 16 : bytes.size() + 1));
}

void cut_off(std::string& bytes, Rng& rng) { bytes.resize(random_position(bytes, rng)); }

void insert(std::string& bytes, Rng& rng) {
  std::string some;
  const std::size_t length = 1 + rng.below(12);
  while (some.size() < length) some += static_cast<char>(rng.below(256));
  bytes.insert(random_position(bytes, rng), some);
}

void repeat(std::string& bytes, Rng& rng) {
  const std::size_t from = random_position(bytes, rng);
  const std::string piece = bytes.substr(from, 1 + rng.below(64));
  const std::size_t times = 1 + rng.below(rng.bernoulli(0.1) ? 300 : 3);
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += piece;
  bytes.insert(random_position(bytes, rng), all);
}

void splice(std::string& bytes, const std::string& other, Rng& rng) {
  const std::string piece = other.substr(random_position(other, rng), 1 + rng.below(200));
  const std::size_t at = random_position(bytes, rng);
  if (rng.bernoulli(0.5)) bytes.erase(at, piece.size());
  bytes.insert(at, piece);
}

void overwrite(std::string& bytes, Rng& rng) {
  const auto byte = static_cast<char>(kBytes[rng.below(kBytes.size())]);
  const std::size_t at = random_position(bytes, rng);
  for (std::size_t i = at; i < std::min(bytes.size(), at + (std::size_t{1} << rng.below(4))); ++i) bytes[i] = byte;
}

/// Replaces a number in a text by another number, or by text that is not a number.
void renumber(std::string& bytes, Rng& rng) {
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t end = i;
    while (end < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[end]))) ++end;
    if (end > i) numbers.emplace_back(i, end - i);
    i = std::max(end, i + 1);
  }
  if (numbers.empty()) return flip(bytes, rng);
  const auto [from, length] = numbers[rng.below(numbers.size())];
  bytes.replace(from, length, kNumbers[rng.below(kNumbers.size())]);
}

bool is_text(const std::string& bytes) {
  return std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) >= 9; });
}

void change_randomly(std::string& bytes, const std::string& other, Rng& rng) {
  if (is_text(bytes) && rng.bernoulli(0.4)) return renumber(bytes, rng);
  switch (rng.below(8)) {
    case 0:
    case 1:
      return flip(bytes, rng);
    case 2:
      return cut_out(bytes, rng);
    case 3:
      return rng.bernoulli(0.3) ? cut_off(bytes, rng) : overwrite(bytes, rng);
    case 4:
      return insert(bytes, rng);
    case 5:
      return repeat(bytes, rng);
    case 6:
      return splice(bytes, other, rng);
    default:
      return overwrite(bytes, rng);
  }
}

}  // namespace

std::string corrupted_bytes(const std::string& bytes, const std::string& other, Rng& rng) {
  std::string out = bytes;
  for (std::int64_t left = rng.between(1, 4); left > 0; --left) change_randomly(out, other, rng);
  return out;
}

std::string forged_log(const std::string& bytes, Rng& rng) {
  struct Body {
    std::uint16_t type;
    std::string payload;
  };
  std::vector<Body> records;
  for (const Frame& frame : decode_frames(bytes).frames) records.push_back({frame.type, std::string(frame.payload)});
  for (std::int64_t left = rng.between(1, 3); left > 0 && !records.empty(); --left) {
    const std::size_t at = rng.below(records.size());
    const std::size_t other = rng.below(records.size());
    switch (rng.below(8)) {
      case 0:
        records.erase(records.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        records.insert(records.begin() + static_cast<std::ptrdiff_t>(other), Body(records[at]));
        break;
      case 2:
        std::swap(records[at], records[other]);
        break;
      case 3:
        records[at].type = static_cast<std::uint16_t>(rng.below(16));
        break;
      case 4:
        change_randomly(records[at].payload, records[other].payload, rng);
        break;
      default:
        renumber(records[at].payload, rng);
    }
  }
  std::string out;
  for (const Body& record : records) encode_frame(record.type, record.payload, out);
  return out;
}

}  // namespace lanista::campaign
