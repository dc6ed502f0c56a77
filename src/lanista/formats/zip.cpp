#include "lanista/formats/zip.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lanista/base/utf8.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30;
constexpr std::size_t kMaxComment = 65535;
constexpr std::uint64_t kZip64 = 0xFFFFFFFF;  // "look into the zip64 record"
constexpr std::uint64_t kEncrypted = 1U | 1U << 6U | 1U << 13U;

Error broken(const std::string& message) { return {Code::kDataLoss, "zip: " + message, ""}; }
Error refused(const std::string& message) { return {Code::kUnimplemented, "zip: " + message, ""}; }

/// The little-endian number of `size` bytes at `at`; the caller has checked that it is there.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Where the end record begins: the last place whose comment reaches the file's end.
Result<std::size_t> find_end(std::string_view archive) {
  for (std::size_t comment = 0; comment <= kMaxComment && archive.size() >= kEndSize + comment; ++comment) {
    const std::size_t at = archive.size() - kEndSize - comment;
    if (archive.substr(at, 4) == "PK\5\6" && number(archive, at + 20, 2) == comment) return at;
  }
  return broken("the file has no end record: it is no zip archive, or is cut off");
}

/// Where the directory lies.
struct Directory {
  std::size_t begin = 0, end = 0, entries = 0;
};

Result<Directory> read_end(std::string_view archive) {
  LANISTA_ASSIGN(const std::size_t at, find_end(archive));
  const std::uint64_t entries = number(archive, at + 10, 2);
  const std::uint64_t size = number(archive, at + 12, 4), begin = number(archive, at + 16, 4);
  if (entries > kMaxZipEntries) {
    return Error{Code::kResourceExhausted,
                 "zip: " + std::to_string(entries) + " or more entries; at most " + std::to_string(kMaxZipEntries) +
                     " are allowed",
                 ""};
  }
  if (number(archive, at + 4, 4) != 0 || number(archive, at + 8, 2) != entries) {
    return refused("archives of several files are not read");
  }
  if (begin == kZip64 || size == kZip64) return refused("archives of 4 GB and more (zip64) are not read");
  if (begin + size != at) {
    return broken("the directory claims bytes " + std::to_string(begin) + " to " + std::to_string(begin + size) +
                  ", but the end record is at " + std::to_string(at));
  }
  return Directory{begin, at, entries};
}

