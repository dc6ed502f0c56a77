#include "lanista/io/formats/exif.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

using namespace std::string_literals;

std::string number(std::uint32_t value, std::size_t size, bool is_big_endian) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    out[is_big_endian ? size - 1 - i : i] = static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  return out;
}

/// An entry of a directory: tag, type, number of values, and four bytes of value.
struct Entry {
  std::uint32_t tag, type, values;
  std::string value;
};

/// EXIF data from the specification: a header, and one directory at `directory`.
std::string tiff(const std::vector<Entry>& entries, bool is_big_endian, std::uint32_t directory = 8) {
  std::string out = (is_big_endian ? "MM" : "II") + number(42, 2, is_big_endian) + number(directory, 4, is_big_endian);
  out.resize(std::max<std::size_t>(directory, 8), '\0');
  out += number(static_cast<std::uint32_t>(entries.size()), 2, is_big_endian);
  for (const Entry& entry : entries) {
    std::string value = entry.value;
    value.resize(4, '\0');
    out += number(entry.tag, 2, is_big_endian) + number(entry.type, 2, is_big_endian) +
           number(entry.values, 4, is_big_endian) + value;
  }
  return out + number(0, 4, is_big_endian);  // no other directory
}

std::string tiff_of(std::uint32_t orientation, bool is_big_endian) {
  return tiff({{0x010F, 2, 4, "abc"}, {0x0112, 3, 1, number(orientation, 2, is_big_endian)}}, is_big_endian);
}

std::string segment(char marker, const std::string& data) {
  return "\xff"s + marker + number(static_cast<std::uint32_t>(data.size() + 2), 2, true) + data;
}

TEST(Exif, ReadsOrientationInBothByteOrders) {
  for (const bool is_big_endian : {true, false}) {
    for (std::uint32_t orientation = 1; orientation <= 8; ++orientation) {
      EXPECT_EQ(exif_orientation(tiff_of(orientation, is_big_endian)), static_cast<int>(orientation));
    }
    for (const std::uint32_t other : {0U, 9U, 65535U}) EXPECT_EQ(exif_orientation(tiff_of(other, is_big_endian)), 1);
    // Some programs write a number of four bytes, or of one.
    EXPECT_EQ(exif_orientation(tiff({{0x0112, 4, 1, number(6, 4, is_big_endian)}}, is_big_endian)), 6);
    EXPECT_EQ(exif_orientation(tiff({{0x0112, 1, 1, "\x03"}}, is_big_endian)), 3);
    EXPECT_EQ(exif_orientation(tiff({{0x0112, 3, 1, number(8, 2, is_big_endian)}}, is_big_endian, 100)), 8);
  }
}

TEST(Exif, IsUprightWhereDataAreDamaged) {
  const std::string good = tiff_of(6, false);
  ASSERT_EQ(exif_orientation(good), 6);
  const std::size_t end = 8 + 2 + 2 * 12;  // after the value of the second entry
  for (std::size_t size = 0; size < end - 2; ++size) EXPECT_EQ(exif_orientation(good.substr(0, size)), 1) << size;
  EXPECT_EQ(exif_orientation(tiff({{0x0112, 3, 2, number(6, 2, false)}}, false)), 1) << "two values";
  EXPECT_EQ(exif_orientation(tiff({{0x0112, 5, 1, number(6, 2, false)}}, false)), 1) << "a fraction";
  EXPECT_EQ(exif_orientation(tiff({{0x0112, 2, 1, "6"}}, false)), 1) << "a text";
  for (const std::uint32_t directory : {0xFFFFFFFFU, 0xFFFFFFF0U, 1000U}) {  // beyond the end
    EXPECT_EQ(exif_orientation("II*\0"s + number(directory, 4, false) + good.substr(8)), 1) << directory;
  }
  // A directory that begins in the header, and one that claims more entries than there are bytes.
  EXPECT_EQ(exif_orientation("II*\0\0\0\0\0"s), 1);
  EXPECT_EQ(exif_orientation("II*\0\x08\0\0\0\xff\xff"s), 1);
  test::damage_bytes(good, exif_orientation, [](int orientation, bool) {
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  });
}

