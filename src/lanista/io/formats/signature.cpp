#include "lanista/io/formats/signature.h"

#include <cstdint>
#include <cstring>
#include <span>

#include "lanista/base/crc32c.h"

namespace lanista::formats {
namespace {

constexpr std::string_view kTorchAdvice =
    "safetensors.torch.save_file(torch.load(path, weights_only=True), \"weights.safetensors\")";

bool is_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

/// Whether it is PyTorch's archive: a zip with first entries in one folder, data.pkl among them.
bool is_torch_archive(std::string_view bytes) {
  constexpr std::size_t kLocalHeader = 30, kSearched = 4096;
  if (!bytes.starts_with("PK\x03\x04") || bytes.size() < kLocalHeader) return false;
  return bytes.substr(0, kSearched).find("/data.pkl") != std::string_view::npos;
}

bool is_object_array(std::string_view bytes) {
  constexpr std::size_t kSearched = 128;
  if (!bytes.starts_with("\x93NUMPY")) return false;
  const std::string_view header = bytes.substr(0, kSearched);
  return header.find("'|O'") != std::string_view::npos || header.find("'O'") != std::string_view::npos;
}

/// Whether it begins as a record: its length and the masked checksum of the length.
bool is_tfrecord(std::string_view bytes) {
  constexpr std::size_t kLength = 8;
  if (bytes.size() < kLength + 4) return false;
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + kLength, sizeof stored);
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes.data(), kLength)));
  return stored == ((crc >> 15U | crc << 17U) + 0xA282EAD8U);
}

}  // namespace

std::optional<Error> unsupported_format_error(std::string_view bytes, const std::string& path) {
  const auto refuse = [&](std::string_view what, std::string_view advice) {
    return Error{Code::kUnimplemented,
                 "this is " + std::string(what) + "; convert it in Python: " + std::string(advice), path};
  };
  if (is_torch_archive(bytes)) return refuse("a PyTorch file, a pickle, which can run code", kTorchAdvice);
  if (is_pickle(bytes)) {
    std::string advice(kTorchAdvice);
    advice.append(" for weights, numpy.save(\"x.npy\", array) for data");
    return refuse("a pickle, which can run code", advice);
  }
  if (is_object_array(bytes)) {
    return refuse("an array of objects, a pickle, which can run code",
                  "numpy.save(\"x.npy\", array.astype(\"float32\"))");
  }
  if (bytes.starts_with("\x89HDF\r\n\x1a\n")) {
    return refuse("an HDF5 file", "numpy.save(\"x.npy\", h5py.File(path)[\"x\"][:])");
  }
  if (bytes.size() >= 12 && bytes.starts_with("PAR1") && bytes.ends_with("PAR1")) {
    return refuse("a Parquet file", "pandas.read_parquet(path).to_csv(\"table.csv\", index=False)");
  }
  if (is_tfrecord(bytes)) {
    return refuse("a TFRecord file", "numpy.savez(\"set.npz\", x=x, y=y) from a tf.data.TFRecordDataset");
  }
  return std::nullopt;
}

}  // namespace lanista::formats
