#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/search/study/step_profile.h"

// Times of programs that outlive studies: a folder with a file for each study that has told of some.
namespace lanista::store {

/// What one study measured.
struct StudyProfiles {
  std::string name;   ///< of its file, without the ending: when the study began, and a hash of it
  std::string study;  ///< as people know it
  double began = 0;   ///< Unix seconds
  std::vector<study::Profile> rows;
};

/// A folder of times. Each study has one file in it, which it replaces as a whole whenever it pauses or ends: writers
/// never meet, whoever is killed leaves the file as it was, and a study that is copied or resumed counts once. What is
/// damaged, or of a newer build, costs that study's times and nothing else. Any number of processes and threads.
class ProfileStore {
 public:
  ProfileStore(FileSystem& fs, std::string folder) : fs_(fs.confined_to(folder)), folder_(std::move(folder)) {}

  struct Content {
    std::vector<StudyProfiles> studies;  ///< the oldest first
    std::vector<Error> skipped;      ///< files that cannot be read, each with its path and why
  };
  /// All of it; a folder that is not there is empty. Errors: kIo (the folder cannot be listed).
  Result<Content> read() const;
  /// Makes the folder where it is missing. Of more than kMaxStudies files that this class names the oldest are removed,
  /// and of rows those behind kMaxRows. Errors: kIo, kResourceExhausted, kInvalidArgument (a name that is no file's).
  Result<void> put(StudyProfiles profiles);
  /// Errors: kNotFound (no such name), kDataLoss (it is no regular file), kIo.
  Result<void> remove(const std::string& name);
  /// Removes all files that have the names and the form that this class writes, readable or not; others stay. Gives how
  /// many. Errors: kIo.
  Result<std::size_t> remove_all();

  static constexpr std::size_t kMaxStudies = 1000, kMaxRows = 2000;

 private:
  std::string path(const std::string& name) const;
  Result<std::vector<std::string>> names() const;
  Result<void> remove_entry(const std::string& name);
  Result<void> remove_file(const std::string& file);

  std::shared_ptr<FileSystem> fs_;
  std::string folder_;
};

/// The name of a study's file: of when it began, so that names stand in that order, and what it is.
std::string profile_file_name(double began, const std::string& what);

}  // namespace lanista::store
