#include "lanista/io/formats/zip.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lanista/base/utf8.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30;
constexpr std::size_t kMaxComment = 65535;
constexpr std::uint64_t kZip64 = 0xFFFFFFFF;  // the number is in the zip64 record
constexpr std::uint64_t kEncrypted = 1U | 1U << 6U | 1U << 13U;

Error malformed(const std::string& message) { return {Code::kDataLoss, "zip: " + message, ""}; }
Error unsupported(const std::string& message) { return {Code::kUnimplemented, "zip: " + message, ""}; }

/// The little-endian number of `size` bytes at `at`. Precondition: the bytes exist.
std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The beginning of the end record: the last one with a comment up to the end of the file.
Result<std::size_t> find_end(std::string_view archive) {
  for (std::size_t comment = 0; comment <= kMaxComment && archive.size() >= kEndSize + comment; ++comment) {
    const std::size_t at = archive.size() - kEndSize - comment;
    if (archive.substr(at, 4) == "PK\5\6" && number(archive, at + 20, 2) == comment) return at;
  }
  return malformed("the file has no end record: it is no zip archive, or is cut off");
}

/// Position and size of the directory.
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
    return unsupported("archives of several files are not read");
  }
  if (begin == kZip64 || size == kZip64) return unsupported("archives of 4 GB and more (zip64) are not read");
  if (begin + size != at) {
    return malformed("the directory claims bytes " + std::to_string(begin) + " to " + std::to_string(begin + size) +
                     ", but the end record is at " + std::to_string(at));
  }
  return Directory{begin, at, entries};
}

/// Whether a name is a valid key: UTF-8 without control characters and backslashes, with a name between slashes.
bool is_safe_name(const std::string& name) {
  const auto foul = [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '\\'; };
  if (find_invalid_utf8(name) != std::string_view::npos || std::ranges::any_of(name, foul)) return false;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = name.find('/', begin);
    const std::string part = name.substr(begin, end == std::string::npos ? end : end - begin);
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

/// A record of the directory; `what` names its entry in messages.
struct Record {
  std::string name, what;
  std::uint64_t flags = 0, method = 0, crc = 0, packed = 0, unpacked = 0, local = 0;
};

/// Reads the record at `at` and moves `at` past it.
Result<Record> read_record(std::string_view archive, const Directory& directory, std::size_t& at) {
  if (directory.end - at < kCentralSize || archive.substr(at, 4) != "PK\1\2") {
    return malformed("the directory lacks a record at byte " + std::to_string(at));
  }
  const auto field = [&](std::size_t offset, std::size_t size) { return number(archive, at + offset, size); };
  const std::size_t name_size = field(28, 2);
  const std::size_t size = kCentralSize + name_size + field(30, 2) + field(32, 2);
  if (directory.end - at < size) return malformed("a directory record leaves the directory");
  Record record{.name = std::string(archive.substr(at + kCentralSize, name_size)),
                .what = "",
                .flags = field(8, 2),
                .method = field(10, 2),
                .crc = field(16, 4),
                .packed = field(20, 4),
                .unpacked = field(24, 4),
                .local = field(42, 4)};
  if (!is_safe_name(record.name)) {
    return malformed("the entry at byte " + std::to_string(at) +
                     " of the directory has a name that is no plain text or leads into other folders");
  }
  record.what = "entry \"" + record.name + "\" ";
  at += size;
  return record;
}

Result<void> check_record(const Record& record) {
  if ((record.flags & kEncrypted) != 0) return unsupported(record.what + "is encrypted");
  if (record.method != 0 && record.method != 8) {
    return unsupported(record.what + "is packed by method " + std::to_string(record.method) +
                       "; stored (0) and deflated (8) are read");
  }
  if (record.packed == kZip64 || record.unpacked == kZip64 || record.local == kZip64) {
    return unsupported(record.what + "has 4 GB or more (zip64)");
  }
  if (record.method == 0 && record.packed != record.unpacked) {
    return malformed(record.what + "is stored, yet its sizes differ: " + std::to_string(record.packed) + " and " +
                     std::to_string(record.unpacked));
  }
  return {};
}

/// The bytes after the entry's own header. The header must agree with the directory, except for sizes of zero or 2^32 -
/// 1 in a stream.
Result<std::string_view> find_data(std::string_view archive, const Directory& directory, const Record& record) {
  const std::size_t at = record.local;
  if (at > directory.begin || directory.begin - at < kLocalSize || archive.substr(at, 4) != "PK\3\4") {
    return malformed(record.what + "has no header at byte " + std::to_string(at));
  }
  const std::size_t name_size = number(archive, at + 26, 2);
  const std::size_t begin = at + kLocalSize + name_size + number(archive, at + 28, 2);
  if (begin > directory.begin || directory.begin - begin < record.packed) {
    return malformed(record.what + "leaves the file");
  }
  if (number(archive, at + 6, 2) != record.flags || number(archive, at + 8, 2) != record.method ||
      archive.substr(at + kLocalSize, name_size) != record.name) {
    return malformed(record.what + "has a header that differs from the directory");
  }
  return archive.substr(begin, record.packed);
}

/// Checks that ranges of headers and data share no byte of the file.
Result<void> check_no_overlap(std::vector<std::pair<std::size_t, std::size_t>> ranges) {
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      return malformed("two entries overlap at byte " + std::to_string(ranges[i].first));
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
    LANISTA_ASSIGN(Record record, read_record(archive, directory, at));
    LANISTA_TRY(check_record(record));
    LANISTA_ASSIGN(const std::string_view data, find_data(archive, directory, record));
    if (!names.insert(record.name).second) return malformed("two entries are named \"" + record.name + "\"");
    unpacked += record.unpacked;
    ranges.emplace_back(record.local, static_cast<std::size_t>(data.data() - archive.data()) + data.size());
    entries.push_back({.name = std::move(record.name),
                       .packing = record.method == 0 ? Packing::kStored : Packing::kDeflate,
                       .crc = static_cast<std::uint32_t>(record.crc),
                       .unpacked_bytes = record.unpacked,
                       .packed = data});
  }
  if (at != directory.end) return malformed("the directory has more bytes than its entries");
  LANISTA_TRY(check_no_overlap(std::move(ranges)));
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
  LANISTA_ASSIGN(const UnpackedSize measured,
                 measure_unpacked(entry.packed, entry.packing, what, entry.unpacked_bytes));
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
