#include "lanista/store/profiles.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/frame.h"
#include "lanista/base/json_text.h"
#include "lanista/store/record_json.h"
#include "lanista/study/record_fields.h"

namespace lanista::store {
namespace {

using nlohmann::json;

constexpr std::string_view kEnding = ".profile", kTemporary = ".tmp";
constexpr std::uint16_t kHead = 1, kRow = 2;  // types of frames
constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kMostBytes = 8 << 20;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; });
}

json parsed(std::string_view text) { return study::fields::good(parse_record_json(text)); }

Result<StudyProfiles> decode(const std::string& bytes) {
  return study::fields::read_record<StudyProfiles>("file of times", [&] {
    const FrameScan scan = decode_frames(bytes);
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
      throw study::fields::Malformed{"it has fewer rows than it says"};
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

std::string Profiles::path(const std::string& name) const { return folder_ + "/" + name + std::string(kEnding); }

Result<std::vector<std::string>> Profiles::names() const {
  if (!fs_->exists(folder_)) return std::vector<std::string>();
  LANISTA_ASSIGN(const auto files, fs_->list(folder_));
  std::vector<std::string> out;
  for (const std::string& file : files) {
    if (file.ends_with(kEnding)) out.push_back(file.substr(0, file.size() - kEnding.size()));
  }
  return out;
}

Result<Profiles::Content> Profiles::read() const {
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
    } else if (profiles.error().code != Code::kNotFound) {  // else somebody has just removed it
      out.passed_over.push_back({profiles.error().code, profiles.error().message, path(name)});
    }
  }
  return out;
}

Result<void> Profiles::put(StudyProfiles profiles) {
  if (!is_name(profiles.name)) {
    return Error{Code::kInvalidArgument, "'" + profiles.name + "' names no file of times", folder_};
  }
  if (profiles.rows.size() > kMostRows) profiles.rows.resize(kMostRows);
  LANISTA_TRY(make_durable_folder(*fs_, folder_));
  // Named by its content: two writers of one study, a copy of it say, would else write into one file.
  const std::string bytes = encode(profiles), file = path(profiles.name);
  const std::string temporary = file + "." + hash_text(bytes).hex() + std::string(kTemporary);
  auto written = fs_->write_file(temporary, std::as_bytes(std::span(bytes)));
  if (written) written = fs_->rename(temporary, file);
  if (!written) {
    static_cast<void>(fs_->remove(temporary));  // the first error is the one to tell
    return written;
  }
  LANISTA_TRY(fs_->sync_folder(folder_));
  LANISTA_TRY(clear_away(profiles.name));
  LANISTA_ASSIGN(const auto all, names());
  for (std::size_t i = 0; i + kMostStudies < all.size(); ++i) LANISTA_TRY(fs_->remove(path(all[i])));
  return {};
}

/// What writers of this study left that were killed.
Result<void> Profiles::clear_away(const std::string& name) {
  LANISTA_ASSIGN(const auto files, fs_->list(folder_));
  for (const std::string& file : files) {
    if (file.starts_with(name + std::string(kEnding) + ".") && file.ends_with(kTemporary)) {
      LANISTA_TRY(fs_->remove(folder_ + "/" + file));
    }
  }
  return {};
}

Result<void> Profiles::remove(const std::string& name) {
  if (!is_name(name) || !fs_->exists(path(name))) {
    return Error{Code::kNotFound, "there are no times of '" + name + "'; lanista profiles ls names those there are",
                 folder_};
  }
  return fs_->remove(path(name));
}

std::string profiles_name(double began, const std::string& what) {
  char seconds[32];
  const double whole = std::isfinite(began) ? std::clamp(began, 0.0, 99'999'999'999.0) : 0;
  std::snprintf(seconds, sizeof seconds, "%011lld", static_cast<long long>(whole));
  return std::string(seconds) + "-" + hash_text(what).hex().substr(0, 12);
}

}  // namespace lanista::store
