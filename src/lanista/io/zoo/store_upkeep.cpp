#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "lanista/base/enum_table.h"
#include "lanista/base/printable.h"
#include "lanista/base/sha256.h"
#include "lanista/io/zoo/admission.h"
#include "lanista/io/zoo/packed_bytes.h"
#include "lanista/io/zoo/store_state.h"
#include "lanista/model/graph/text.h"

namespace lanista::zoo {
namespace {

constexpr double kHalfLife = 1000;            // of the weight of an outcome, in changes of the zoo
constexpr std::size_t kQueriesOfModels = 64;  // without queries, models of a task replace them

struct SeenQuery {
  std::string task, id;  ///< id: empty of a query
  PackedModel model;
  double quality = 0;
  std::size_t resident = 0;
};

/// The packed forms of models or queries over one table, without damaged ones.
struct Views {
  Signatures table;
  std::map<std::int64_t, std::uint32_t> places;
  std::vector<SeenQuery> models, queries;
};

Result<Views> read_views(Database& index, std::vector<EvictionCandidate>& residents, std::int64_t now) {
  struct Live {
    std::int64_t added;
    EvictionCandidate resident;
    std::optional<SeenQuery> seen;
  };
  Views out;
  std::vector<Live> live;
  LANISTA_TRY(
      index.each("SELECT number, text FROM signatures ORDER BY number", {},
                 [&](const SqlRow& row) -> Result<void> { return read_signature(row, out.places, out.table); }));
  LANISTA_TRY(index.each(
      "SELECT id, task, quality, view, bytes, "
      "pinned OR EXISTS (SELECT 1 FROM leases WHERE model = id AND until > ?1), added FROM models WHERE state = 'live'",
      {now}, [&](const SqlRow& row) -> Result<void> {
        const std::int64_t bytes = row.integer(4);
        if (!is_model_id(row.blob(0)) || bytes < 0 || bytes > kMaxWeightsBytes || !std::isfinite(row.real(2))) {
          return {};
        }
        auto model = packed_from_bytes(row.blob(3), out.places, out.table);
        live.push_back({row.integer(6), {row.text(0), bytes, 0, row.integer(5) != 0, {}}, {}});
        if (model) live.back().seen = SeenQuery{row.text(1), row.text(0), *std::move(model), row.real(2)};
        return {};
      }));
  std::ranges::stable_sort(live, {}, &Live::added);
  for (Live& one : live) {
    residents.push_back(std::move(one.resident));
    if (!one.seen) continue;
    one.seen->resident = residents.size() - 1;
    out.models.push_back(*std::move(one.seen));
  }
  std::map<std::string, std::int64_t> asked;
  LANISTA_TRY(
      index.each("SELECT task, view FROM queries ORDER BY number DESC", {}, [&](const SqlRow& row) -> Result<void> {
        if (++asked[row.text(0)] > kMaxQueriesPerTask) return {};
        auto model = packed_from_bytes(row.blob(1), out.places, out.table);
        if (model) out.queries.push_back({row.text(0), "", *std::move(model)});
        return {};
      }));
  std::ranges::reverse(out.queries);
  return out;
}

/// Ranks within the task in [0, 1]; equal qualities have equal ranks.
std::vector<double> ranks(const std::vector<SeenQuery>& models) {
  std::map<std::string, std::set<double>> by_task;
  for (const SeenQuery& one : models) by_task[one.task].insert(one.quality);
  std::vector<double> out;
  for (const SeenQuery& one : models) {
    const auto& all = by_task[one.task];
    const auto below = static_cast<double>(std::distance(all.begin(), all.find(one.quality)));
    out.push_back((below + 1) / static_cast<double>(all.size()));
  }
  return out;
}

void fill_serves(Views& views, std::vector<EvictionCandidate>& residents) {
  std::map<std::string, std::size_t> asked;
  for (const SeenQuery& query : views.queries) ++asked[query.task];
  for (std::size_t k = views.models.size(); k-- > 0;) {  // newest first
    const SeenQuery& one = views.models[k];
    if (asked[one.task] < kQueriesOfModels && !std::ranges::any_of(views.queries, [&](const SeenQuery& query) {
          return query.task == one.task && query.id.empty();
        })) {
      ++asked[one.task];
      views.queries.push_back({one.task, one.id, one.model});
    }
  }
  const std::vector<double> quality = ranks(views.models);
  const PairTable table(views.table, views.table);
  for (EvictionCandidate& one : residents) one.serves.assign(views.queries.size(), 0.0);
  for (std::size_t k = 0; k < views.models.size(); ++k) {
    const SeenQuery& one = views.models[k];
    for (std::size_t q = 0; q < views.queries.size(); ++q) {
      if (views.queries[q].task != one.task) continue;
      residents[one.resident].serves[q] = similarity_bound(one.model, views.queries[q].model, table) * quality[k];
    }
  }
}

Result<void> fill_values(Database& index, std::vector<EvictionCandidate>& residents) {
  std::map<std::string, double> values;
  LANISTA_TRY(index.each(
      "SELECT parent, 1 - steps / reference, (SELECT value FROM meta WHERE name = 'change') - change FROM outcomes", {},
      [&](const SqlRow& row) -> Result<void> {
        const double value = std::max(0.0, row.real(1)) * std::exp2(-std::max(0.0, row.real(2)) / kHalfLife);
        if (std::isfinite(value)) values[row.text(0)] += value;
        return {};
      }));
  for (EvictionCandidate& one : residents) one.value = values[one.id];
  return {};
}

/// The kind of a file that is no regular file of this user or of the folder's owner; empty: it is one, or none exists.
std::string foreign_kind(FileKind kind) {
  static constexpr EnumTable<FileKind, const char*, 5> kKinds{
      {{FileKind::kNothing, ""},
       {FileKind::kFile, ""},
       {FileKind::kFolder, "a folder"},
       {FileKind::kLink, "a symbolic link"},
       {FileKind::kOther, "a FIFO, a socket, a device, or a file of another user"}}};
  return entry_of(kKinds, kind);
}

/// Whether the packed form is what the graph gives in this build.
bool same_view(const PackedModel& a, const Signatures& of_a, const PackedModel& b, const Signatures& of_b) {
  if (a.ids != b.ids || a.computes != b.computes || a.begins != b.begins || a.inputs != b.inputs || a.hash != b.hash) {
    return false;
  }
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (signature_text(of_a[a.signatures[k]]) != signature_text(of_b[b.signatures[k]])) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<Finding>> Store::verify(const graph::OpTable& ops) const {
  std::vector<Finding> out;
  struct Entry {
    std::string id, state, hash, graph, view, weights;
    std::int64_t bytes = 0;
  };
  std::vector<Entry> entries;
  Views views;
  {
    const std::scoped_lock lock(state_->mutex);
    Database& index = state_->index;
    LANISTA_TRY(index.each("PRAGMA integrity_check(10)", {}, [&](const SqlRow& row) -> Result<void> {
      if (row.text(0) != "ok") out.push_back({"index.sqlite", row.text(0)});
      return {};
    }));
    LANISTA_TRY(
        index.each(std::string(kModelColumns) + "WHERE state <> 'removed'", {}, [&](const SqlRow& row) -> Result<void> {
          const auto one = stored_model(row);
          if (!one) out.push_back({printable(row.text(0)), one.error().message});
          return {};
        }));
    LANISTA_TRY(index.read([&]() -> Result<void> {
      std::vector<EvictionCandidate> residents;
      LANISTA_ASSIGN(views, read_views(index, residents, 0));
      return index.each(
          "SELECT id, state, graph_hash, graph, view, weights, bytes FROM models WHERE state <> 'removed' ORDER BY id",
          {}, [&](const SqlRow& row) -> Result<void> {
            entries.push_back(
                {row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.integer(6)});
            return {};
          });
    }));
  }
  std::set<std::string> wanted;
  for (const Entry& one : entries) {
    const auto append_message = [&](const std::string& what) { out.push_back({one.id, what}); };
    if (one.graph.size() > kMaxGraphBytes) {
      append_message("its graph has " + std::to_string(one.graph.size()) + " bytes; allowed are " +
                     std::to_string(kMaxGraphBytes));
      continue;
    }
    const auto graph = graph::parse(one.graph);
    const auto match = graph ? MatchModel::of(*graph, ops) : Result<MatchModel>(graph.error());
    if (!match) {
      append_message("its graph is damaged: " + match.error().text());
    } else if (match->hash.hex() != one.hash) {
      append_message("its graph has another hash than in the index");
    } else {
      Signatures table;
      const PackedModel fresh = pack_model(*match, table);
      const auto view = packed_from_bytes(one.view, views.places, views.table);
      if (!view) append_message(view.error().message);
      if (view && !same_view(*view, views.table, fresh, table)) {
        append_message("what the matcher reads of it is not its graph");
      }
    }
    if (!is_sha256(one.weights)) continue;  // empty for quarantined models; others are reported above
    const std::string name = State::file_name(one.weights), path = state_->weights_folder() + "/" + name;
    wanted.insert(name);
    if (const std::string kind = foreign_kind(state_->files().kind(path)); !kind.empty()) {
      append_message("its file of weights is " + kind);
      continue;
    }
    const auto size = state_->files().size(path);
    if (!size) {
      append_message("its file of weights cannot be read: " + size.error().text());
      continue;
    }
    if (static_cast<std::int64_t>(*size) != one.bytes) {
      append_message("its file of weights has " + std::to_string(*size) + " bytes, in the index " +
                     std::to_string(one.bytes));
      continue;
    }
    const auto bytes = state_->files().read(path);
    if (!bytes) {
      append_message("its file of weights cannot be read: " + bytes.error().text());
    } else if (sha256_hex(*bytes) != one.weights) {
      append_message("its file of weights has another SHA-256 than its name");
    } else if (one.state == "live") {
      if (const auto tensors = weights(one.id); !tensors) append_message(tensors.error().message);
    }
  }
  LANISTA_ASSIGN(const auto names, state_->files().list(state_->weights_folder()));
  for (const std::string& name : names) {
    if (wanted.contains(name)) continue;
    const std::string kind = foreign_kind(state_->files().kind(state_->weights_folder() + "/" + name));
    const bool is_temporary = is_temporary_weights_name(name);
    if (!kind.empty()) {
      out.push_back({printable(name), "is " + kind + ", which gc leaves alone"});
    } else if (is_weights_file_name(name)) {
      out.push_back({name, "belongs to no model; gc removes it"});
    } else if (!is_temporary) {
      out.push_back({printable(name), "is not a name that the zoo gives; gc leaves it alone"});
    }
  }
  return out;
}

Result<GcResult> Store::gc(std::int64_t now, std::optional<std::int64_t> budget) {
  const std::scoped_lock lock(state_->mutex);
  Database& index = state_->index;
  GcResult out;
  const auto evict = [&]() -> Result<void> {
    LANISTA_TRY(index.run("DELETE FROM leases WHERE until <= ?1", {now}));
    LANISTA_ASSIGN(const std::int64_t all, state_->number("SELECT total(bytes) FROM models WHERE state = 'live'"));
    if (!budget || all <= *budget) return {};
    std::vector<EvictionCandidate> residents;
    LANISTA_ASSIGN(Views views, read_views(index, residents, now));
    fill_serves(views, residents);
    LANISTA_TRY(fill_values(index, residents));
    out.evicted = choose_evicted(residents, *budget);
    for (const std::string& id : out.evicted) LANISTA_TRY(state_->mark_removed(id, "removed", "evicted"));
    return {};
  };
  LANISTA_TRY(index.change(evict));
  const auto clean = [&]() -> Result<void> {
    LANISTA_ASSIGN(out.orphans, state_->sweep());
    LANISTA_TRY(index.run("DELETE FROM models WHERE state = 'removed'"));
    // Readers that know removed models as live ones must read everything again.
    if (index.changed_rows() > 0) LANISTA_TRY(index.run("UPDATE meta SET value = value + 1 WHERE name = 'epoch'"));
    LANISTA_TRY(index.run("DELETE FROM tensors WHERE weights NOT IN (SELECT weights FROM models)"));
    LANISTA_TRY(index.run("DELETE FROM leases WHERE model NOT IN (SELECT id FROM models)"));
    LANISTA_ASSIGN(out.bytes, state_->number("SELECT total(bytes) FROM models WHERE state = 'live'"));
    return {};
  };
  LANISTA_TRY(index.change(clean));
  return out;
}

}  // namespace lanista::zoo
