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

/// The profiles of one study: measured times of the steps of its programs.
struct StudyProfiles {
  std::string name;                  ///< name of its file without extension; see profile_file_name()
  std::string study;                 ///< name of the study for users
  double began = 0;                  ///< start of the study in Unix seconds
  std::vector<study::Profile> rows;  ///< one profile for each measured program
};

/// A folder with profiles of earlier studies. A study has one file, which it replaces as a whole when it pauses or
/// ends.
///
/// Thus writers never conflict, a killed process leaves the old file, and a copied or resumed study counts once. Any
/// number of processes and threads may use the folder.
class ProfileStore {
 public:
  /// The store of `folder`, which need not exist. `fs` must outlive the store.
  ProfileStore(FileSystem& fs, std::string folder) : fs_(fs.confined_to(folder)), folder_(std::move(folder)) {}

  /// The profiles in the folder, and the files that could not be read.
  struct Content {
    std::vector<StudyProfiles> studies;  ///< profiles by study, sorted by name: oldest first
    std::vector<Error> skipped;          ///< one error for each damaged or newer file; `where` is its path
  };
  /// Reads all profiles. A missing folder is as an empty one, and a file that cannot be read is no error. Errors: kIo
  /// (the folder cannot be listed).
  Result<Content> read() const;
  /// Writes the first kMaxRows profiles of a study, in place of its earlier file, and makes a missing folder. If there
  /// are more than kMaxStudies files with names of profile_file_name(), it removes the oldest. Errors: kIo,
  /// kResourceExhausted; kInvalidArgument (a name that is not 1 to 100 lower-case letters, digits and '-').
  Result<void> put(StudyProfiles profiles);
  /// Removes the file with this StudyProfiles::name. Errors: kNotFound (no such name), kDataLoss (it is no regular
  /// file), kIo.
  Result<void> remove(const std::string& name);
  /// Removes all readable files of profiles, and damaged ones with a name of profile_file_name(). Anything but a
  /// regular file stays. Returns the number of removed files. Errors: kIo.
  Result<std::size_t> remove_all();

  static constexpr std::size_t kMaxStudies = 1000;  ///< largest number of files of profiles that put() leaves
  static constexpr std::size_t kMaxRows = 2000;     ///< largest number of profiles in a file

 private:
  std::string path(const std::string& name) const;
  Result<std::vector<std::string>> names() const;
  Result<void> remove_entry(const std::string& name);
  Result<void> remove_file(const std::string& file);

  std::shared_ptr<FileSystem> fs_;
  std::string folder_;
};

/// The name of the file of a study, without extension. It has the start `began` in Unix seconds as 11 digits, '-', and
/// 12 hexadecimal digits of a hash of `what`. Names sort by time.
std::string profile_file_name(double began, const std::string& what);

}  // namespace lanista::store
