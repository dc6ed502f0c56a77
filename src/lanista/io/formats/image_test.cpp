#include "lanista/io/formats/image.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdio>
// libjpeg's header needs the one above it.
#include <jpeglib.h>

#include <cmath>

#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFFU);
  return out;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(
             crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

std::string zipped(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return out.substr(0, size);
}

struct PngParts {
  std::uint32_t width = 1, height = 1;
  int depth = 8, colour = 0, interlace = 0;
  std::string before = {};  ///< chunks between header and data
  std::string rows = {};    ///< in the form of the format, with filter bytes
};

/// Builds a PNG from the specification, so that the reader is not compared with itself.
std::string png(const PngParts& parts) {
  const std::string header = big_endian(parts.width) + big_endian(parts.height) + static_cast<char>(parts.depth) +
                             static_cast<char>(parts.colour) + '\0' + '\0' + static_cast<char>(parts.interlace);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + parts.before + chunk("IDAT", zipped(parts.rows)) +
         chunk("IEND", "");
}

/// A sample of a smooth picture.
int smooth(std::size_t c, std::size_t y, std::size_t x) { return static_cast<int>(40 + 20 * c + 3 * y + 2 * x) % 256; }

Image smooth_image(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Image image{.channels = channels, .height = height, .width = width, .pixels = {}};
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
      for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
        image.pixels.push_back(static_cast<std::uint8_t>(smooth(c, y, x)));
      }
    }
  }
  return image;
}

enum class Scans { kOne, kProgressive, kOneACoefficient };

/// A scan for the mean of all channels, then one for each other coefficient of each channel.
std::vector<jpeg_scan_info> scan_for_each_coefficient(int channels) {
  std::vector<jpeg_scan_info> scans(1);
  scans[0].comps_in_scan = channels;
  for (int c = 0; c < channels; ++c) scans[0].component_index[c] = c;
  for (int coefficient = 1; coefficient < 64; ++coefficient) {
    for (int c = 0; c < channels; ++c) scans.push_back({1, {c, 0, 0, 0}, coefficient, coefficient, 0, 0});
  }
  return scans;
}

/// A JPEG from libjpeg's writer; `channels` 4 is CMYK, or YCCK.
std::string jpeg(int channels, int height, int width, Scans scans = Scans::kOne, bool is_ycck = false) {
  jpeg_compress_struct codec{};
  jpeg_error_mgr errors{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &bytes, &size);
  codec.image_width = static_cast<JDIMENSION>(width);
  codec.image_height = static_cast<JDIMENSION>(height);
  codec.input_components = channels;
  codec.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&codec);
  if (is_ycck) jpeg_set_colorspace(&codec, JCS_YCCK);
  jpeg_set_quality(&codec, 95, TRUE);
  if (scans == Scans::kProgressive) jpeg_simple_progression(&codec);
  const std::vector<jpeg_scan_info> script = scan_for_each_coefficient(channels);
  if (scans == Scans::kOneACoefficient) {
    codec.scan_info = script.data();
    codec.num_scans = static_cast<int>(script.size());
  }
  jpeg_start_compress(&codec, TRUE);
  std::vector<unsigned char> row(static_cast<std::size_t>(channels * width));
  while (codec.next_scanline < codec.image_height) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto n = static_cast<std::size_t>(channels);
      row[i] = static_cast<unsigned char>(smooth(i % n, codec.next_scanline, i / n));
    }
    unsigned char* rows = row.data();
    jpeg_write_scanlines(&codec, &rows, 1);
  }
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return out;
}

std::vector<int> pixels(const Result<Image>& image) {
  EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().message);
  if (!image) return {};
  EXPECT_EQ(image->pixels.size(), static_cast<std::size_t>(image->channels * image->height * image->width));
  return {image->pixels.begin(), image->pixels.end()};
}

