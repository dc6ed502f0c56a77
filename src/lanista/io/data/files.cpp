#include "lanista/io/data/files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "lanista/io/formats/gzip.h"
#include "lanista/io/formats/signature.h"

namespace lanista::data {
namespace {

/// The last component of a path, without ".gz".
std::filesystem::path inner_name(const std::string& path) {
  std::string text = path;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.ends_with(".gz")) text.resize(text.size() - 3);
  return std::filesystem::path(text).filename();
}

Error too_large(const std::string& path, std::uint64_t size, std::uint64_t max_bytes) {
  return {
      Code::kResourceExhausted,
      "the file has " + std::to_string(size) + " bytes, at most " + std::to_string(max_bytes) + " are read into memory",
      path};
}

}  // namespace

std::string resolve_path(const std::string& path, const std::string& folder) {
  const std::filesystem::path p(path);
  return p.is_absolute() || folder.empty() ? path : (std::filesystem::path(folder) / p).string();
}

Result<std::string> load_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes) {
  if (!fs.exists(path)) return Error{Code::kNotFound, "there is no such file", path};
  LANISTA_ASSIGN(const std::uint64_t size, fs.size(path));
  if (size > max_bytes) return too_large(path, size, max_bytes);
  LANISTA_ASSIGN(std::string bytes, fs.read(path));
  if (formats::is_gzip(bytes)) {
    auto unpacked = formats::gunzip(bytes, max_bytes);
    if (!unpacked) return with_file(unpacked.error(), path);
    bytes = *std::move(unpacked);
  }
  if (auto refused = formats::unsupported_format_error(bytes, path)) return *std::move(refused);
  return bytes;
}

std::string stem_of(const std::string& path) { return inner_name(path).stem().string(); }

std::string extension_of(const std::string& path) {
  std::string ending = inner_name(path).extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return ending.empty() ? ending : ending.substr(1);
}

bool is_folder(FileSystem& fs, const std::string& path) { return fs.list(path).ok(); }

Error with_file(Error error, const std::string& path) {
  if (error.where.empty()) error.where = path;
  return error;
}

}  // namespace lanista::data
