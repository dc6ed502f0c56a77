#include <algorithm>
#include <utility>

#include "lanista/io/data/arrays.h"
#include "lanista/io/formats/npy.h"
#include "lanista/io/formats/npz.h"

namespace lanista::data {
namespace {

ArrayRule array_rule_of(const ReadRequest& request) {
  return request.rules > study::kFirstRules ? ArrayRule::kAsTables : ArrayRule::kClassNumbers;
}

Result<Tensor> load_npy(const ReadRequest& request, const std::string& name) {
  const std::string path = request.path(name);
  LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, path));
  auto tensor = formats::decode_npy(bytes);
  if (!tensor) return with_file(tensor.error(), path);
  tensor->name = path;
  return tensor;
}

std::string keys_of(const std::vector<Tensor>& arrays) {
  std::string out;
  for (const Tensor& array : arrays) out += (out.empty() ? "" : ", ") + array.name;
  return out.empty() ? "none" : out;
}

/// The array with the name in the option, else with one of the usual names, else the only possible one.
const Tensor* find_array(const std::vector<Tensor>& arrays, const std::optional<std::string>& requested,
                         const std::vector<std::string>& default_names, std::size_t default_index,
                         std::size_t expected) {
  for (const std::string& name : requested ? std::vector{*requested, unescaped(*requested)} : default_names) {
    const auto it = std::ranges::find(arrays, name, &Tensor::name);
    if (it != arrays.end()) return &*it;
  }
  return !requested && arrays.size() == expected ? &arrays[default_index] : nullptr;
}

}  // namespace

Result<LoadedRows> read_npy(const ReadRequest& request) {
  LANISTA_ASSIGN(const std::string task, request.source.choice("task", table_tasks()));
  const auto files = split_at_commas(request.source.argument);
  const bool unlabelled = request.expected_spec != nullptr && files.size() == 1;
  if ((files.size() != 2 && !unlabelled) || std::ranges::count(files, "") > 0) {
    return request.source.error("expected two files, npy:X.npy,Y.npy");
  }
  Arrays arrays;
  LANISTA_ASSIGN(arrays.x, load_npy(request, files[0]));
  if (files.size() == 2) {
    LANISTA_ASSIGN(arrays.y, load_npy(request, files[1]));
  }
  LANISTA_ASSIGN(LoadedRows found,
                 rows_from_arrays(std::move(arrays), task, request.expected_spec, array_rule_of(request)));
  found.raw.spec.name = stem_of(files[0]);
  return found;
}

Result<LoadedRows> read_npz(const ReadRequest& request) {
  const Source& source = request.source;
  LANISTA_ASSIGN(const std::string task, source.choice("task", table_tasks()));
  if (source.argument.empty()) return source.error("expected a file, npz:FILE?x=KEY&y=KEY");
  const std::string path = request.path(source.argument);
  auto archive = [&]() -> Result<std::vector<Tensor>> {
    LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, path));
    return formats::decode_npz(bytes);
  }();
  if (!archive) return with_file(archive.error(), path);

  const bool alone = request.expected_spec != nullptr && archive->size() == 1;
  const Tensor* x = find_array(*archive, source.value("x"), {"x", "X"}, 0, alone ? 1 : 2);
  const Tensor* y = find_array(*archive, source.value("y"), {"y", "Y"}, 1, 2);
  if (x == nullptr || x == y || (y == nullptr && request.expected_spec == nullptr)) {
    return with_file(source.error("name the arrays with x= and y=; there are " + keys_of(*archive)), path);
  }
  Arrays arrays{.x = *x, .y = y == nullptr ? std::nullopt : std::optional(*y), .labels = {}, .names = {}};
  archive->clear();
  arrays.x.name = path + "[" + arrays.x.name + "]";
  if (arrays.y) arrays.y->name = path + "[" + arrays.y->name + "]";
  LANISTA_ASSIGN(LoadedRows found,
                 rows_from_arrays(std::move(arrays), task, request.expected_spec, array_rule_of(request)));
  found.raw.spec.name = stem_of(path);
  return found;
}

}  // namespace lanista::data
