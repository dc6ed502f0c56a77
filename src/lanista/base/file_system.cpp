#include "lanista/base/file_system.h"

namespace lanista {
namespace {

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<void> write_atomically(FileSystem& fs, const std::string& path, std::span<const std::byte> data) {
  const std::string temporary = path + ".tmp";
  Result<void> written = fs.write_file(temporary, data);
  if (written) written = fs.rename(temporary, path);
  if (!written) {
    static_cast<void>(fs.remove(temporary));  // the first error is the one to tell
    return written;
  }
  return fs.sync_folder(parent_of(path));
}

Result<void> write_atomically(FileSystem& fs, const std::string& path, std::string_view text) {
  return write_atomically(fs, path, std::as_bytes(std::span(text)));
}

}  // namespace lanista