void expect_no_image(const std::string& bytes, Code code, const std::string& rule) {
  const auto result = decode_image(bytes);
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

TEST(Png, RoundTripsAnySize) {
  for (const std::int64_t channels : {1, 3}) {
    for (const auto& [height, width] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 9}, {7, 1}, {28, 28}, {5, 129}}) {
      const Image image = smooth_image(channels, height, width);

      const auto bytes = encode_png(image);
      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      const auto back = decode_image(*bytes);

      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(back->channels, channels);
      EXPECT_EQ(back->height, height);
      EXPECT_EQ(back->width, width);
      EXPECT_EQ(back->pixels, image.pixels);
    }
  }
}

TEST(Png, ReadsEveryKindOfSample) {
  using namespace std::string_literals;
  // Grey of 1, 2 and 4 bits is scaled to 0..255; 16 bits are rounded to 8.
  EXPECT_EQ(pixels(decode_image(png({.width = 3, .depth = 1, .rows = "\0\xA0"s}))), (std::vector<int>{255, 0, 255}));
  EXPECT_EQ(pixels(decode_image(png({.width = 3, .depth = 2, .rows = "\0\x6C"s}))), (std::vector<int>{85, 170, 255}));
  EXPECT_EQ(pixels(decode_image(png({.width = 2, .depth = 4, .rows = "\0\x1F"s}))), (std::vector<int>{17, 255}));
  EXPECT_EQ(pixels(decode_image(png({.width = 2, .depth = 16, .rows = "\0\x80\0\x01\xFF"s}))),
            (std::vector<int>{128, 2}));
  // Colours become planes.
  EXPECT_EQ(pixels(decode_image(png({.width = 2, .colour = 2, .rows = "\0\1\2\3\4\5\6"s}))),
            (std::vector<int>{1, 4, 2, 5, 3, 6}));
  // A palette of two colours.
  EXPECT_EQ(pixels(decode_image(png({.width = 2,
                                     .depth = 8,
                                     .colour = 3,
                                     .before = chunk("PLTE", "\x0A\x0B\x0C\x14\x15\x16"),
                                     .rows = "\0\1\0"s}))),
            (std::vector<int>{20, 10, 21, 11, 22, 12}));
}

TEST(Png, BlendsAlphaOverBlack) {
  using namespace std::string_literals;
  EXPECT_EQ(pixels(decode_image(png({.width = 3, .colour = 4, .rows = "\0\xC8\xFF\xC8\x80\xC8\0"s}))),
            (std::vector<int>{200, 100, 0}));
  EXPECT_EQ(pixels(decode_image(png({.colour = 6, .rows = "\0\x64\xC8\xFF\x33"s}))), (std::vector<int>{20, 40, 51}));
  // Grey 7 is declared transparent.
  EXPECT_EQ(pixels(decode_image(png({.width = 2, .before = chunk("tRNS", "\0\7"s), .rows = "\0\7\x08"s}))),
            (std::vector<int>{0, 8}));
}

TEST(Png, BlendsAlphaOverBackground) {
  using namespace std::string_literals;
  const ImageDecoding white{.background = {255, 255, 255}}, colour{.background = {0, 100, 200}};
  const std::string grey = png({.width = 3, .colour = 4, .rows = "\0\xC8\xFF\xC8\x80\xC8\0"s});
  EXPECT_EQ(pixels(decode_image(grey, white)), (std::vector<int>{200, 227, 255}));
  // Grey over a colour has three planes: 200 x 128 / 255 and the background x 127 / 255.
  EXPECT_EQ(pixels(decode_image(grey, colour)), (std::vector<int>{200, 100, 0, 200, 150, 100, 200, 200, 200}));
  const std::string rgba = png({.colour = 6, .rows = "\0\x64\xC8\xFF\x33"s});  // 51 / 255
  EXPECT_EQ(pixels(decode_image(rgba, white)), (std::vector<int>{224, 244, 255}));
  EXPECT_EQ(pixels(decode_image(rgba, colour)), (std::vector<int>{20, 120, 211}));
  const std::string palette = png({.width = 2,
                                   .colour = 3,
                                   .before = chunk("PLTE", "\x0A\x0B\x0C\x14\x15\x16") + chunk("tRNS", "\0"s),
                                   .rows = "\0\1\0"s});
  EXPECT_EQ(pixels(decode_image(palette, colour)), (std::vector<int>{20, 0, 21, 100, 22, 200}));
  EXPECT_EQ(pixels(decode_image(png({.width = 2, .rows = "\0\7\x08"s}), colour)), (std::vector<int>{7, 8}))
      << "grey without transparency stays grey";
}

