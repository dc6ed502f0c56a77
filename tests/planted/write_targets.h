#pragma once

#include <string>
#include <vector>

namespace lanista::planted {

/// A verb with its arguments. The campaign fills in STUDY, MODEL (an id of the zoo) and TIMES (a name of profiles).
struct Verb {
  std::string name;
  std::vector<std::string> words;
  bool is_new = false;  ///< the folder of the study is there, with nothing but the plant
};
const std::vector<Verb>& verbs();

/// A place that the program writes or removes, with the verbs that do; the pattern is as pattern_of() gives it. A
/// folder that the user names (the study, the zoo, `run.profiles`, `--out`) is none: it may be a link.
struct WriteTarget {
  std::string pattern;
  std::vector<std::string> written_by;
};
const std::vector<WriteTarget>& write_targets();

}  // namespace lanista::planted
