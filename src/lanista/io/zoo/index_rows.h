#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/io/zoo/database.h"
#include "lanista/io/zoo/zoo_store.h"

// Limits and checks of rows of the index, which another user may have written.
namespace lanista::zoo {

inline constexpr std::size_t kMaxText = 64 << 10;          ///< Bytes of a task, a metric, an origin or a reason.
inline constexpr std::size_t kMaxFacts = 1 << 20;          ///< Bytes of a model's facts.
inline constexpr std::size_t kMaxFactsDepth = 64;          ///< Nested objects and arrays in them.
inline constexpr std::size_t kMaxGraphBytes = 32 << 20;    ///< Bytes of a graph's text.
inline constexpr std::size_t kMaxShapeBytes = 4096;        ///< Bytes of a tensor's shape.
inline constexpr std::int64_t kMaxSignatures = 1'000'000;  ///< Signatures of the index.
inline constexpr std::int64_t kMaxNodes = 100'000;         ///< As graph::parse allows.
inline constexpr std::int64_t kMaxWeightsBytes = std::int64_t{1} << 40;  ///< Bytes of a model's weights.

/// The start of a query for the columns that stored_model() reads.
inline constexpr const char* kModelColumns =
    "SELECT id, task, state, why, metric, origin, graph_hash, quality, nodes, params, bytes, added, hits, pinned, "
    "facts, weights, family FROM models ";

/// Reads a row of kModelColumns. Errors: kDataLoss with the model, the column, the value and what is allowed.
Result<StoredModel> stored_model(const SqlRow& row);

/// Checks the texts of a new model by the same rules. Errors: kInvalidArgument.
Result<void> check_new_texts(const NewModel& model, std::size_t graph_bytes);

/// A text of other origin for messages: in one line, printable, and shortened.
std::string in_quotes(std::string_view text);

/// Whether a JSON text has more than `most` levels of objects and arrays.
bool is_nested_deeper(std::string_view json, std::size_t most);

}  // namespace lanista::zoo
