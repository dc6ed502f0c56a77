#include "lanista/base/file_system.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/paths.h"

namespace lanista {
namespace {

constexpr std::string_view kTemporary = ".tmp-";
constexpr std::size_t kWordDigits = 16;

}  // namespace

Result<void> make_durable_folder(FileSystem& fs, const std::string& path) {
  std::vector<std::string> folders;  // innermost first
  for (std::string part = path; part != "." && part != "/"; part = parent_of(part)) folders.push_back(part);
  std::size_t made = 0;
  while (made < folders.size() && !fs.exists(folders[made])) ++made;
  LANISTA_TRY(fs.make_folder(path));
  for (std::size_t i = 0; i < folders.size(); ++i) {
    // An existing folder may be one that another process made before it died without a sync, or one that we may not
    // open.
    if (auto synced = fs.sync_folder(parent_of(folders[i])); !synced && i < made) return synced;
  }
  return {};
}

std::shared_ptr<FileSystem> FileSystem::confined_to(const std::string&) { return {std::shared_ptr<void>(), this}; }

std::string random_hex() {
  std::uint64_t word = 0;
  LANISTA_CHECK(::getentropy(&word, sizeof(word)) == 0, "the system gives no randomness");
  return Digest{0, word}.hex().substr(16);
}

std::string temporary_name(const std::string& path) { return path + std::string(kTemporary) + random_hex(); }

bool is_temporary_name(std::string_view name) {
  const std::size_t at = name.rfind(kTemporary);
  if (at == std::string_view::npos) return false;
  const std::string_view word = name.substr(at + kTemporary.size());
  return word.size() == kWordDigits && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void> remove_leftovers(FileSystem& fs, const std::string& folder) {
  if (fs.kind(folder) != FileKind::kFolder) return {};
  LANISTA_ASSIGN(const auto names, fs.list(folder));
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (is_temporary_name(name) && fs.kind(path) == FileKind::kFile) LANISTA_TRY(fs.remove(path));
  }
  return {};
}

Result<void> write_atomically(FileSystem& fs, const std::string& path, std::span<const std::byte> data) {
  const auto write_once = [&]() -> Result<void> {
    const std::string temporary = temporary_name(path);
    Result<void> written = fs.write_file(temporary, data);
    // A file of this name from another writer stays.
    if (!written && written.error().code == Code::kAlreadyExists) return written;
    if (written) written = fs.rename(temporary, path);
    if (!written) static_cast<void>(fs.remove(temporary));  // the first error is reported
    return written;
  };
  Result<void> written = write_once();
  // Another process may have removed the temporary file as a leftover (remove_leftovers), or, once in 2^64, it has the
  // same name.
  const bool again =
      !written && (written.error().code == Code::kNotFound || written.error().code == Code::kAlreadyExists);
  if (again && fs.exists(parent_of(path))) written = write_once();
  if (!written) return written;
  return fs.sync_folder(parent_of(path));
}

Result<void> write_atomically(FileSystem& fs, const std::string& path, std::string_view text) {
  return write_atomically(fs, path, std::as_bytes(std::span(text)));
}

}  // namespace lanista
