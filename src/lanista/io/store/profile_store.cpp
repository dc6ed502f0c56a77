#include "lanista/io/store/profile_store.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/frame.h"
#include "lanista/base/json_text.h"
#include "lanista/io/store/record_json.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::store {
namespace {

using nlohmann::json;

constexpr std::string_view kEnding = ".profile", kEarlierTemporary = ".tmp";
constexpr std::uint16_t kHead = 1, kRow = 2;  // types of frames
constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kMostBytes = 8 << 20;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; });
}

/// Whether profile_file_name() gives such names. Only such files are removed without being named.
bool is_made_name(std::string_view name) {
  constexpr std::size_t kSeconds = 11, kHash = 12;
  return name.size() == kSeconds + 1 + kHash && name[kSeconds] == '-' &&
         name.substr(0, kSeconds).find_first_not_of("0123456789") == name.npos &&
         name.substr(kSeconds + 1).find_first_not_of("0123456789abcdef") == name.npos;
}

/// Whether it is a file that a killed writer of the study `name` leaves: NAME.profile.tmp-<random>, in earlier builds
/// NAME.profile.<hash>.tmp.
bool is_leftover(std::string_view file, const std::string& name) {
  const std::string start = name + std::string(kEnding) + ".";
  if (!file.starts_with(start)) return false;
  if (is_temporary_name(file)) return true;
  if (!file.ends_with(kEarlierTemporary) || file.size() < start.size() + kEarlierTemporary.size()) return false;
  return Digest::from_hex(file.substr(start.size(), file.size() - start.size() - kEarlierTemporary.size())).has_value();
}

json parsed(std::string_view text) { return study::fields::good(parse_record_json(text)); }

Result<StudyProfiles> decode(const std::string& bytes) {
  return study::fields::read_record<StudyProfiles>("file of times", [&] {
    const DecodedFrames scan = decode_frames(bytes);
    if (scan.torn || scan.frames.empty()) throw study::fields::Malformed{"it is cut off, or its checksums are wrong"};
    if (scan.frames.front().type != kHead) throw study::fields::Malformed{"it does not begin with what it is of"};
    const json head = parsed(scan.frames.front().payload);
    const std::int64_t version = study::fields::integer(head, "version");
    if (version != kVersion) {
      throw study::fields::Malformed{"it is of version " + std::to_string(version) + ", this build reads version " +
                                     std::to_string(kVersion)};
    }
    StudyProfiles out;
    out.study = study::fields::text(head, "study");
    out.began = study::fields::real(head, "began");
    if (study::fields::integer(head, "rows") != std::ssize(scan.frames) - 1) {
      throw study::fields::Malformed{"it has fewer rows than it declares"};
    }
    for (std::size_t i = 1; i < scan.frames.size(); ++i) {
      if (scan.frames[i].type != kRow) throw study::fields::Malformed{"row " + std::to_string(i) + " is none"};
      out.rows.push_back(study::fields::good(study::read_profile(parsed(scan.frames[i].payload))));
    }
    return out;
  });
}

std::string encode(const StudyProfiles& profiles) {
  std::string bytes;
  const json head{
      {"version", kVersion}, {"study", profiles.study}, {"began", profiles.began}, {"rows", profiles.rows.size()}};
  encode_frame(kHead, json_text(head), bytes);
  for (const study::Profile& row : profiles.rows) encode_frame(kRow, json_text(study::profile_json(row)), bytes);
  return bytes;
}

}  // namespace

std::string ProfileStore::path(const std::string& name) const { return folder_ + "/" + name + std::string(kEnding); }

