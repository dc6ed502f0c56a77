#include <csetjmp>
#include <cstddef>
#include <cstdio>
// libjpeg's header needs the two above it.
#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lanista/io/formats/image_readers.h"

namespace lanista::formats {
namespace {

/// The most scans of a picture. Each needs a pass over it; usual pictures have about ten.
constexpr int kMaxScans = 100;
/// Channels of a colour picture: red, green and blue.
constexpr std::size_t kColours = 3;
/// Memory of the decoder in addition to the picture: 4 x input and 64 MB, less the picture and small allocations.
constexpr std::int64_t kMemory = std::int64_t{56} << 20;

/// libjpeg's state and its last message. The destructor frees it, also after a longjmp.
struct JpegReader {
  JpegReader() { codec.err = jpeg_std_error(&errors); }
  ~JpegReader() { jpeg_destroy_decompress(&codec); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct codec{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  bool too_many_scans = false;
};

JpegReader& reader_of(j_common_ptr codec) { return *static_cast<JpegReader*>(codec->client_data); }

[[noreturn]] void on_error(j_common_ptr codec) {
  JpegReader& reader = reader_of(codec);
  if (reader.message[0] == '\0') (*codec->err->format_message)(codec, reader.message.data());
  std::longjmp(reader.escape, 1);
}

/// Makes a warning an error: it means that data are damaged and that grey replaces them.
void on_message(j_common_ptr codec, int level) {
  if (level < 0) on_error(codec);
}

void on_progress(j_common_ptr codec) {
  JpegReader& reader = reader_of(codec);
  if (reader.codec.input_scan_number <= kMaxScans) return;
  reader.too_many_scans = true;
  on_error(codec);
}

bool read_header(JpegReader& reader, std::string_view bytes) {
  reader.errors.error_exit = on_error;
  reader.errors.emit_message = on_message;
  reader.codec.client_data = &reader;
  if (setjmp(reader.escape) != 0) return false;
  jpeg_create_decompress(&reader.codec);
  reader.progress.progress_monitor = on_progress;
  reader.codec.progress = &reader.progress;
  jpeg_mem_src(&reader.codec, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&reader.codec, TRUE);
  return true;
}

/// Bytes of the coefficients of the whole picture. A picture of several scans is collected in them.
std::int64_t collected_bytes(JpegReader& reader) {
  if (!jpeg_has_multiple_scans(&reader.codec)) return 0;
  std::int64_t blocks = 0;
  for (int c = 0; c < reader.codec.num_components; ++c) {
    const jpeg_component_info& component = reader.codec.comp_info[c];
    // Rows and columns are rounded up to whole sampling units.
    blocks += (std::int64_t{component.width_in_blocks} + 4) * (std::int64_t{component.height_in_blocks} + 4);
  }
  return blocks * DCTSIZE2 * static_cast<std::int64_t>(sizeof(JCOEF));
}

/// a b / 255, rounded to the nearest.
std::uint8_t product(int a, int b) { return static_cast<std::uint8_t>((a * b + 127) / 255); }

/// Reads row by row into the planes. Four channels are inverted CMYK and become three.
bool read_pixels(JpegReader& reader, std::uint8_t* row, std::uint8_t* pixels) {
  if (setjmp(reader.escape) != 0) return false;
  jpeg_start_decompress(&reader.codec);
  const std::size_t width = reader.codec.output_width, height = reader.codec.output_height;
  const auto channels = static_cast<std::size_t>(reader.codec.output_components);
  while (reader.codec.output_scanline < height) {
    const std::size_t y = reader.codec.output_scanline;
    jpeg_read_scanlines(&reader.codec, &row, 1);
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint8_t* samples = row + x * channels;
      for (std::size_t c = 0; c < std::min(channels, kColours); ++c) {
        pixels[(c * height + y) * width + x] =
            channels > kColours ? product(samples[c], samples[kColours]) : samples[c];
      }
    }
  }
  jpeg_finish_decompress(&reader.codec);
  return true;
}

Error error_of(const JpegReader& reader) {
  if (reader.too_many_scans) {
    return {Code::kResourceExhausted, "jpeg: more than " + std::to_string(kMaxScans) + " scans", ""};
  }
  return {Code::kDataLoss, std::string("jpeg: ") + reader.message.data(), ""};
}

}  // namespace

Result<Image> read_jpeg(std::string_view bytes) {
  JpegReader reader;
  if (!read_header(reader, bytes)) return error_of(reader);
  // Its decoder reads missing data as zeros without a warning, so that a few bytes could declare any picture.
  if (reader.codec.arith_code != 0) {
    return Error{Code::kUnimplemented, "jpeg: arithmetic coding, which hardly any program reads; Huffman is wanted",
                 ""};
  }
  const std::int64_t width = reader.codec.image_width, height = reader.codec.image_height;
  LANISTA_TRY(check_image_size(width, height));
  const J_COLOR_SPACE stored = reader.codec.jpeg_color_space;
  const bool grey = stored == JCS_GRAYSCALE, inks = stored == JCS_CMYK || stored == JCS_YCCK;
  if (!grey && !inks && stored != JCS_YCbCr && stored != JCS_RGB) {
    return Error{Code::kUnimplemented,
                 "jpeg: a picture of " + std::to_string(reader.codec.num_components) +
                     " channels that are neither grey, nor red, green and blue, nor CMYK",
                 ""};
  }
  const std::int64_t channels = grey ? 1 : 3, row_channels = inks ? 4 : channels;
  const std::int64_t allowed = kMemory + 4 * static_cast<std::int64_t>(bytes.size()) - channels * width * height;
  if (const std::int64_t required_bytes = collected_bytes(reader); required_bytes > allowed) {
    return Error{Code::kResourceExhausted,
                 "jpeg: a progressive picture of " + std::to_string(width) + " x " + std::to_string(height) +
                     " pixels takes " + std::to_string(required_bytes) + " bytes in addition to its pixels;  " +
                     std::to_string(allowed) + " are allowed",
                 ""};
  }
  reader.codec.out_color_space = grey ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
  reader.codec.dct_method = JDCT_ISLOW;  // its bits do not depend on the processor
  Image image{.channels = channels, .height = height, .width = width, .pixels = {}};
  image.pixels.resize(static_cast<std::size_t>(channels * height * width));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(row_channels * width));
  if (!read_pixels(reader, row.data(), image.pixels.data())) return error_of(reader);
  return image;
}

}  // namespace lanista::formats
