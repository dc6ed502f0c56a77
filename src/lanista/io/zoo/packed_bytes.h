#pragma once

#include <string>
#include <string_view>

#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// What MatchModel::of makes of a graph may change between builds; an index of another number is made anew.
inline constexpr std::int64_t kViewVersion = 1;

/// A packed model as bytes; signatures as `number` gives them. 20 bytes a node and 4 an input.
std::string packed_bytes(const PackedModel& model, const std::vector<std::int64_t>& numbers);

/// The inverse; `places` gives the place in `table` of a number. Errors: kDataLoss for anything but what packed_bytes
/// writes: a size that does not fit, an input that does not stand before its reader, a number that is unknown.
Result<PackedModel> packed_from_bytes(std::string_view bytes, const std::map<std::int64_t, std::uint32_t>& places,
                                      const Signatures& table);

/// A signature as a line of text, and back. Errors: kDataLoss.
std::string signature_text(const Signature& signature);
Result<Signature> signature_from_text(std::string_view text);

/// The same for models that differ in widths and windows alone, if their edges are the same.
Digest relaxed_hash(const PackedModel& model, const Signatures& table);

}  // namespace lanista::zoo