/// A key, never a path: UTF-8 without control characters and backslashes, each part between slashes a name.
bool is_harmless(const std::string& name) {
  const auto foul = [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; };
  if (find_not_utf8(name) != std::string_view::npos || std::ranges::any_of(name, foul)) return false;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = name.find('/', begin);
    const std::string part = name.substr(begin, end == std::string::npos ? end : end - begin);
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

/// The entry whose directory record is at `at`, still without its bytes. Moves `at` behind the record and sets
/// `local`, the place of the entry's own header.
Result<ZipEntry> read_record(std::string_view archive, const Directory& directory, std::size_t& at,
                             std::size_t& local) {
  if (directory.end - at < kCentralSize || archive.substr(at, 4) != "PK\1\2") {
    return broken("the directory lacks a record at byte " + std::to_string(at));
  }
  const auto field = [&](std::size_t offset, std::size_t size) { return number(archive, at + offset, size); };
  const std::size_t name_size = field(28, 2);
  const std::size_t record = kCentralSize + name_size + field(30, 2) + field(32, 2);
  if (directory.end - at < record) return broken("a directory record leaves the directory");
  ZipEntry entry;
  entry.name = archive.substr(at + kCentralSize, name_size);
  if (!is_harmless(entry.name)) {
    return broken("the entry at byte " + std::to_string(at) +
                  " of the directory has a name that is no plain text or leads into other folders");
  }
  const std::string what = "entry \"" + entry.name + "\" ";
  const std::uint64_t flags = field(8, 2), method = field(10, 2), packed = field(20, 4);
  entry.crc = static_cast<std::uint32_t>(field(16, 4));
  entry.unpacked_bytes = field(24, 4);
  local = field(42, 4);
  if ((flags & kEncrypted) != 0) return refused(what + "is encrypted");
  if (method != 0 && method != 8) {
    return refused(what + "is packed by method " + std::to_string(method) + "; stored (0) and deflated (8) are read");
  }
  if (packed == kZip64 || entry.unpacked_bytes == kZip64 || local == kZip64) {
    return refused(what + "has 4 GB or more (zip64)");
  }
  entry.packing = method == 0 ? Packing::kStored : Packing::kDeflate;
  if (method == 0 && packed != entry.unpacked_bytes) {
    return broken(what + "is stored, yet its sizes differ: " + std::to_string(packed) + " and " +
                  std::to_string(entry.unpacked_bytes));
  }

  // The entry's own header must say the same; its sizes may be zero or 2^32 - 1 where it was written as a stream.
  if (local > directory.begin || directory.begin - local < kLocalSize || archive.substr(local, 4) != "PK\3\4") {
    return broken(what + "has no header at byte " + std::to_string(local));
  }
  const std::size_t begin = local + kLocalSize + number(archive, local + 26, 2) + number(archive, local + 28, 2);
  if (begin > directory.begin || directory.begin - begin < packed) return broken(what + "leaves the file");
  if (number(archive, local + 6, 2) != flags || number(archive, local + 8, 2) != method ||
      archive.substr(local + kLocalSize, number(archive, local + 26, 2)) != entry.name) {
    return broken(what + "has a header that says something else than the directory");
  }
  entry.packed = archive.substr(begin, packed);
  at += record;
  return entry;
}

/// Headers and data as ranges of the file, which must not share a byte.
Result<void> check_apart(std::vector<std::pair<std::size_t, std::size_t>> ranges) {
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      return broken("two entries overlap at byte " + std::to_string(ranges[i].first));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(std::string_view archive) {
  LANISTA_ASSIGN(const Directory directory, read_end(archive));
  std::vector<ZipEntry> entries;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  std::set<std::string> names;
  std::uint64_t unpacked = 0;
  std::size_t at = directory.begin;
  for (std::size_t i = 0; i < directory.entries; ++i) {
    std::size_t local = 0;
    LANISTA_ASSIGN(ZipEntry entry, read_record(archive, directory, at, local));
    if (!names.insert(entry.name).second) return broken("two entries are named \"" + entry.name + "\"");
    unpacked += entry.unpacked_bytes;
    const auto data = static_cast<std::size_t>(entry.packed.data() - archive.data());
    ranges.emplace_back(local, data + entry.packed.size());
    entries.push_back(std::move(entry));
  }
  if (at != directory.end) return broken("the directory has more bytes than its entries");
  LANISTA_TRY(check_apart(std::move(ranges)));
  if (unpacked > unpack_limit(archive.size())) {
    return Error{Code::kResourceExhausted,
                 "zip: " + std::to_string(archive.size()) + " bytes claim to unpack to " + std::to_string(unpacked) +
                     ", more than the " + std::to_string(unpack_limit(archive.size())) + " that are allowed",
                 ""};
  }
  return entries;
}

Result<std::string_view> unpack_entry(const ZipEntry& entry, std::string& buffer) {
  const std::string what = "zip: entry \"" + entry.name + "\"";
  LANISTA_ASSIGN(const Measure measured, measure(entry.packed, entry.packing, what, entry.unpacked_bytes));
  if (measured.bytes != entry.unpacked_bytes) {
    return Error{Code::kDataLoss,
                 what + " has " + std::to_string(measured.bytes) + " bytes, not the declared " +
                     std::to_string(entry.unpacked_bytes),
                 ""};
  }
  if (measured.crc != entry.crc) return Error{Code::kDataLoss, what + " has a wrong checksum", ""};
  if (entry.packing == Packing::kStored) return entry.packed;
  LANISTA_ASSIGN(buffer, unpack(entry.packed, entry.packing, what, measured));
  return std::string_view(buffer);
}

}  // namespace lanista::formats
