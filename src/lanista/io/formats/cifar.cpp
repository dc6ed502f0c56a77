#include "lanista/io/formats/cifar.h"

#include <string>

namespace lanista::formats {
namespace {

constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;

/// A label of a record, or an error with the record's number.
Result<std::uint8_t> checked(char label, int classes, std::size_t record) {
  const auto value = static_cast<std::uint8_t>(label);
  if (value < classes) return value;
  return Error{Code::kDataLoss,
               "cifar: record " + std::to_string(record) + " has label " + std::to_string(value) +
                   "; allowed are 0 to " + std::to_string(classes - 1),
               ""};
}

}  // namespace

Result<CifarFile> decode_cifar(std::string_view bytes, CifarKind kind) {
  const bool coarse = kind == CifarKind::k100;
  const std::size_t label_bytes = coarse ? 2 : 1;
  const std::size_t record = label_bytes + kPixels;
  if (bytes.empty()) return Error{Code::kDataLoss, "cifar: the file is empty", ""};
  if (bytes.size() % record != 0) {
    return Error{Code::kDataLoss,
                 "cifar: " + std::to_string(bytes.size()) + " bytes are not whole records of " +
                     std::to_string(record) + " bytes",
                 ""};
  }
  const std::size_t rows = bytes.size() / record;
  CifarFile file;
  file.pixels.reserve(rows * kPixels);
  file.labels.reserve(rows);
  file.coarse.reserve(coarse ? rows : 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string_view at = bytes.substr(row * record, record);
    if (coarse) {
      LANISTA_ASSIGN(const std::uint8_t label, checked(at[0], 20, row));
      file.coarse.push_back(label);
    }
    LANISTA_ASSIGN(const std::uint8_t label, checked(at[label_bytes - 1], coarse ? 100 : 10, row));
    file.labels.push_back(label);
    file.pixels.insert(file.pixels.end(), at.begin() + static_cast<std::ptrdiff_t>(label_bytes), at.end());
  }
  return file;
}

}  // namespace lanista::formats
