#include "lanista/io/formats/npz.h"

#include <string>
#include <utility>

#include "lanista/io/formats/npy.h"
#include "lanista/io/formats/zip.h"

namespace lanista::formats {
namespace {

constexpr std::string_view kEnding = ".npy";

}  // namespace

Result<std::vector<Tensor>> decode_npz(std::string_view bytes) {
  LANISTA_ASSIGN(const std::vector<ZipEntry> entries, read_zip_directory(bytes));
  std::vector<Tensor> tensors;
  for (const ZipEntry& entry : entries) {
    const auto at_entry = [&](Error error) {
      error.message = "npz: entry \"" + entry.name + "\": " + error.message;
      return error;
    };
    if (!entry.name.ends_with(kEnding) || entry.name.size() == kEnding.size()) {
      return at_entry({Code::kUnimplemented, "not an array (its name does not end in .npy)", ""});
    }
    std::string buffer;
    LANISTA_ASSIGN(const std::string_view npy, unpack_entry(entry, buffer));
    auto tensor = decode_npy(npy);
    if (!tensor) return at_entry(tensor.error());
    tensor->name = entry.name.substr(0, entry.name.size() - kEnding.size());
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace lanista::formats
