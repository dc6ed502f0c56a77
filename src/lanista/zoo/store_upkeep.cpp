#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lanista/base/sha256.h"
#include "lanista/graph/text.h"
#include "lanista/zoo/admission.h"
#include "lanista/zoo/packed_bytes.h"
#include "lanista/zoo/store_state.h"

namespace lanista::zoo {
namespace {

constexpr double kHalfLife = 1000;            // of what an outcome counts, in changes of the zoo
constexpr std::size_t kQueriesOfModels = 64;  // where nobody has asked, models of a task stand for questions

struct Seen {
  std::string task, id;  ///< id: empty of a query
  PackedModel model;
  double quality = 0;
  std::size_t resident = 0;
};

/// The views of models or queries over one table; what is damaged is left out.
struct Views {
  Signatures table;
  std::map<std::int64_t, std::uint32_t> places;
  std::vector<Seen> models, queries;
};

Result<Views> read_views(Database& index, std::vector<Resident>& residents, std::int64_t now) {
  Views out;
  LANISTA_TRY(
      index.each("SELECT number, text FROM signatures ORDER BY number", {}, [&](const SqlRow& row) -> Result<void> {
        const auto one = signature_from_text(row.blob(1));
        if (one) out.places[row.integer(0)] = out.table.intern(one->kind, one->shapes);
        return {};
      }));
  LANISTA_TRY(index.each(
      "SELECT id, task, quality, view, bytes, "
      "pinned OR EXISTS (SELECT 1 FROM leases WHERE model = id AND until > ?1) FROM models WHERE state = 'live' ORDER "
      "BY added",
      {now}, [&](const SqlRow& row) -> Result<void> {
        residents.push_back({row.text(0), row.integer(4), 0, row.integer(5) != 0, {}});
        auto model = packed_from_bytes(row.blob(3), out.places, out.table);
        if (model) {
          out.models.push_back({row.text(1), row.text(0), *std::move(model), row.real(2), residents.size() - 1});
        }
        return {};
      }));
  LANISTA_TRY(index.each("SELECT task, view FROM queries ORDER BY number", {}, [&](const SqlRow& row) -> Result<void> {
    auto model = packed_from_bytes(row.blob(1), out.places, out.table);
    if (model) out.queries.push_back({row.text(0), "", *std::move(model)});
    return {};
  }));
  return out;
}

/// In [0, 1], by rank within the task; alike qualities alike.
std::vector<double> ranks(const std::vector<Seen>& models) {
  std::map<std::string, std::set<double>> by_task;
  for (const Seen& one : models) by_task[one.task].insert(one.quality);
  std::vector<double> out;
  for (const Seen& one : models) {
    const auto& all = by_task[one.task];
    const auto below = static_cast<double>(std::distance(all.begin(), all.find(one.quality)));
    out.push_back((below + 1) / static_cast<double>(all.size()));
  }
  return out;
}

void fill_serves(Views& views, std::vector<Resident>& residents) {
  std::map<std::string, std::size_t> asked;
  for (const Seen& query : views.queries) ++asked[query.task];
  for (std::size_t k = views.models.size(); k-- > 0;) {  // the newest first
    const Seen& one = views.models[k];
    if (asked[one.task] < kQueriesOfModels && !std::ranges::any_of(views.queries, [&](const Seen& query) {
          return query.task == one.task && query.id.empty();
        })) {
      ++asked[one.task];
      views.queries.push_back({one.task, one.id, one.model});
    }
  }
  const std::vector<double> quality = ranks(views.models);
  const PairTable table(views.table, views.table);
  for (Resident& one : residents) one.serves.assign(views.queries.size(), 0.0);
  for (std::size_t k = 0; k < views.models.size(); ++k) {
    const Seen& one = views.models[k];
    for (std::size_t q = 0; q < views.queries.size(); ++q) {
      if (views.queries[q].task != one.task) continue;
      residents[one.resident].serves[q] = packed_bound(one.model, views.queries[q].model, table) * quality[k];
    }
  }
}

Result<void> fill_values(Database& index, std::vector<Resident>& residents) {
  std::map<std::string, double> values;
  LANISTA_TRY(index.each(
      "SELECT parent, 1 - steps / reference, (SELECT value FROM meta WHERE name = 'change') - change FROM outcomes", {},
      [&](const SqlRow& row) -> Result<void> {
        values[row.text(0)] += std::max(0.0, row.real(1)) * std::exp2(-row.real(2) / kHalfLife);
        return {};
      }));
  for (Resident& one : residents) one.value = values[one.id];
  return {};
}

/// Whether the view is what the graph gives today.
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
    LANISTA_TRY(index.read([&]() -> Result<void> {
      std::vector<Resident> residents;
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
    const auto say = [&](const std::string& what) { out.push_back({one.id, what}); };
    const auto graph = graph::parse(one.graph);
    const auto match = graph ? MatchModel::of(*graph, ops) : Result<MatchModel>(graph.error());
    if (!match) {
      say("its graph is damaged: " + match.error().text());
    } else if (match->hash.hex() != one.hash) {
      say("its graph has another hash than the index says");
    } else {
      Signatures table;
      const PackedModel fresh = pack(*match, table);
      const auto view = packed_from_bytes(one.view, views.places, views.table);
      if (!view) say(view.error().message);
      if (view && !same_view(*view, views.table, fresh, table)) say("what the matcher reads of it is not its graph");
    }
    if (one.weights.empty()) continue;
    const std::string name = State::file_name(one.weights), path = state_->weights_folder() + "/" + name;
    wanted.insert(name);
    const auto size = state_->files().size(path);
    if (!size) {
      say("its file of weights cannot be read: " + size.error().text());
      continue;
    }
    if (static_cast<std::int64_t>(*size) != one.bytes) {
      say("its file of weights has " + std::to_string(*size) + " bytes, the index says " + std::to_string(one.bytes));
      continue;
    }
    const auto bytes = state_->files().read(path);
    if (!bytes) {
      say("its file of weights cannot be read: " + bytes.error().text());
    } else if (sha256_hex(*bytes) != one.weights) {
      say("its file of weights has another SHA-256 than its name");
    } else if (one.state == "live") {
      if (const auto tensors = weights(one.id); !tensors) say(tensors.error().message);
    }
  }
  LANISTA_ASSIGN(const auto names, state_->files().list(state_->weights_folder()));
  for (const std::string& name : names) {
    if (!wanted.contains(name) && !name.starts_with("tmp-"))
      out.push_back({name, "belongs to no model; gc removes it"});
  }
  return out;
}

Result<Upkeep> Store::gc(std::int64_t now, std::optional<std::int64_t> budget) {
  const std::scoped_lock lock(state_->mutex);
  Database& index = state_->index;
  Upkeep out;
  const auto evict = [&]() -> Result<void> {
    LANISTA_TRY(index.run("DELETE FROM leases WHERE until <= ?1", {now}));
    LANISTA_ASSIGN(const std::int64_t all, state_->number("SELECT total(bytes) FROM models WHERE state = 'live'"));
    if (!budget || all <= *budget) return {};
    std::vector<Resident> residents;
    LANISTA_ASSIGN(Views views, read_views(index, residents, now));
    fill_serves(views, residents);
    LANISTA_TRY(fill_values(index, residents));
    out.evicted = evicted(residents, *budget);
    for (const std::string& id : out.evicted) LANISTA_TRY(state_->retire(id, "removed", "evicted"));
    return {};
  };
  LANISTA_TRY(index.change(evict));
  const auto clean = [&]() -> Result<void> {
    LANISTA_ASSIGN(out.orphans, state_->sweep());
    LANISTA_TRY(index.run("DELETE FROM models WHERE state = 'removed'"));
    // Whoever has read removed models as live ones reads everything again.
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
