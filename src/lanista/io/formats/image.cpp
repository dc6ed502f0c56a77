#include "lanista/io/formats/image.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

#include "lanista/io/formats/exif.h"
#include "lanista/io/formats/image_readers.h"

namespace lanista::formats {
namespace {

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegSignature = "\xff\xd8\xff";

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFFU);
  return out;
}

/// A chunk: length, type, data, checksum of type and data.
std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(static_cast<std::uint32_t>(crc));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();  // as the string above does
  LANISTA_CHECK(status == Z_OK, "zlib refuses to pack");
  out.resize(size);
  return out;
}

}  // namespace

Result<void> check_image_size(std::int64_t width, std::int64_t height) {
  const std::string size = std::to_string(width) + " x " + std::to_string(height) + " pixels";
  if (width <= 0 || height <= 0) return Error{Code::kDataLoss, "image: " + size, ""};
  if (width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels) {
    return Error{Code::kResourceExhausted,
                 "image: " + size + "; at most " + std::to_string(kMaxImageSide) + " a side and " +
                     std::to_string(kMaxImagePixels) + " together are allowed",
                 ""};
  }
  return {};
}

Result<Image> decode_image(std::string_view bytes, const ImageDecoding& decoding) {
  const bool is_png = bytes.starts_with(kPngSignature);
  if (is_png || bytes.starts_with(kJpegSignature)) {
    LANISTA_ASSIGN(Image image, is_png ? read_png(bytes, decoding.background) : read_jpeg(bytes));
    if (!decoding.applies_orientation) return image;
    return upright(std::move(image), is_png ? png_orientation(bytes) : jpeg_orientation(bytes));
  }
  return Error{Code::kUnimplemented, "image: the file is neither PNG nor JPEG by its first bytes", ""};
}

Result<std::string> encode_png(const Image& image) {
  const auto wrong = [](const std::string& why) { return Error{Code::kInvalidArgument, "image: " + why, ""}; };
  if (image.channels != 1 && image.channels != 3) {
    return wrong(std::to_string(image.channels) + " channels; 1 or 3 are allowed");
  }
  if (const auto size = check_image_size(image.width, image.height); !size) return wrong(size.error().message);
  const std::int64_t plane = image.height * image.width;
  if (static_cast<std::int64_t>(image.pixels.size()) != image.channels * plane) {
    return wrong(std::to_string(image.pixels.size()) + " values for " + std::to_string(image.channels * plane));
  }
  // Eight bits for each sample; grey (0) or colour (2); deflate, adaptive filters, no interlacing.
  std::string header = big_endian(static_cast<std::uint32_t>(image.width)) +
                       big_endian(static_cast<std::uint32_t>(image.height)) + '\x08' +
                       (image.channels == 1 ? '\0' : '\2') + std::string(3, '\0');
  std::string rows;
  rows.reserve(static_cast<std::size_t>(image.height * (image.channels * image.width + 1)));
  for (std::int64_t y = 0; y < image.height; ++y) {
    rows += '\0';  // this row is not filtered
    for (std::int64_t x = 0; x < image.width; ++x) {
      for (std::int64_t c = 0; c < image.channels; ++c) {
        rows += static_cast<char>(image.pixels[static_cast<std::size_t>(c * plane + y * image.width + x)]);
      }
    }
  }
  return std::string(kPngSignature) + chunk("IHDR", header) + chunk("IDAT", deflated(rows)) + chunk("IEND", "");
}

}  // namespace lanista::formats
