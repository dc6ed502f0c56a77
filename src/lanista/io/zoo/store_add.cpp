#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/real_json.h"
#include "lanista/base/sha256.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/io/zoo/admission.h"
#include "lanista/io/zoo/packed_bytes.h"
#include "lanista/io/zoo/store_state.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::zoo {
namespace {

constexpr std::size_t kIdDigits = 16;

std::string dims(const std::vector<std::int64_t>& shape) { return nlohmann::json(shape).dump(); }

/// The tensors in the order of the graph's parameters. Errors: kInvalidArgument naming the first that does not fit.
Result<std::vector<Tensor>> fitting_tensors(const NewModel& model, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto wanted, graph::parameters(model.graph, ops));
  std::map<std::string, const Tensor*> given;
  const auto refused = [](const std::string& what) { return Error{Code::kInvalidArgument, what, ""}; };
  for (const Tensor& tensor : model.tensors) {
    if (!given.emplace(tensor.name, &tensor).second) return refused("two tensors are called " + tensor.name);
  }
  std::vector<Tensor> out;
  for (const graph::NamedParam& param : wanted) {
    const auto found = given.find(param.name);
    if (found == given.end()) return refused("the weights lack the tensor " + param.name);
    const Tensor& tensor = *found->second;
    if (tensor.type != ElementType::kF32 && tensor.type != ElementType::kF64) {
      return refused("tensor " + tensor.name + " holds integers; float32 or float64 is wanted");
    }
    if (tensor.shape != param.spec.shape.dims) {
      return refused("tensor " + tensor.name + " has shape " + dims(tensor.shape) + ", the graph needs " +
                     dims(param.spec.shape.dims));
    }
    if (static_cast<std::size_t>(tensor.elements()) * element_size(tensor.type) != tensor.bytes.size()) {
      return refused("tensor " + tensor.name + " has " + std::to_string(tensor.bytes.size()) +
                     " bytes, which does not fit its shape");
    }
    if (tensor.type != out.emplace_back(tensor).type || tensor.type != out.front().type) {
      return refused("tensor " + tensor.name + " is of another precision than " + out.front().name);
    }
    given.erase(found);
  }
  if (!given.empty()) return refused("tensor " + given.begin()->first + " belongs to no node of the graph");
  return out;
}

/// The name of the first tensor with a number that is not finite; empty: none.
std::string without_numbers(const std::vector<Tensor>& tensors) {
  const auto finite = [](const auto values) {
    return std::ranges::all_of(values, [](auto x) { return std::isfinite(x); });
  };
  for (const Tensor& tensor : tensors) {
    const bool all =
        tensor.type == ElementType::kF32 ? finite(elements_of<float>(tensor)) : finite(elements_of<double>(tensor));
    if (!all) return tensor.name;
  }
  return "";
}

/// The rows and the file of a model, made before the index is locked.
struct Prepared {
  std::string id, graph, relaxed, weights;  ///< weights: SHA-256 of the file
  std::string file;
  std::vector<Tensor> tensors;
  MatchModel match;
  std::string bad;  ///< see without_numbers
};

Result<Prepared> prepare(const NewModel& model, const graph::OpTable& ops) {
  Prepared out;
  LANISTA_ASSIGN(out.match, MatchModel::of(model.graph, ops));
  LANISTA_ASSIGN(out.tensors, fitting_tensors(model, ops));
  if (!std::isfinite(model.quality)) {
    return Error{Code::kInvalidArgument, "the quality of the model is not a number", ""};
  }
  out.graph = graph::to_text(model.graph);
  LANISTA_TRY(check_new_texts(model, out.graph.size()));
  Signatures table;
  const PackedModel packed = pack_model(out.match, table);
  out.relaxed = relaxed_hash(packed, table).hex();
  out.bad = without_numbers(out.tensors);
  LANISTA_ASSIGN(out.file, formats::encode_safetensors({out.tensors, {{"graph_hash", out.match.hash.hex()}}}));
  out.weights = sha256_hex(out.file);
  out.id = sha256_hex(model.task.text() + "\n" + out.weights + "\n" + out.graph).substr(0, kIdDigits);
  return out;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Rows of the table tensors.
Result<void> write_tensors(Database& index, const Prepared& model) {
  std::int64_t begin = static_cast<std::int64_t>(model.file.size());
  for (const Tensor& tensor : model.tensors) begin -= static_cast<std::int64_t>(tensor.bytes.size());
  LANISTA_TRY(index.run("DELETE FROM tensors WHERE weights = ?1", {model.weights}));
  std::int64_t place = 0;
  for (const Tensor& tensor : model.tensors) {
    const auto size = static_cast<std::int64_t>(tensor.bytes.size());
    LANISTA_TRY(index.run("INSERT INTO tensors VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                          {model.weights, place++, tensor.name, static_cast<std::int64_t>(tensor.type),
                           dims(tensor.shape), begin, size, sha256_hex(tensor.bytes)}));
    begin += size;
  }
  return {};
}

}  // namespace

