#pragma once

#include <string>
#include <string_view>

#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// The version of the packed form that MatchModel::of makes of a graph. An index with another number is built again.
inline constexpr std::int64_t kViewVersion = 1;

/// A packed model as bytes, with `numbers` for its signatures. 20 bytes for each node and 4 for each input.
std::string packed_bytes(const PackedModel& model, const std::vector<std::int64_t>& numbers);

/// Reads what packed_bytes() wrote. `places` maps a signature's number to its index in `table`. Errors: kDataLoss (a
/// wrong size, an input that does not precede its reader, an unknown number).
Result<PackedModel> packed_from_bytes(std::string_view bytes, const std::map<std::int64_t, std::uint32_t>& places,
                                      const Signatures& table);

/// A signature as a line of text.
std::string signature_text(const Signature& signature);
/// Reads what signature_text() wrote. Errors: kDataLoss.
Result<Signature> signature_from_text(std::string_view text);

/// A hash that is equal for models that differ only in widths and windows, if their edges are the same.
Digest relaxed_hash(const PackedModel& model, const Signatures& table);

}  // namespace lanista::zoo
