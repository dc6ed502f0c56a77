#include "lanista/base/file_system.h"

#include <vector>

#include "lanista/base/paths.h"

namespace lanista {
Result<void> make_durable_folder(FileSystem& fs, const std::string& path) {
  std::vector<std::string> folders;  // innermost first
  for (std::string part = path; part != "." && part != "/"; part = parent_of(part)) folders.push_back(part);
  std::size_t made = 0;
  while (made < folders.size() && !fs.exists(folders[made])) ++made;
  LANISTA_TRY(fs.make_folder(path));
  for (std::size_t i = 0; i < folders.size(); ++i) {
    // A folder that was there may be another process's that died before its sync; or one that we may not even open.
    if (auto synced = fs.sync_folder(parent_of(folders[i])); !synced && i < made) return synced;
  }
  return {};
}

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