TEST(Png, ReadsInterlacedImages) {
  // Adam7: the first sample of each pass and the distance of its samples.
  constexpr std::array<std::array<std::size_t, 4>, 7> kPasses = {
      {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
  for (const auto& [height, width] : {std::pair<std::size_t, std::size_t>{1, 1}, {3, 2}, {8, 8}, {5, 4}, {13, 21}}) {
    std::string rows;
    for (const auto& [x0, y0, dx, dy] : kPasses) {
      for (std::size_t y = y0; y < height && x0 < width; y += dy) {
        rows += '\0';
        for (std::size_t x = x0; x < width; x += dx) {
          for (std::size_t c = 0; c < 3; ++c) rows += static_cast<char>(smooth(c, y, x));
        }
      }
    }
    const auto image = decode_image(png({.width = static_cast<std::uint32_t>(width),
                                         .height = static_cast<std::uint32_t>(height),
                                         .colour = 2,
                                         .interlace = 1,
                                         .rows = rows}));
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ(image->pixels,
              smooth_image(3, static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)).pixels);
  }
}

TEST(Png, RefusesToWriteInvalidImage) {
  for (const Image& image : {Image{.channels = 2, .height = 1, .width = 1, .pixels = {0, 0}},
                             Image{.channels = 1, .height = 0, .width = 1, .pixels = {}},
                             Image{.channels = 1, .height = 1, .width = 1, .pixels = {0, 0}},
                             Image{.channels = 3, .height = 1, .width = 100'000, .pixels = {}}}) {
    const auto result = encode_png(image);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  }
}

TEST(Png, NamesError) {
  using namespace std::string_literals;
  const std::string good = png({.width = 2, .rows = "\0\1\2"s});
  ASSERT_TRUE(decode_image(good).ok());
  expect_no_image(good.substr(0, 20), Code::kDataLoss, "ends inside its header");
  expect_no_image(good.substr(0, good.size() - 1), Code::kDataLoss, "png: the file is cut off");
  expect_no_image(png({.width = 0, .rows = "\0"s}), Code::kDataLoss, "0 x 1 pixels");
  expect_no_image(png({.width = 2, .depth = 3, .rows = "\0\1\2"s}), Code::kDataLoss, "png: Invalid IHDR data");
  expect_no_image(png({.width = 2, .colour = 3, .rows = "\0\1\2"s}), Code::kDataLoss, "Missing PLTE before IDAT");
  expect_no_image(png({.width = 2, .height = 2, .rows = "\0\1\2"s}), Code::kDataLoss, "png: Not enough image data");
  expect_no_image(png({.width = 2, .rows = "\x09\1\2"s}), Code::kDataLoss, "png: bad adaptive filter value");
  std::string damaged = good;
  damaged[good.size() - 14] ^= 1;  // in the checksum of the data
  expect_no_image(damaged, Code::kDataLoss, "png: IDAT: CRC error");
}

TEST(Image, RecognisesFormatBySignature) {
  expect_no_image("", Code::kUnimplemented, "neither PNG nor JPEG");
  expect_no_image("GIF89a", Code::kUnimplemented, "neither PNG nor JPEG");
}

TEST(Jpeg, ReadsBaselineAndProgressiveImages) {
  for (const Scans scans : {Scans::kOne, Scans::kProgressive}) {
    for (const int channels : {1, 3}) {
      for (const auto& [height, width] : {std::pair{1, 1}, {7, 3}, {16, 16}, {33, 50}}) {
        const auto image = decode_image(jpeg(channels, height, width, scans));

        ASSERT_TRUE(image.ok()) << image.error().message;
        EXPECT_EQ(image->channels, channels);
        EXPECT_EQ(image->height, height);
        EXPECT_EQ(image->width, width);
        const Image right = smooth_image(channels, height, width);
        double off = 0;
        for (std::size_t i = 0; i < right.pixels.size(); ++i) off += std::abs(image->pixels[i] - right.pixels[i]);
        EXPECT_LT(off / static_cast<double>(right.pixels.size()), 3.0);
      }
    }
  }
}

/// The file with EXIF data of this orientation behind its first marker.
std::string turned(const std::string& jpeg, char orientation) {
  using namespace std::string_literals;
  const std::string tiff = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + orientation + "\0\0\0\0\0\0"s;
  return jpeg.substr(0, 2) +
         "\xff\xe1\0\x22"
         "Exif\0\0"s +
         tiff + jpeg.substr(2);
}

TEST(Image, AppliesOrientationOnRequestOnly) {
  const std::string file = turned(jpeg(3, 7, 16), 6);
  const auto stored = decode_image(file), applied = decode_image(file, {.applies_orientation = true});
  ASSERT_TRUE(stored.ok() && applied.ok());
  EXPECT_EQ(stored->height, 7);
  EXPECT_EQ(applied->height, 16);
  EXPECT_EQ(applied->width, 7);
  EXPECT_EQ(applied->pixels[6], stored->pixels[0]) << "column 0 at the top, row 0 at the right";
  EXPECT_EQ(applied->pixels[0], stored->pixels[6 * 16]);
}

// The values of libjpeg's writer are those of the file, and count as inverted.
TEST(Jpeg, ConvertsInksToColours) {
  for (const bool is_ycck : {false, true}) {
    const auto image = decode_image(jpeg(4, 33, 50, Scans::kOne, is_ycck));

    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ(image->channels, 3);
    double off = 0;
    for (std::size_t i = 0; i < image->pixels.size(); ++i) {
      const std::size_t c = i / (33 * 50), y = i / 50 % 33, x = i % 50;
      off += std::abs(image->pixels[i] - smooth(c, y, x) * smooth(3, y, x) / 255.0);
    }
    EXPECT_LT(off / static_cast<double>(image->pixels.size()), 3.0) << is_ycck;
  }
}

TEST(Jpeg, NamesError) {
  const std::string good = jpeg(3, 16, 16);
  expect_no_image("\xff\xd8\xff", Code::kDataLoss, "jpeg: Premature end of JPEG file");
  expect_no_image(good.substr(0, good.size() - 10), Code::kDataLoss, "jpeg: Premature end of JPEG file");
  std::string twelve_bit = good;
  twelve_bit[good.find("\xff\xc0") + 4] = 12;
  expect_no_image(twelve_bit, Code::kDataLoss, "precision");
  std::string no_tables = good;
  no_tables[good.find("\xff\xdb") + 1] = '\xfe';  // the quantisation table becomes a comment
  expect_no_image(no_tables, Code::kDataLoss, "table");
  std::string arithmetic = good;
  arithmetic[good.find("\xff\xc0") + 1] = '\xc9';
  expect_no_image(arithmetic, Code::kUnimplemented, "jpeg: arithmetic coding");
}

TEST(Image, RefusesPrefixesAndHandlesCorruption) {
  const auto encoded = encode_png(smooth_image(3, 5, 6));
  ASSERT_TRUE(encoded.ok());
  for (const std::string& good : {*encoded, jpeg(3, 9, 10), jpeg(1, 9, 10, Scans::kProgressive)}) {
    const auto decode = [](const std::string& bytes) { return decode_image(bytes); };
    test::damage_bytes(good, decode, [](const Result<Image>& result, bool prefix) {
      EXPECT_FALSE(prefix && result.ok());
      if (result) {
        EXPECT_EQ(result->pixels.size(), static_cast<std::size_t>(result->channels * result->height * result->width));
      }
    });
  }
}

/// A JPEG with other sides in its header, at the marker `frame`.
std::string resized(std::string bytes, const std::string& frame, std::uint32_t height, std::uint32_t width) {
  return bytes.replace(bytes.find(frame) + 5, 4, big_endian(height << 16U | width));
}

TEST(Image, RefusesHugeImagesWithinMemoryLimit) {
  const std::string plain = jpeg(3, 16, 16), progressive = jpeg(3, 16, 16, Scans::kProgressive);
  for (const std::string& file :
       {png({.width = 0x7FFFFFFF, .height = 0x7FFFFFFF, .rows = ""}), png({.width = 0xFFFFFFFF, .rows = ""}),
        png({.width = 4097, .height = 4096, .colour = 6, .rows = ""}), png({.width = 65501, .height = 1, .rows = ""}),
        resized(plain, "\xff\xc0", 65500, 65500), resized(progressive, "\xff\xc2", 65500, 65500),
        resized(progressive, "\xff\xc2", 4000, 4001)}) {
    EXPECT_TRUE(test::within_memory(file.size(), [&] {
      const auto result = decode_image(file);
      return !result && result.error().code == Code::kResourceExhausted;
    }));
  }
  expect_no_image(resized(progressive, "\xff\xc2", 4000, 4001), Code::kResourceExhausted,
                  "a progressive picture of 4001 x 4000");
}

// libpng allocates the length that a chunk declares before it reads the bytes.
TEST(Image, RefusesPngChunkBeyondFile) {
  using namespace std::string_literals;
  std::string file = png({});
  file.insert(file.size() - 12, "eeeIiTXtDA"s);  // before the end chunk
  EXPECT_TRUE(test::within_memory(file.size(), [&] { return !decode_image(file); }));
  expect_no_image(file, Code::kDataLoss, "a chunk claims 1701143881 bytes");

  file = png({});
  file.replace(file.size() - 12, 12, "eeeezTXt"s);  // nothing after the type
  EXPECT_TRUE(test::within_memory(file.size(), [&] { return !decode_image(file); }));
  expect_no_image(file, Code::kDataLoss, "a chunk claims 1701143909 bytes");
}

TEST(Image, DecodesLargestImageWithinMemoryLimit) {
  const std::string row(4096 * 4 + 1, '\0');
  std::string rows;
  for (int y = 0; y < 4096; ++y) rows += row;
  const std::string packed = png({.width = 4096, .height = 4096, .colour = 6, .rows = rows});
  EXPECT_TRUE(test::within_memory(packed.size(), [&] { return decode_image(packed).ok(); }));

  const std::string plain = jpeg(3, 4096, 4096), progressive = jpeg(3, 3000, 2000, Scans::kProgressive);
  EXPECT_TRUE(test::within_memory(plain.size(), [&] { return decode_image(plain).ok(); }));
  const std::string sideways = turned(plain, 6);
  EXPECT_TRUE(
      test::within_memory(sideways.size(), [&] { return decode_image(sideways, {.applies_orientation = true}).ok(); }));
  EXPECT_TRUE(test::within_memory(progressive.size(), [&] { return decode_image(progressive).ok(); }));
}

TEST(Jpeg, LimitsProgressiveScans) {
  EXPECT_TRUE(decode_image(jpeg(1, 8, 8, Scans::kOneACoefficient)).ok());
  expect_no_image(jpeg(3, 8, 8, Scans::kOneACoefficient), Code::kResourceExhausted, "more than 100 scans");
}

}  // namespace
}  // namespace lanista::formats