Result<std::vector<std::string>> ProfileStore::names() const {
  if (!fs_->exists(folder_)) return std::vector<std::string>();
  LANISTA_ASSIGN(const auto files, fs_->list(folder_));
  std::vector<std::string> out;
  for (const std::string& file : files) {
    if (file.ends_with(kEnding)) out.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  return out;
}

Result<ProfileStore::Content> ProfileStore::read() const {
  Content out;
  LANISTA_ASSIGN(const auto all, names());
  for (const std::string& name : all) {
    const auto read_one = [&]() -> Result<StudyProfiles> {
      LANISTA_ASSIGN(const std::uint64_t size, fs_->size(path(name)));
      if (size > kMostBytes) return Error{Code::kDataLoss, "it is larger than any file of times", ""};
      LANISTA_ASSIGN(const std::string bytes, fs_->read(path(name)));
      return decode(bytes);
    };
    auto profiles = read_one();
    if (profiles) {
      profiles->name = name;
      out.studies.push_back(*std::move(profiles));
    } else if (profiles.error().code != Code::kNotFound) {  // else another process has just removed it
      out.skipped.push_back({profiles.error().code, profiles.error().message, path(name)});
    }
  }
  return out;
}

Result<void> ProfileStore::put(StudyProfiles profiles) {
  if (!is_name(profiles.name)) {
    return Error{Code::kInvalidArgument, "'" + profiles.name + "' names no file of times", folder_};
  }
  if (profiles.rows.size() > kMaxRows) profiles.rows.resize(kMaxRows);
  LANISTA_TRY(make_durable_folder(*fs_, folder_));
  LANISTA_TRY(write_atomically(*fs_, path(profiles.name), std::string_view(encode(profiles))));
  LANISTA_TRY(remove_entry(profiles.name));
  LANISTA_ASSIGN(auto all, names());
  std::erase_if(all, [](const std::string& name) { return !is_made_name(name); });
  for (std::size_t i = 0; i + kMaxStudies < all.size(); ++i) LANISTA_TRY(remove_file(path(all[i])));
  return {};
}

/// Removes a regular file; anything else stays.
Result<void> ProfileStore::remove_file(const std::string& file) {
  return fs_->kind(file) == FileKind::kFile ? fs_->remove(file) : Result<void>();
}

/// Removes the files that killed writers of this study left.
Result<void> ProfileStore::remove_entry(const std::string& name) {
  LANISTA_ASSIGN(const auto files, fs_->list(folder_));
  for (const std::string& file : files) {
    if (is_leftover(file, name)) LANISTA_TRY(remove_file(folder_ + "/" + file));
  }
  return {};
}

Result<void> ProfileStore::remove(const std::string& name) {
  if (!is_name(name) || !fs_->exists(path(name))) {
    return Error{Code::kNotFound, "there are no times of '" + name + "'; lanista profiles ls names those there are",
                 folder_};
  }
  if (fs_->kind(path(name)) != FileKind::kFile) {
    return Error{Code::kDataLoss, "is no regular file of this user, and stays", path(name)};
  }
  return fs_->remove(path(name));
}

Result<std::size_t> ProfileStore::remove_all() {
  LANISTA_ASSIGN(const Content content, read());
  std::size_t removed = 0;
  const auto remove_one = [&](const std::string& file) -> Result<void> {
    if (fs_->kind(file) != FileKind::kFile) return {};
    ++removed;
    return fs_->remove(file);
  };
  for (const StudyProfiles& study : content.studies) LANISTA_TRY(remove_one(path(study.name)));
  LANISTA_ASSIGN(const auto all, names());
  for (const std::string& name : all) {  // damaged, or of a newer build
    if (is_made_name(name)) LANISTA_TRY(remove_one(path(name)));
  }
  return removed;
}

std::string profile_file_name(double began, const std::string& what) {
  char seconds[32];
  const double whole = std::isfinite(began) ? std::clamp(began, 0.0, 99'999'999'999.0) : 0;
  std::snprintf(seconds, sizeof seconds, "%011lld", static_cast<long long>(whole));
  return std::string(seconds) + "-" + hash_text(what).hex().substr(0, 12);
}

}  // namespace lanista::store
