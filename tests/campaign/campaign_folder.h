#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/child_process.h"

namespace lanista::campaign {

/// A new temporary folder for one campaign, which the destructor removes.
///
/// It is in $TMPDIR if that is set, else in /dev/shm or /tmp. All users may write to it.
class CampaignFolder {
 public:
  /// Creates the folder.
  CampaignFolder();
  CampaignFolder(const CampaignFolder&) = delete;
  CampaignFolder& operator=(const CampaignFolder&) = delete;
  ~CampaignFolder();
  /// Returns the path of `name` in the folder.
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Returns the path of the folder.
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// Returns the bytes of a file; empty if it does not exist.
std::string read_file(const std::string& path);

/// Writes a file, and makes the folders above it.
void write_file(const std::string& path, const std::string& bytes);

/// Copies a folder with its content; replaces `to`.
void copy_folder(const std::string& from, const std::string& to);

/// Removes a file or a folder with its content, if it exists.
void remove_all(const std::string& path);

/// Returns the canonical export and the winner's weights of a study as one text. Equal studies have equal texts.
/// Returns "" if one of them cannot be read.
std::string fingerprint(const std::string& lanista, const std::string& study);

/// Returns a command that runs a study of a few tenths of a second with a checkpoint at each opportunity.
///
/// `number` selects one of kinds_of_small_studies() kinds; `folder` is the study folder.
std::vector<std::string> small_study(const std::string& lanista, const CampaignFolder& campaign_folder,
                                     std::size_t number, const std::string& folder);

/// Returns the number of kinds of small_study().
std::size_t kinds_of_small_studies();

/// Returns the first line of a text, of at most `most` characters.
std::string first_line(const std::string& text, std::size_t most = 300);

/// Counts checks, and prints each failure at once.
class CheckCounts {
 public:
  /// Counts one check that passed.
  void count_success() { ++passed_; }
  /// Counts and prints one check that failed, with the output of the process `ended`.
  void count_failure(const std::string& what, const ProcessResult* ended = nullptr);
  /// Counts one check: a success if `wrong` is empty, else a failure with that text.
  void take(const std::string& what, const std::string& wrong, const ProcessResult* ended = nullptr);
  /// Returns the number of checks.
  std::int64_t all() const { return passed_ + failed_; }
  /// Returns the number of failed checks.
  std::int64_t failures() const { return failed_; }

 private:
  std::int64_t passed_ = 0, failed_ = 0;
};

}  // namespace lanista::campaign
