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
inline constexpr std::size_t kMaxFacts = 1 << 20;          ///< Bytes of NewModel::facts as JSON.
inline constexpr std::size_t kMaxFactsDepth = 64;          ///< Levels of objects and arrays in NewModel::facts.
inline constexpr std::size_t kMaxGraphBytes = 32 << 20;    ///< Bytes of a graph's text.
inline constexpr std::size_t kMaxShapeBytes = 4096;        ///< Bytes of a tensor's shape.
inline constexpr std::int64_t kMaxSignatures = 1'000'000;  ///< Node signatures of the index.
inline constexpr std::int64_t kMaxNodes = 100'000;         ///< Nodes of a graph, as graph::parse() allows.
inline constexpr std::int64_t kMaxWeightsBytes = std::int64_t{1} << 40;  ///< Bytes of a model's weights.

/// The start of an SQL query with the columns that stored_model() reads; conditions may follow.
inline constexpr const char* kModelColumns =
    "SELECT id, task, state, why, metric, origin, graph_hash, quality, nodes, params, bytes, added, hits, pinned, "
    "facts, weights, family FROM models ";

/// The model in a row of a query that begins with kModelColumns. Errors: kDataLoss (a value out of range, with the
/// model, the column and what is allowed). Facts that are not a JSON object become an empty object.
Result<StoredModel> stored_model(const SqlRow& row);

/// Checks the sizes of task, metric, origin, facts and graph of a new model, and the depth of its facts. `graph_bytes`
/// is the size of its graph as text. Names of tensors are not checked. Errors: kInvalidArgument (a text that is too
/// long, or facts that are nested too deep).
Result<void> check_new_texts(const NewModel& model, std::size_t graph_bytes);

/// A text from the index in single quotes, for messages: printable, in one line, at most 80 bytes of it. A text that
/// was cut ends with "…".
std::string in_quotes(std::string_view text);

/// True means that a JSON text has more than `most` levels of objects and arrays. It need not be valid JSON.
bool is_nested_deeper(std::string_view json, std::size_t most);

}  // namespace lanista::zoo
