#include "lanista/io/formats/exif.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/base/check.h"

namespace lanista::formats {
namespace {

constexpr int kUpright = 1, kLastOrientation = 8;
constexpr std::uint64_t kOrientationTag = 0x0112;
constexpr std::size_t kEntryBytes = 12;  // of a directory: tag 2, type 2, number of values 4, values or their place 4

/// The whole number in `size` bytes at `at`; none beyond the end.
std::optional<std::uint64_t> number_at(std::string_view bytes, std::uint64_t at, std::size_t size, bool is_big_endian) {
  if (at > bytes.size() || bytes.size() - at < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t next = at + (is_big_endian ? i : size - 1 - i);
    value = value << 8U | static_cast<std::uint8_t>(bytes[next]);
  }
  return value;
}

/// Bytes of a value of a TIFF type; 0 for types that are no whole numbers.
std::size_t bytes_of_type(std::uint64_t type) { return type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0; }

}  // namespace

int exif_orientation(std::string_view tiff) {
  const bool is_big_endian = tiff.starts_with("MM");
  if (!is_big_endian && !tiff.starts_with("II")) return kUpright;
  if (number_at(tiff, 2, 2, is_big_endian) != 42) return kUpright;
  const auto directory = number_at(tiff, 4, 4, is_big_endian);
  if (!directory) return kUpright;
  const auto entries = number_at(tiff, *directory, 2, is_big_endian);
  for (std::uint64_t i = 0; entries && i < *entries; ++i) {
    const std::uint64_t entry = *directory + 2 + i * kEntryBytes;
    const auto tag = number_at(tiff, entry, 2, is_big_endian);
    if (!tag) return kUpright;
    if (*tag != kOrientationTag) continue;
    const auto type = number_at(tiff, entry + 2, 2, is_big_endian);
    const std::size_t size = bytes_of_type(type.value_or(0));
    if (size == 0 || number_at(tiff, entry + 4, 4, is_big_endian) != 1) return kUpright;
    const auto value = number_at(tiff, entry + 8, size, is_big_endian);
    return value && *value >= kUpright && *value <= kLastOrientation ? static_cast<int>(*value) : kUpright;
  }
  return kUpright;
}

int jpeg_orientation(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  std::uint64_t at = 2;  // after the marker of the start
  while (true) {
    const auto prefix = number_at(bytes, at, 1, true), marker = number_at(bytes, at + 1, 1, true);
    if (!marker || *prefix != 0xFF) return kUpright;
    if (*marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    if (*marker == 0x01 || (*marker >= 0xD0 && *marker <= 0xD8)) {  // markers without data
      at += 2;
      continue;
    }
    if (*marker == 0xDA || *marker == 0xD9) return kUpright;  // the pixels begin, or the file ends
    const auto length = number_at(bytes, at + 2, 2, true);
    if (!length || *length < 2 || bytes.size() - at - 2 < *length) return kUpright;
    const std::string_view segment = bytes.substr(at + 4, *length - 2);
    if (*marker == 0xE1 && segment.starts_with(kExif)) return exif_orientation(segment.substr(kExif.size()));
    at += 2 + *length;
  }
}

int png_orientation(std::string_view bytes) {
  std::uint64_t at = 8;  // after the signature
  while (const auto length = number_at(bytes, at, 4, true)) {
    const std::uint64_t data = at + 8;
    if (data > bytes.size() || bytes.size() - data < *length) return kUpright;
    if (bytes.substr(at + 4, 4) == "eXIf") return exif_orientation(bytes.substr(data, *length));
    at = data + *length + 4;  // a checksum follows
  }
  return kUpright;
}

Image upright(Image image, int orientation) {
  LANISTA_CHECK(orientation >= kUpright && orientation <= kLastOrientation, "no orientation of EXIF");
  if (orientation == kUpright) return image;
  const bool swaps_axes = orientation >= 5;
  const bool flips_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool flips_columns = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::int64_t height = swaps_axes ? image.width : image.height, width = swaps_axes ? image.height : image.width;
  const auto plane = static_cast<std::size_t>(height * width);
  std::vector<std::uint8_t> stored;  // one plane, to limit the memory
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c) {
    std::uint8_t* out = image.pixels.data() + c * plane;
    stored.assign(out, out + plane);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        std::int64_t row = swaps_axes ? x : y, column = swaps_axes ? y : x;  // in the stored picture
        if (flips_rows) row = image.height - 1 - row;
        if (flips_columns) column = image.width - 1 - column;
        *out++ = stored[static_cast<std::size_t>(row * image.width + column)];
      }
    }
  }
  image.height = height;
  image.width = width;
  return image;
}

}  // namespace lanista::formats
