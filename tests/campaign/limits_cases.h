#pragma once

#include <string>
#include <vector>

#include "campaign/campaign_folder.h"
#include "campaign/child_process.h"

namespace lanista::campaign {

/// A call of the program. In its arguments, @ is replaced by the current folder.
struct LimitCall {
  std::string name;                ///< name in the printed table
  std::vector<std::string> words;  ///< arguments
  std::string study = {};          ///< folder below @ of the study that it writes, which must stay resumable
  bool threads = false;            ///< true: the call starts threads
};

/// Returns at least one call for each verb.
const std::vector<LimitCall>& calls();

/// Makes the inputs of the calls in `folder`, and returns false if that fails.
///
/// Inputs are a study file with its data (`study.yaml`), a study that has ended (`ended`), one that was interrupted
/// (`half`), and a model package (`best`).
bool make_fixtures(const std::string& lanista, const std::string& folder);

}  // namespace lanista::campaign
