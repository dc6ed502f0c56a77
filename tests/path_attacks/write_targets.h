#pragma once

#include <string>
#include <vector>

namespace lanista::path_attacks {

/// One command of the campaign. The campaign replaces STUDY, MODEL (id of a zoo model) and TIMES (name of a profile).
struct Verb {
  std::string name;                ///< name in messages, unique
  std::vector<std::string> words;  ///< arguments of the program
  bool is_new = false;             ///< true: the study folder exists and holds only the attack
};

/// Returns all commands of the campaign.
const std::vector<Verb>& verbs();

/// A path that the program writes or removes, with the verbs that do so.
///
/// Folders that the user names (the study, the zoo, `run.profiles`, `--out`) are not targets, since they may be links.
struct WriteTarget {
  std::string pattern;                  ///< relative path in the form of pattern_of()
  std::vector<std::string> written_by;  ///< names of the verbs
};

/// Returns all paths that the program writes or removes.
const std::vector<WriteTarget>& write_targets();

}  // namespace lanista::path_attacks
