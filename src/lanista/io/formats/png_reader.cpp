#include <png.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "lanista/io/formats/image_readers.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kHeaderEnd = 29;           // signature 8, length 4, "IHDR" 4, sides 8, five bytes
constexpr png_alloc_size_t kMaxChunk = 1 << 20;  // of texts and profiles, which are not used
constexpr png_uint_32 kMaxChunks = 16;

/// libpng's state, the remaining bytes, and its last message. The destructor frees it, also after a longjmp.
struct PngReader {
  explicit PngReader(std::string_view bytes) : bytes_left(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view bytes_left;
  std::array<char, 128> message{};
};

/// The destination of samples: the planes of the picture.
struct PixelTarget {
  std::uint8_t* pixels;
  png_uint_32 width, height;
  int channels;  // of a row: 1 or 3, and one more for alpha
  bool interlaced;
  std::array<std::uint8_t, 3> background;  // under transparent pixels

  bool has_alpha() const { return channels % 2 == 0; }
  /// Planes of the picture. Transparent grey over a colour has three.
  int planes() const {
    const bool is_grey = background[0] == background[1] && background[1] == background[2];
    return channels >= 3 || (has_alpha() && !is_grey) ? 3 : 1;
  }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message.data(), message, reader->message.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, png_size_t size) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader->bytes_left.size()) png_error(png, "the file is cut off");
  std::memcpy(out, reader->bytes_left.data(), size);
  reader->bytes_left.remove_prefix(size);
}

/// Reads up to the pixels and requests 8 bits of grey or colour, with alpha if there is transparency.
bool read_header(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png == nullptr) return false;
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return false;
  png_set_read_fn(reader.png, &reader, read_bytes);
  png_set_user_limits(reader.png, kMaxImageSide, kMaxImageSide);
  png_set_chunk_malloc_max(reader.png, kMaxChunk);
  png_set_chunk_cache_max(reader.png, kMaxChunks);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

/// Composes the samples of a row over the background and writes them to the planes, to every `step`-th column from `x`
/// on.
void put_row(const PixelTarget& to, const std::uint8_t* row, png_uint_32 y, png_uint_32 x, png_uint_32 step) {
  const int planes = to.planes(), last = to.channels - 1;
  for (; x < to.width; x += step, row += to.channels) {
    const int alpha = to.has_alpha() ? row[last] : 255;
    for (int c = 0; c < planes; ++c) {
      const int sample = row[to.channels >= 3 ? c : 0], under = to.background[static_cast<std::size_t>(c)];
      const int value = (sample * alpha + under * (255 - alpha) + 127) / 255;
      const std::size_t at = (static_cast<std::size_t>(c) * to.height + y) * to.width + x;
      to.pixels[at] = static_cast<std::uint8_t>(value);
    }
  }
}

/// Reads an interlaced picture: seven small pictures, written without a copy of the whole.
void read_passes(PngReader& reader, const PixelTarget& to, std::uint8_t* row) {
  for (int pass = 0; pass < (to.interlaced ? 7 : 1); ++pass) {
    const png_uint_32 x = to.interlaced ? PNG_PASS_START_COL(pass) : 0,
                      dx = to.interlaced ? PNG_PASS_COL_OFFSET(pass) : 1;
    const png_uint_32 y = to.interlaced ? PNG_PASS_START_ROW(pass) : 0,
                      dy = to.interlaced ? PNG_PASS_ROW_OFFSET(pass) : 1;
    if (x >= to.width) continue;
    for (png_uint_32 at = y; at < to.height; at += dy) {
      png_read_row(reader.png, row, nullptr);
      put_row(to, row, at, x, dx);
    }
  }
  png_read_end(reader.png, nullptr);
}

bool read_pixels(PngReader& reader, const PixelTarget& to, std::uint8_t* row) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  read_passes(reader, to, row);
  return true;
}

/// Checks that every chunk is inside the file. libpng would first allocate the length that it declares.
Result<void> check_chunks(std::string_view bytes) {
  constexpr std::size_t kSignature = 8, kBefore = 8, kBehind = 4;  // length and type before the data, a checksum after
  bytes.remove_prefix(std::min(kSignature, bytes.size()));
  while (bytes.size() >= kBefore) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8U | static_cast<std::uint8_t>(bytes[i]);
    const std::size_t bytes_left = bytes.size() - kBefore;
    if (length + kBehind > bytes_left) {
      return Error{Code::kDataLoss,
                   "png: the file is cut off: a chunk claims " + std::to_string(length) + " bytes and a checksum, " +
                       std::to_string(bytes_left) + " are left",
                   ""};
    }
    if (bytes.substr(4, 4) == "IEND") break;
    bytes.remove_prefix(kBefore + length + kBehind);
  }
  return {};
}

}  // namespace

Result<Image> read_png(std::string_view bytes, const std::array<std::uint8_t, 3>& background) {
  const auto damaged = [](const std::string& how) { return Error{Code::kDataLoss, "png: " + how, ""}; };
  if (bytes.size() < kHeaderEnd || bytes.substr(12, 4) != "IHDR") return damaged("the file ends inside its header");
  const auto side = [&](std::size_t at) {
    return std::int64_t{png_get_uint_32(reinterpret_cast<png_const_bytep>(&bytes[at]))};
  };
  LANISTA_TRY(check_image_size(side(16), side(20)));
  LANISTA_TRY(check_chunks(bytes));

  PngReader reader(bytes);
  if (!read_header(reader)) return damaged(reader.message.data());
  const PixelTarget shape{.pixels = nullptr,
                          .width = png_get_image_width(reader.png, reader.info),
                          .height = png_get_image_height(reader.png, reader.info),
                          .channels = png_get_channels(reader.png, reader.info),
                          .interlaced = png_get_interlace_type(reader.png, reader.info) != PNG_INTERLACE_NONE,
                          .background = background};
  Image image{.channels = shape.planes(), .height = shape.height, .width = shape.width, .pixels = {}};
  image.pixels.resize(static_cast<std::size_t>(image.channels * image.height * image.width));
  PixelTarget target = shape;
  target.pixels = image.pixels.data();
  std::vector<std::uint8_t> row(png_get_rowbytes(reader.png, reader.info));
  if (!read_pixels(reader, target, row.data())) return damaged(reader.message.data());
  return image;
}

}  // namespace lanista::formats
