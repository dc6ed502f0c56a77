#pragma once

#include <string>
#include <string_view>

#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// The version of the packed form of a model that MatchModel::of() and pack_model() give.
inline constexpr std::int64_t kViewVersion = 1;

/// A packed model as bytes for the index. `numbers[i]` is the number in the index of signature i of the model's table.
/// 20 bytes, 20 for each node, and 4 for each input.
std::string packed_bytes(const PackedModel& model, const std::vector<std::int64_t>& numbers);

/// Reads what packed_bytes() wrote. `places` maps the number of a signature in the index to its position in `table`.
/// Errors: kDataLoss (a wrong size, no nodes or more than 100,000, an input that does not precede its reader, an
/// unknown number).
Result<PackedModel> packed_from_bytes(std::string_view bytes, const std::map<std::int64_t, std::uint32_t>& places,
                                      const Signatures& table);

/// A signature of a node as text: its kind, then one line for the shape of each parameter. Equal signatures give equal
/// texts.
std::string signature_text(const Signature& signature);
/// Reads what signature_text() wrote: the kind of a node and the shapes of its parameters. Counts `params` from the
/// shapes; kind_number stays 0. Any text is accepted as the kind.
/// Errors: kDataLoss (an invalid shape, more than 64 shapes, or more than 2^40 elements).
Result<Signature> signature_from_text(std::string_view text);

/// The structure of a model as a hash: equal for models that differ only in ids, the order of inputs, and attributes
/// that are not in MatchModel::Node::kind, such as widths and window sizes. The zoo limits the models of a task with
/// one such hash. `table` has the signatures of the model.
Digest relaxed_hash(const PackedModel& model, const Signatures& table);

}  // namespace lanista::zoo
