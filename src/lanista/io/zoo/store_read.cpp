#include <algorithm>
#include <tuple>

#include "lanista/base/read_inside_folder.h"
#include "lanista/base/sha256.h"
#include "lanista/io/zoo/packed_bytes.h"
#include "lanista/io/zoo/store_state.h"
#include "lanista/model/graph/text.h"

namespace lanista::zoo {

Result<void> read_signature(const SqlRow& row, std::map<std::int64_t, std::uint32_t>& places, Signatures& table) {
  if (static_cast<std::int64_t>(places.size()) >= kMaxSignatures) {
    return Error{Code::kResourceExhausted,
                 "the index has more than " + std::to_string(kMaxSignatures) + " signatures of nodes", ""};
  }
  const auto one = signature_from_text(row.blob(1));
  if (one) places[row.integer(0)] = table.intern(one->kind, one->shapes);
  return {};
}

namespace {

Error unknown(const std::string& id, const std::string& folder) {
  return {Code::kNotFound, "the zoo has no model " + id, folder};
}

/// Reads new signatures of the index into the table of a catalogue.
Result<void> read_signatures(Database& index, std::int64_t& last, std::map<std::int64_t, std::uint32_t>& places,
                             Signatures& table) {
  return index.each("SELECT number, text FROM signatures WHERE number > ?1 ORDER BY number", {last},
                    [&](const SqlRow& row) -> Result<void> {
                      LANISTA_TRY(read_signature(row, places, table));
                      last = row.integer(0);
                      return {};
                    });
}

}  // namespace

Result<std::shared_ptr<const Catalogue>> Store::find(const TaskKey& task, Scope scope,
                                                     std::vector<std::string>* skipped) const {
  const std::scoped_lock lock(state_->mutex);
  State& state = *state_;
  const bool family = scope == Scope::kFamily;
  const std::string text = family ? task.family() : task.text();
  State::CachedCatalogue& known = state.known[(family ? "f " : "t ") + text];
  const auto read = [&]() -> Result<void> {
    LANISTA_ASSIGN(const std::int64_t epoch, state.number("SELECT value FROM meta WHERE name = 'epoch'"));
    LANISTA_ASSIGN(const std::int64_t change, state.number("SELECT value FROM meta WHERE name = 'change'"));
    if (epoch == known.epoch && change == known.change) return {};
    if (epoch != known.epoch) known = {};
    if (known.catalogue.use_count() > 1) known.catalogue = std::make_shared<Catalogue>(*known.catalogue);
    Catalogue& catalogue = *known.catalogue;
    LANISTA_TRY(read_signatures(state.index, known.signatures, known.places, catalogue.signatures()));
    LANISTA_TRY(state.index.each(
        std::string("SELECT id, state, quality, added, view FROM models WHERE ") + (family ? "family" : "task") +
            " = ?1 AND change > ?2 ORDER BY change, id",
        {text, known.change}, [&](const SqlRow& row) -> Result<void> {
          const std::string id = row.text(0);
          if (!is_model_id(id)) {
            known.skipped.push_back("model " + in_quotes(id) + " is left out: an id is 16 hex digits");
            return {};
          }
          catalogue.remove(id);
          if (row.text(1) == "quarantined") {
            catalogue.rank_only({id, text, row.real(2), row.integer(3)});
          }
          if (row.text(1) != "live") return {};
          auto model = packed_from_bytes(row.blob(4), known.places, catalogue.signatures());
          Result<void> added = model ? catalogue.add({id, text, row.real(2), row.integer(3)}, *std::move(model))
                                     : Result<void>(model.error());
          if (!added) known.skipped.push_back("model " + id + " is left out: " + added.error().message);
          return {};
        }));
    known.epoch = epoch;
    known.change = change;
    return {};
  };
  LANISTA_TRY(state.index.read(read));
  if (skipped != nullptr) *skipped = known.skipped;
  return std::shared_ptr<const Catalogue>(known.catalogue);
}

Result<graph::Graph> Store::graph(const std::string& id) const {
  const std::scoped_lock lock(state_->mutex);
  std::optional<std::string> text;
  LANISTA_TRY(state_->index.each(
      "SELECT graph FROM models WHERE id = ?1 AND state <> 'removed'", {id}, [&](const SqlRow& row) -> Result<void> {
        if (row.blob(0).size() > kMaxGraphBytes) {
          return Error{Code::kDataLoss,
                       "the graph of model " + id + " has " + std::to_string(row.blob(0).size()) +
                           " bytes; allowed are " + std::to_string(kMaxGraphBytes),
                       state_->folder};
        }
        text = row.text(0);
        return {};
      }));
  if (!text) return unknown(id, state_->folder);
  auto graph = graph::parse(*text);
  if (!graph)
    return Error{Code::kDataLoss, "the graph of model " + id + " is damaged: " + graph.error().text(), state_->folder};
  return graph;
}

Result<std::vector<Tensor>> Store::weights(const std::string& id, const std::vector<std::string>& names) const {
  struct StoredTensor {
    Tensor tensor;
    std::uint64_t begin = 0, bytes = 0;
    std::string sha256;
  };
  std::vector<StoredTensor> places;
  std::optional<std::string> file;
  std::uint64_t left = 0;  // bytes of the file that belong to no tensor yet
  const auto damaged = [&](const std::string& what) {
    return Error{Code::kDataLoss, "the weights of model " + id + " are damaged: " + what, state_->folder};
  };
  const std::scoped_lock lock(state_->mutex);
  const auto find_places = [&]() -> Result<void> {
    LANISTA_TRY(state_->index.each("SELECT weights FROM models WHERE id = ?1 AND state = 'live'", {id},
                                   [&](const SqlRow& row) -> Result<void> {
                                     file = row.text(0);
                                     return {};
                                   }));
    if (!file) return unknown(id, state_->folder);
    if (!is_sha256(*file)) return damaged("the index names " + in_quotes(*file) + "; allowed are 64 hex digits");
    const auto size = state_->files().size(state_->weights_folder() + "/" + State::file_name(*file));
    if (!size) return damaged(size.error().text());
    left = *size;
    return state_->index.each(
        "SELECT name, type, shape, begin, bytes, sha256 FROM tensors WHERE weights = ?1 ORDER BY place", {*file},
        [&](const SqlRow& row) -> Result<void> {
          const std::string name = row.text(0);
          if (!names.empty() && std::ranges::find(names, name) == names.end()) return {};
          const auto shape = row.blob(2).size() > kMaxShapeBytes ? nlohmann::json()
                                                                 : nlohmann::json::parse(row.text(2), nullptr, false);
          const std::int64_t type = row.integer(1);
          const bool whole = shape.is_array() && std::ranges::all_of(shape, [](const auto& dim) {
                               return dim.is_number_integer() && dim.template get<std::int64_t>() >= 0;
                             });
          if (!whole ||
              (type != static_cast<std::int64_t>(ElementType::kF32) &&
               type != static_cast<std::int64_t>(ElementType::kF64)) ||
              row.integer(3) < 0 || row.integer(4) < 0) {
            return damaged("the index of tensor " + in_quotes(name));
          }
          StoredTensor one{{name, static_cast<ElementType>(type), shape.get<std::vector<std::int64_t>>(), {}},
                           static_cast<std::uint64_t>(row.integer(3)),
                           static_cast<std::uint64_t>(row.integer(4)),
                           row.text(5)};
          std::int64_t bytes = static_cast<std::int64_t>(element_size(one.tensor.type));
          for (const std::int64_t dim : one.tensor.shape) {
            if (__builtin_mul_overflow(bytes, dim, &bytes)) return damaged("the shape of tensor " + in_quotes(name));
          }
          if (static_cast<std::uint64_t>(bytes) != one.bytes) return damaged("the size of tensor " + in_quotes(name));
          if (one.bytes > left) return damaged("its tensors have more bytes than its file, at " + in_quotes(name));
          left -= one.bytes;
          places.push_back(std::move(one));
          return {};
        });
  };
  LANISTA_TRY(state_->index.read(find_places));
  std::vector<Tensor> out;
  for (StoredTensor& one : places) {
    auto bytes = read_inside_folder(state_->folder, std::string(kWeightsName) + "/" + State::file_name(*file),
                                    one.begin, one.bytes);
    if (!bytes) return damaged("tensor " + in_quotes(one.tensor.name) + ": " + bytes.error().text());
    if (sha256_hex(*bytes) != one.sha256) {
      return damaged("tensor " + in_quotes(one.tensor.name) + " has another SHA-256 than in the index");
    }
    one.tensor.bytes = *std::move(bytes);
    out.push_back(std::move(one.tensor));
  }
  for (const std::string& name : names) {
    if (std::ranges::find(out, name, &Tensor::name) == out.end()) {
      return Error{Code::kNotFound, "model " + id + " has no tensor " + name, state_->folder};
    }
  }
  return out;
}

Result<std::string> Store::resolve(const std::string& beginning) const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> found;
  LANISTA_TRY(state_->index.each(
      "SELECT id FROM models WHERE substr(id, 1, length(?1)) = ?1 AND state <> 'removed' AND length(id) = 16 AND "
      "id NOT GLOB '*[^0-9a-f]*' ORDER BY id LIMIT 3",
      {beginning}, [&](const SqlRow& row) -> Result<void> {
        found.push_back(row.text(0));
        return {};
      }));
  if (found.empty() || beginning.empty()) return unknown(beginning, state_->folder);
  if (found.size() > 1 && found.front() != beginning) {
    return Error{Code::kInvalidArgument,
                 "several models begin with " + beginning + ": " + found[0] + ", " + found[1] +
                     (found.size() > 2 ? ", ..." : ""),
                 state_->folder};
  }
  return found.front();
}

