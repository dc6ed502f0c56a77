#include "lanista/io/formats/signature.h"

#include <gtest/gtest.h>

#include <span>

#include "lanista/base/crc32c.h"
#include "lanista/io/formats/npy.h"

namespace lanista::formats {
namespace {

void expect_refused(const std::string& bytes, const std::string& what, const std::string& advice) {
  const auto error = unsupported_format_error(bytes, "some/file");
  ASSERT_TRUE(error.has_value()) << what;
  EXPECT_EQ(error->code, Code::kUnimplemented);
  EXPECT_EQ(error->where, "some/file");
  EXPECT_NE(error->message.find(what), std::string::npos) << error->message;
  EXPECT_NE(error->message.find(advice), std::string::npos) << error->message;
}

std::string zip_entry(const std::string& name) {
  std::string header("PK\x03\x04", 4);
  header.resize(30, '\0');
  header[26] = static_cast<char>(name.size());
  return header + name + "content";
}

std::string tfrecord(std::uint64_t length) {
  std::string out(reinterpret_cast<const char*>(&length), 8);
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(out)));
  const std::uint32_t masked = (crc >> 15U | crc << 17U) + 0xA282EAD8U;
  return out + std::string(reinterpret_cast<const char*>(&masked), 4) + "data";
}

TEST(Signature, RefusesExecutableFormatsWithAdvice) {
  for (const char version : {'\x02', '\x03', '\x04', '\x05'}) {
    expect_refused(std::string("\x80") + version + "}q.", "a pickle", "weights_only=True");
  }
  expect_refused(zip_entry("archive/data.pkl"), "a PyTorch file", "weights_only=True");
  expect_refused(zip_entry("model/data.pkl"), "a PyTorch file", "save_file");
  expect_refused("\x93NUMPY\x01" + std::string(1, '\0') + "v" + std::string(1, '\0') +
                     "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
                 "an array of objects", "astype");
}

TEST(Signature, RefusesUnsupportedFormats) {
  expect_refused("\x89HDF\r\n\x1a\n....", "HDF5", "numpy.save");
  expect_refused("PAR1........PAR1", "Parquet", "to_csv");
  expect_refused(tfrecord(4), "TFRecord", "numpy.savez");
}

TEST(Signature, AcceptsOtherBytes) {
  const Tensor tensor{.name = "", .type = ElementType::kF32, .shape = {2}, .bytes = std::vector<std::byte>(8)};
  const std::string broken_record = [] {
    std::string record = tfrecord(4);
    record[9] = static_cast<char>(record[9] ^ 1);
    return record;
  }();
  for (const std::string& bytes :
       {std::string(), std::string("P"), std::string("\x80"), std::string("\x80\x06"), std::string("PAR1,PAR2\n1,2\n"),
        zip_entry("x.npy"), zip_entry("data.pkl.npy"), encode_npy(tensor), broken_record, std::string("a,b\n1,2\n")}) {
    EXPECT_FALSE(unsupported_format_error(bytes, "f").has_value()) << bytes;
  }
}

}  // namespace
}  // namespace lanista::formats