Result<std::vector<std::int64_t>> Store::State::signature_numbers(const Signatures& table) {
  std::vector<std::int64_t> out;
  for (std::uint32_t k = 0; k < table.size(); ++k) {
    const std::string text = signature_text(table[k]);
    LANISTA_TRY(index.run("INSERT OR IGNORE INTO signatures(text) VALUES(?1)", {text}));
    LANISTA_ASSIGN(const std::int64_t one, number("SELECT number FROM signatures WHERE text = ?1", {text}));
    out.push_back(one);
  }
  return out;
}

Result<AddResult> Store::add(const NewModel& model, const graph::OpTable& ops, std::int64_t now) {
  LANISTA_ASSIGN(const Prepared ready, prepare(model, ops));
  const std::scoped_lock lock(state_->mutex);
  State& state = *state_;
  FileSystem& files = state.files();
  const bool bad = !ready.bad.empty();
  const std::string temporary = state.weights_folder() + "/" + temporary_weights_name();
  const std::string path = state.weights_folder() + "/" + State::file_name(ready.weights);
  // The slow part comes before the lock, so that other processes do not wait.
  const auto discard = [&] {
    if (files.exists(temporary)) (void)files.remove(temporary).ok();
  };
  if (!bad) {
    const Result<void> written = files.write_file(temporary, bytes_of(ready.file));
    if (!written && written.error().code != Code::kAlreadyExists) discard();  // a part of it may exist
    LANISTA_TRY(written);
  }

  AddResult out{ready.id};
  const auto place_file = [&]() -> Result<void> {
    Result<void> moved = files.rename(temporary, path);
    if (!moved.ok() && moved.error().code == Code::kNotFound) {  // removed by a process that cannot see this one
      LANISTA_TRY(files.write_file(temporary, bytes_of(ready.file)));
      moved = files.rename(temporary, path);
    }
    LANISTA_TRY(std::move(moved));
    return files.sync_folder(state.weights_folder());
  };
  const auto admit = [&]() -> Result<void> {
    LANISTA_ASSIGN(const std::int64_t there,
                   state.number("SELECT count(*) FROM models WHERE id = ?1 AND state = 'live'", {ready.id}));
    if (there > 0) {
      out.state = AddResult::State::kKnown;
      return {};
    }
    std::vector<double> others;
    std::vector<Replica> most_similar;
    const std::string task = model.task.text();
    LANISTA_TRY(
        state.index.each("SELECT quality, relaxed_hash, id, added, pinned OR EXISTS (SELECT 1 FROM leases WHERE model "
                         "= id AND until > ?2) "
                         "FROM models WHERE task = ?1 AND state = 'live'",
                         {task, now}, [&](const SqlRow& row) -> Result<void> {
                           others.push_back(row.real(0));
                           if (row.text(1) == ready.relaxed) {
                             most_similar.push_back({row.text(2), row.real(0), row.integer(3), row.integer(4) != 0});
                           }
                           return {};
                         }));
    out.why = bad ? "tensor " + ready.bad + " holds something else than finite numbers"
                  : admission_refusal(model.quality, model.chance, std::move(others));
    if (!out.why.empty() && !bad) {
      out.state = AddResult::State::kRefused;
      return {};
    }
    if (bad) out.state = AddResult::State::kQuarantined;
    LANISTA_ASSIGN(const std::int64_t change, state.next_change());
    if (!bad) {
      most_similar.push_back({ready.id, model.quality, change, false});
      out.replaced = surplus_replicas(std::move(most_similar),
                                      static_cast<std::size_t>(std::max<std::int64_t>(state.options.replicas, 1)));
      if (std::ranges::find(out.replaced, ready.id) != out.replaced.end()) {
        out.state = AddResult::State::kRefused;
        out.why = "the zoo has " + std::to_string(state.options.replicas) + " better models of this structure";
        out.replaced.clear();
        return {};
      }
      LANISTA_TRY(place_file());
      LANISTA_TRY(write_tensors(state.index, ready));
    }
    Signatures table;
    const PackedModel packed = pack_model(ready.match, table);
    LANISTA_ASSIGN(const auto numbers, state.signature_numbers(table));
    const std::string view = packed_bytes(packed, numbers);
    LANISTA_TRY(state.index.run(
        "INSERT OR REPLACE INTO models VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
        "?17, "
        "?18, ?19, 0, 0)",
        {ready.id, task, model.task.family(), std::string(bad ? "quarantined" : "live"), out.why,
         ready.match.hash.hex(), ready.relaxed, ready.graph, bytes_of(view), static_cast<std::int64_t>(packed.size()),
         packed.params, bad ? std::string() : ready.weights,
         bad ? std::int64_t{0} : static_cast<std::int64_t>(ready.file.size()), model.quality, model.metric,
         model.origin, model.facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), change, change}));
    for (const std::string& gone : out.replaced) {
      LANISTA_TRY(state.mark_removed(gone, "removed", "replaced by " + ready.id));
    }
    return {};
  };
  Result<void> done = state.index.change(admit);
  discard();
  LANISTA_TRY(std::move(done));
  if (!out.replaced.empty()) LANISTA_TRY(state.drop_files(out.replaced));
  return out;
}

}  // namespace lanista::zoo