TEST(Exif, IsFoundInJpegSegments) {
  const std::string start = "\xff\xd8", exif = segment('\xe1', "Exif\0\0"s + tiff_of(6, true));
  const std::string xmp = segment('\xe1', "http://ns.adobe.com/xap/1.0/\0"s), jfif = segment('\xe0', "JFIF\0"s);
  EXPECT_EQ(jpeg_orientation(start + exif), 6);
  EXPECT_EQ(jpeg_orientation(start + jfif + xmp + "\xff\xff" + exif), 6) << "after others and fill bytes";
  EXPECT_EQ(jpeg_orientation(start + segment('\xda', "") + exif), 1) << "after the first pixels";
  EXPECT_EQ(jpeg_orientation(start + "\xff\xd9" + exif), 1) << "after the end";
  EXPECT_EQ(jpeg_orientation(start + "\xff\xe0\0\0"s + exif), 1) << "a segment shorter than its length";
  EXPECT_EQ(jpeg_orientation(start + "\xff\xe0\xff\xff"s + exif), 1) << "a segment beyond the end";
  EXPECT_EQ(jpeg_orientation(""), 1);
  test::damage_bytes(start + jfif + exif, jpeg_orientation, [](int orientation, bool) {
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  });
}

TEST(Exif, IsFoundInPngChunks) {
  const auto chunk = [](const std::string& type, const std::string& data) {
    return number(static_cast<std::uint32_t>(data.size()), 4, true) + type + data + "sum!";
  };
  const std::string signature = "\x89PNG\r\n\x1a\n", exif = chunk("eXIf", tiff_of(8, false));
  EXPECT_EQ(png_orientation(signature + chunk("IHDR", "x") + exif), 8);
  EXPECT_EQ(png_orientation(signature + chunk("IDAT", "xyz") + exif), 8) << "after the pixels";
  EXPECT_EQ(png_orientation(signature + chunk("IHDR", "x")), 1);
  EXPECT_EQ(png_orientation(signature + "\xff\xff\xff\xff"s + "IHDR" + exif), 1) << "a chunk beyond the end";
  test::damage_bytes(signature + exif, png_orientation, [](int orientation, bool) {
    EXPECT_GE(orientation, 1);
    EXPECT_LE(orientation, 8);
  });
}

// Made by hand from the table of the standard: where row 0 and column 0 of the stored picture lie.
TEST(Exif, TurnsPictureUprightForAllOrientations) {
  // Stored are the rows 1 2 3 and 4 5 6.
  const std::vector<std::vector<std::uint8_t>> right{{1, 2, 3,   //
                                                      4, 5, 6},  // row 0 at the top, column 0 at the left
                                                     {3, 2, 1,   //
                                                      6, 5, 4},  // top, right
                                                     {6, 5, 4,   //
                                                      3, 2, 1},  // bottom, right
                                                     {4, 5, 6,   //
                                                      1, 2, 3},  // bottom, left
                                                     {1, 4,      //
                                                      2, 5,      //
                                                      3, 6},     // left, top
                                                     {4, 1,      //
                                                      5, 2,      //
                                                      6, 3},     // right, top
                                                     {6, 3,      //
                                                      5, 2,      //
                                                      4, 1},     // right, bottom
                                                     {3, 6,      //
                                                      2, 5,      //
                                                      1, 4}};    // left, bottom
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image stored{.channels = 3, .height = 2, .width = 3, .pixels = {}};
    std::vector<std::uint8_t> expected;
    for (int c = 0; c < 3; ++c) {
      for (int i = 1; i <= 6; ++i) stored.pixels.push_back(static_cast<std::uint8_t>(10 * c + i));
      for (const std::uint8_t value : right[static_cast<std::size_t>(orientation - 1)]) {
        expected.push_back(static_cast<std::uint8_t>(10 * c + value));
      }
    }

    const Image image = upright(stored, orientation);

    EXPECT_EQ(image.height, orientation >= 5 ? 3 : 2) << orientation;
    EXPECT_EQ(image.width, orientation >= 5 ? 2 : 3) << orientation;
    EXPECT_EQ(image.pixels, expected) << orientation;
  }
  EXPECT_THROW(upright({}, 0), InternalError);
}

}  // namespace
}  // namespace lanista::formats
