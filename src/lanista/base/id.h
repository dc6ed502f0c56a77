#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace lanista {

/// A 32-bit number as a type for each kind of object, which `Tag` names. A number is never used twice for one kind by
/// one owner.
template <class Tag>
struct Id {
  std::uint32_t value = 0;  ///< the number
  auto operator<=>(const Id&) const = default;
};

/// The number of a trial of a study, from 1 in the order of proposal.
using TrialId = Id<struct TrialTag>;

}  // namespace lanista

/// Hash of an id for containers: its number.
template <class Tag>
struct std::hash<lanista::Id<Tag>> {
  std::size_t operator()(lanista::Id<Tag> id) const noexcept { return id.value; }
};
