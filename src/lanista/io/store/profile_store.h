#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/search/study/step_profile.h"

// Profiles of programs that outlive studies: a folder with one file for each study.
namespace lanista::store {

/// The profiles of one study.
struct StudyProfiles {
  std::string name;                  ///< of its file, without extension: time of its start, and a hash
  std::string study;                 ///< its name for users
  double began = 0;                  ///< its start in Unix seconds
  std::vector<study::Profile> rows;  ///< what it measured
};

/// A folder of profiles. A study has one file, which it replaces as a whole when it pauses or ends.
///
/// Thus writers never conflict, a killed process leaves the old file, and a copied or resumed study counts once. A file
/// that is damaged, or of a newer build, is skipped. Any number of processes and threads may use the folder.
class ProfileStore {
 public:
  /// `fs` must outlive the store.
  ProfileStore(FileSystem& fs, std::string folder) : fs_(fs.confined_to(folder)), folder_(std::move(folder)) {}

  /// What the folder holds.
  struct Content {
    std::vector<StudyProfiles> studies;  ///< oldest first
    std::vector<Error> skipped;          ///< files that cannot be read, each with its path and the reason
  };
  /// Reads all profiles; a missing folder is empty. Errors: kIo (the folder cannot be listed).
  Result<Content> read() const;
  /// Writes the profiles of a study and makes a missing folder. It removes the oldest of more than kMaxStudies files
  /// with names of this class, and rows after kMaxRows. Errors: kIo, kResourceExhausted, kInvalidArgument (an invalid
  /// name).
  Result<void> put(StudyProfiles profiles);
  /// Removes the profiles of a study. Errors: kNotFound (no such name), kDataLoss (it is no regular file), kIo.
  Result<void> remove(const std::string& name);
  /// Removes all files with names and form of this class, readable or not, and returns their number. Errors: kIo.
  Result<std::size_t> remove_all();

  static constexpr std::size_t kMaxStudies = 1000;  ///< files of a folder
  static constexpr std::size_t kMaxRows = 2000;     ///< rows of a file

 private:
  std::string path(const std::string& name) const;
  Result<std::vector<std::string>> names() const;
  Result<void> remove_entry(const std::string& name);
  Result<void> remove_file(const std::string& file);

  std::shared_ptr<FileSystem> fs_;
  std::string folder_;
};

/// The name of a study's file, from its start, so that names sort by time, and from a hash of `what`.
std::string profile_file_name(double began, const std::string& what);

}  // namespace lanista::store
