#include "lanista/io/studyfile/removed_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lanista::studyfile {
namespace {

using Removed = std::pair<std::string_view, std::string_view>;  // full key, reason

// docs/adr/0091-keep-one-form-of-each-side-training.md has the figures.
constexpr std::array kRemoved{
    Removed{"train.start_race", "was removed in 0.2.0, since races cost more steps than the better starts saved"},
    Removed{"train.select.auto",
            "was removed in 0.2.0, since its comparisons cost more than the selection won; selective stays"},
    Removed{"train.select.batch",
            "was removed in 0.2.0, since it saves no time and is worse than random rows with wrong labels; selective "
            "stays"},
    Removed{"train.select.random",
            "was removed in 0.2.0, since it is only the control of a benchmark; selective stays"},
    Removed{"train.select.reducible",
            "was removed in 0.2.0, since it needs a second model and has no measured gain here; selective stays"}};

}  // namespace

std::string_view removal_reason(std::string_view key) {
  const auto found = std::ranges::find(kRemoved, key, &Removed::first);
  return found == kRemoved.end() ? std::string_view() : found->second;
}

}  // namespace lanista::studyfile
