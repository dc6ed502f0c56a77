#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/child_process.h"

namespace lanista::campaign {

/// A folder of its own for one campaign, removed at its end.
class CampaignFolder {
 public:
  CampaignFolder();
  CampaignFolder(const CampaignFolder&) = delete;
  CampaignFolder& operator=(const CampaignFolder&) = delete;
  ~CampaignFolder();
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

std::string read_file(const std::string& path);                      ///< empty if there is none
void write_file(const std::string& path, const std::string& bytes);  ///< with the folders above it
void copy_folder(const std::string& from, const std::string& to);    ///< replaces `to`
void remove_all(const std::string& path);

/// What two equal studies have in common: the canonical export and the winner's weights. Empty: it cannot be told.
std::string fingerprint(const std::string& lanista, const std::string& study);

/// A study that takes some tenths of a second, with checkpoints all the time: the number-th of a few kinds.
std::vector<std::string> small_study(const std::string& lanista, const CampaignFolder& campaign_folder, std::size_t number,
                                     const std::string& folder);
std::size_t kinds_of_small_studies();

/// The text's first line, cut.
std::string first_line(const std::string& text, std::size_t most = 300);

/// Counts what did not hold and says it at once.
class CheckCounts {
 public:
  void count_success() { ++held_; }
  void count_failure(const std::string& what, const ProcessResult* ended = nullptr);
  /// `wrong` empty: it held.
  void take(const std::string& what, const std::string& wrong, const ProcessResult* ended = nullptr);
  std::int64_t all() const { return held_ + failed_; }
  std::int64_t failures() const { return failed_; }

 private:
  std::int64_t held_ = 0, failed_ = 0;
};

}  // namespace lanista::campaign
