#pragma once

#include <string>
#include <vector>

#include "campaign/child_process.h"
#include "campaign/campaign_folder.h"

namespace lanista::campaign {

/// A call of the program. In its words, @ is the folder that it works in.
struct LimitCall {
  std::string name;  ///< as in the table
  std::vector<std::string> words;
  std::string study = {};  ///< below @, that it writes to; it must be resumable afterwards
  bool threads = false;    ///< it starts threads
};

/// Every verb, some in several ways.
const std::vector<LimitCall>& calls();

/// What calls work with: a study file with its table of data (`study.yaml`), a study of it that has ended (`ended`),
/// one that was interrupted in the middle (`half`), a package (`best`). Whether it could be made.
bool make_fixtures(const std::string& lanista, const std::string& folder);

}  // namespace lanista::campaign
