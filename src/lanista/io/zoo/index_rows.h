#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/io/zoo/database.h"
#include "lanista/io/zoo/zoo_store.h"

// What rows of the index may hold. Another user may have written them.
namespace lanista::zoo {

inline constexpr std::size_t kMaxText = 64 << 10;    ///< bytes of a task, a metric, an origin or a reason
inline constexpr std::size_t kMaxFacts = 1 << 20;    ///< bytes of a model's facts
inline constexpr std::size_t kMaxFactsDepth = 64;    ///< nested objects and arrays in them
inline constexpr std::size_t kMaxGraphBytes = 32 << 20;   ///< bytes of a graph's text
inline constexpr std::size_t kMaxShapeBytes = 4096;       ///< bytes of a tensor's shape
inline constexpr std::int64_t kMaxSignatures = 1'000'000;
inline constexpr std::int64_t kMaxNodes = 100'000;   ///< as graph::parse allows
inline constexpr std::int64_t kMaxWeightsBytes = std::int64_t{1} << 40;

/// Columns of a model, for stored_model().
inline constexpr const char* kModelColumns =
    "SELECT id, task, state, why, metric, origin, graph_hash, quality, nodes, params, bytes, added, hits, pinned, "
    "facts, weights, family FROM models ";

/// A row of kModelColumns. Errors: kDataLoss naming the model, the column, what was found and what is allowed.
Result<StoredModel> stored_model(const SqlRow& row);

/// The same check for a new model's texts. Errors: kInvalidArgument.
Result<void> check_new_texts(const NewModel& model, std::size_t graph_bytes);

/// Text of others in a message: on one line, printable, and cut.
std::string in_quotes(std::string_view text);

/// Whether objects and arrays of a JSON text are nested deeper than `most`.
bool is_nested_deeper(std::string_view json, std::size_t most);

}  // namespace lanista::zoo
