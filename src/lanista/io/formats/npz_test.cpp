#include "lanista/io/formats/npz.h"

#include <gtest/gtest.h>

#include "lanista/io/formats/npy.h"
#include "support/io/formats/test_support.h"
#include "support/io/formats/test_zip.h"

namespace lanista::formats {
namespace {

using test::ZipFile;

Tensor bytes_tensor(std::string name, const std::string& values) {
  Tensor t{.name = std::move(name),
           .type = ElementType::kU8,
           .shape = {static_cast<std::int64_t>(values.size())},
           .bytes = {}};
  for (const char c : values) t.bytes.push_back(static_cast<std::byte>(c));
  return t;
}

std::string array(const std::string& values) { return encode_npy(bytes_tensor("", values)); }

void expect_error(const std::string& bytes, Code code, const std::string& rule) {
  const auto result = decode_npz(bytes);
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message;
}

/// A valid entry after a change.
ZipFile entry(void (*change)(ZipFile&)) {
  ZipFile file{.name = "x.npy", .data = array("abc")};
  change(file);
  return file;
}

TEST(Npz, ReadsStoredAndDeflatedArraysInOrder) {
  const std::string long_one = test::noise(70'000);
  for (const bool deflate : {false, true}) {
    const auto tensors = decode_npz(test::zip({{.name = "z.npy", .data = array("abc"), .deflate = deflate},
                                               {.name = "layer/a.npy", .data = array(long_one), .deflate = deflate},
                                               {.name = "größe.npy", .data = array(""), .deflate = !deflate}}));

    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    EXPECT_EQ(*tensors, (std::vector<Tensor>{bytes_tensor("z", "abc"), bytes_tensor("layer/a", long_one),
                                             bytes_tensor("größe", "")}));
  }
}

TEST(Npz, ReadsFileOfNumPy) {
  // numpy.savez marks the sizes in an entry's own header as zip64; its directory is plain.
  const std::string zip64 = test::little(1, 2) + test::little(16, 2) + test::little(131, 8) + test::little(131, 8);
  const auto tensors = decode_npz(test::zip({{.name = "arr_0.npy", .data = array("abc"), .local_extra = zip64}}));
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(*tensors, std::vector<Tensor>{bytes_tensor("arr_0", "abc")});
  EXPECT_TRUE(decode_npz(test::zip({})).ok());
}

TEST(Npz, ReadsACommentAtTheEnd) {
  const std::vector<ZipFile> files = {{.name = "x.npy", .data = array("abc")}};
  EXPECT_TRUE(decode_npz(test::zip(files, "a comment")).ok());
  EXPECT_TRUE(decode_npz(test::zip(files, std::string(65535, 'c'))).ok());
  expect_error(test::zip(files) + "x", Code::kDataLoss, "no end record");
}

TEST(Npz, NamesViolatedRule) {
  const auto broken = [](const ZipFile& file, const std::string& rule) {
    expect_error(test::zip({file}), Code::kDataLoss, rule);
  };
  ASSERT_TRUE(decode_npz(test::zip({entry([](ZipFile&) {})})).ok());
  expect_error("", Code::kDataLoss, "no end record");
  expect_error("\x93NUMPY", Code::kDataLoss, "no end record");
  broken(entry([](ZipFile& f) { f.crc = 17; }), "entry \"x.npy\" has a wrong checksum");
  broken(entry([](ZipFile& f) { f.unpacked = 500; }), "is stored, yet its sizes differ: 131 and 500");
  broken(entry([](ZipFile& f) { f.deflate = true, f.unpacked = 500; }), "has 131 bytes, not the declared 500");
  broken(entry([](ZipFile& f) { f.deflate = true, f.packed = 30; }), "the packed data are cut off");
  broken(entry([](ZipFile& f) { f.packed = f.unpacked = 5000; }), "leaves the file");
  broken(entry([](ZipFile& f) { f.offset = 1; }), "no header at byte 1");
  broken(entry([](ZipFile& f) { f.offset = 4'000'000'000; }), "no header at byte 4000000000");
  broken(entry([](ZipFile& f) { f.local_name = "y.npy"; }), "a header that differs from the directory");
  broken(entry([](ZipFile& f) { f.data = "no array"; }), "npz: entry \"x.npy\": npy: the file does not begin");
  expect_error(test::zip({entry([](ZipFile&) {}), entry([](ZipFile&) {})}), Code::kDataLoss, "two entries are named");
  expect_error(test::zip({entry([](ZipFile& f) { f.deflate = true, f.unpacked = 100; })}), Code::kResourceExhausted,
               "more than the 100 that are allowed");
}

TEST(Npz, NamesUnsupportedNode) {
  const auto refused = [](const ZipFile& file, const std::string& rule) {
    expect_error(test::zip({file}), Code::kUnimplemented, rule);
  };
  refused(entry([](ZipFile& f) { f.flags = 1; }), "entry \"x.npy\" is encrypted");
  refused(entry([](ZipFile& f) { f.method = 12; }), "packed by method 12");
  refused(entry([](ZipFile& f) { f.name = "readme.txt"; }), "not an array");
  refused(entry([](ZipFile& f) { f.name = ".npy"; }), "not an array");
  refused(entry([](ZipFile& f) { f.packed = f.unpacked = 0xFFFFFFFF; }), "4 GB or more");

  std::string two_disks = test::zip({});
  two_disks[4] = 1;
  expect_error(two_disks, Code::kUnimplemented, "several files");
  std::string zip64 = test::zip({});
  for (std::size_t i = 12; i < 20; ++i) zip64[i] = '\xFF';
  expect_error(zip64, Code::kUnimplemented, "zip64");
}

TEST(Npz, RefusesPathsInNames) {
  for (const std::string name : {"../x.npy", "a/../../x.npy", "/etc/x.npy", "a//x.npy", "./x.npy", "a\\x.npy", "\n.npy",
                                 "\x7Fx.npy", "\xFFx.npy", "", "a/"}) {
    expect_error(test::zip({{.name = name, .data = array("abc")}}), Code::kDataLoss, "leads into other folders");
  }
}

TEST(Npz, RefusesInconsistentDirectory) {
  const std::string good = test::zip({entry([](ZipFile&) {})});
  const std::size_t end = good.size() - 22;
  const auto with = [&](std::size_t at, std::uint64_t value, int size) {
    std::string bad = good;
    return bad.replace(at, static_cast<std::size_t>(size), test::little(value, size));
  };
  expect_error(with(end + 12, 50, 4), Code::kDataLoss, "but the end record is at");
  expect_error(with(end + 16, 0, 4), Code::kDataLoss, "but the end record is at");
  expect_error(with(end + 8, 0x20002, 4), Code::kDataLoss, "lacks a record");
  expect_error(with(end + 8, 0, 4), Code::kDataLoss, "more bytes than its entries");
  expect_error(with(end - 51 + 30, 9, 2), Code::kDataLoss, "a directory record leaves the directory");
}

TEST(Npz, RefusesBombsWithinMemoryLimits) {
  const std::size_t large = std::size_t{100} << 20;
  const std::string bomb = test::zip({{.name = "x.npy", .data = std::string(large, '\0'), .deflate = true}});
  // It declares few bytes and holds many.
  const std::string liar =
      test::zip({{.name = "x.npy", .data = std::string(large, '\0'), .deflate = true, .unpacked = 1000}});
  // It declares many bytes and holds few.
  const std::string boaster = test::zip({{.name = "x.npy", .data = "abc", .deflate = true, .unpacked = 4'000'000'000}});
  for (const std::string& file : {bomb, liar, boaster}) {
    EXPECT_TRUE(test::within_memory(file.size(), [&] {
      const auto result = decode_npz(file);
      return !result && result.error().code == Code::kResourceExhausted;
    }));
  }
}

TEST(Npz, RefusesOverlappingEntries) {
  const ZipFile file{.name = "a.npy", .data = array("abc")};
  ZipFile reread = file;
  reread.offset = 0;
  expect_error(test::zip({file, reread}), Code::kDataLoss, "two entries are named");
  // The second entry is inside the data of the first.
  const std::string inner = test::zip({{.name = "b.npy", .data = array("abc")}});
  ZipFile outer{.name = "a.npy", .data = inner};
  ZipFile second{.name = "b.npy", .data = array("abc"), .offset = 30 + 5};
  expect_error(test::zip({outer, second}), Code::kDataLoss, "two entries overlap at byte 35");
}

TEST(Npz, LimitsNumberOfEntries) {
  std::vector<ZipFile> files;
  for (int i = 0; i < 1000; ++i) files.push_back({.name = std::to_string(i) + ".npy", .data = array("")});
  EXPECT_TRUE(decode_npz(test::zip(files)).ok());
  files.push_back({.name = "one_more.npy", .data = array("")});
  expect_error(test::zip(files), Code::kResourceExhausted, "1001 or more entries; at most 1000");

  std::string zip64_count = test::zip({});  // a million is written as 65,535 and a pointer to more
  for (std::size_t i = 8; i < 12; ++i) zip64_count[i] = '\xFF';
  expect_error(zip64_count, Code::kResourceExhausted, "65535 or more entries");
}

TEST(Npz, RefusesPrefixesAndHandlesCorruption) {
  const std::string good = test::zip(
      {{.name = "a.npy", .data = array("abc")}, {.name = "b.npy", .data = array("defdefdef"), .deflate = true}});
  const std::vector<Tensor> right = {bytes_tensor("a", "abc"), bytes_tensor("b", "defdefdef")};
  test::damage_bytes(good, decode_npz, [&](const Result<std::vector<Tensor>>& result, bool prefix) {
    EXPECT_FALSE(prefix && result.ok());
    if (!result) return;
    EXPECT_EQ(*result, right);  // for example a date; arrays have a checksum, and names occur twice
  });
}

}  // namespace
}  // namespace lanista::formats