Result<StoredModel> Store::show(const std::string& id) const {
  const std::scoped_lock lock(state_->mutex);
  std::optional<StoredModel> out;
  LANISTA_TRY(state_->index.each(std::string(kModelColumns) + "WHERE id = ?1 AND state <> 'removed'", {id},
                                 [&](const SqlRow& row) -> Result<void> {
                                   LANISTA_ASSIGN(out, stored_model(row));
                                   return {};
                                 }));
  if (!out) return unknown(id, state_->folder);
  return *std::move(out);
}

Result<std::vector<StoredModel>> Store::list(std::vector<std::string>* skipped) const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<StoredModel> out;
  LANISTA_TRY(state_->index.each(std::string(kModelColumns) + "WHERE state <> 'removed'", {},
                                 [&](const SqlRow& row) -> Result<void> {
                                   auto one = stored_model(row);
                                   if (one) {
                                     out.push_back(*std::move(one));
                                   } else if (skipped != nullptr) {
                                     skipped->push_back(one.error().message);
                                   }
                                   return {};
                                 }));
  // SQLite does not sort them, since it would copy them before the limit on rows counts.
  std::ranges::sort(out, [](const StoredModel& a, const StoredModel& b) {
    return std::tie(a.task, a.state, b.quality, b.added, a.id) < std::tie(b.task, b.state, a.quality, a.added, b.id);
  });
  return out;
}

}  // namespace lanista::zoo
