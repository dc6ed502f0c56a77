#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "lanista/base/id.h"

namespace lanista::schedule {

/// A trial whose steps further workers may share.
struct Widenable {
  TrialId trial;
  std::int64_t most = 1;  ///< helpers
  bool has_work = true;   ///< at the moment; false: it waits for a verdict, say
};

/// Which of the workers that have nothing else to do helps which trial. Who helps already goes on with it, unless others
/// have work and it has none; the others go to trials with work, to the one with the fewest helpers, the first of those.
/// It decides how long a study takes, and no result. A pure function, linear in workers times trials.
std::map<std::size_t, TrialId> assign_helpers(std::span<const Widenable> trials, std::span<const std::size_t> idle,
                                              const std::map<std::size_t, TrialId>& present);

}  // namespace lanista::schedule
