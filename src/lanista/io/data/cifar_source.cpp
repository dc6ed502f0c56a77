#include <algorithm>
#include <span>
#include <utility>

#include "lanista/base/utf8.h"
#include "lanista/io/data/arrays.h"
#include "lanista/io/formats/cifar.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxNames = std::uint64_t{1} << 20;

/// The files of the training and the test part.
struct Files {
  std::vector<std::string> train, test;
  formats::CifarKind kind = formats::CifarKind::k10;
};

Result<Files> files_in(const ReadRequest& request, const std::string& folder) {
  LANISTA_ASSIGN(const auto names, request.fs->list(folder));
  Files out;
  const bool fine = std::ranges::find(names, "train.bin") != names.end();
  if (fine) out.kind = formats::CifarKind::k100;
  for (const std::string& name : names) {
    const std::string path = resolve_path(name, folder);
    if (fine ? name == "train.bin" : name.starts_with("data_batch_") && name.ends_with(".bin")) {
      out.train.push_back(path);
    }
    if (name == (fine ? "test.bin" : "test_batch.bin")) out.test.push_back(path);
  }
  if (!out.train.empty() && !out.test.empty()) return out;
  return Error{Code::kNotFound,
               "the folder holds neither data_batch_*.bin and test_batch.bin nor train.bin and test.bin", folder};
}

/// The class names from the file next to the data: one in each line, one for each class; empty without the file.
Result<std::vector<std::string>> read_class_names(const ReadRequest& request, const std::string& data_file, bool fine) {
  const std::size_t slash = data_file.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : data_file.substr(0, slash);
  const std::string path = resolve_path(fine ? "fine_label_names.txt" : "batches.meta.txt", folder);
  const std::size_t classes = fine ? 100 : 10;
  std::vector<std::string> names;
  if (!request.fs->exists(path)) {
    for (std::size_t c = 0; c < classes; ++c) names.push_back(std::to_string(c));
    return names;
  }
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, path, kMaxNames));
  if (find_invalid_utf8(text) != std::string_view::npos) {
    return Error{Code::kDataLoss, "the class names are not UTF-8", path};
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
    begin = end + 1;
  }
  if (names.size() == classes) return names;
  return Error{Code::kDataLoss,
               std::to_string(names.size()) + " class names for " + std::to_string(classes) + " classes", path};
}

}  // namespace

Result<LoadedRows> read_cifar(const ReadRequest& request) {
  const Source& source = request.source;
  if (source.argument.empty()) return source.error("expected cifar:FOLDER or cifar:FILE,FILE");
  LANISTA_ASSIGN(const std::string kind, source.choice("kind", {"auto", "10", "100"}));
  const std::string path = request.path(source.argument);
  Files files;
  if (is_folder(*request.fs, path)) {
    LANISTA_ASSIGN(files, files_in(request, path));
  } else {
    for (const std::string& name : split_at_commas(source.argument)) files.train.push_back(request.path(name));
  }
  if (kind != "auto") files.kind = kind == "10" ? formats::CifarKind::k10 : formats::CifarKind::k100;
  const bool fine = files.kind == formats::CifarKind::k100;

  Arrays arrays{.x = {.name = path, .type = ElementType::kU8, .shape = {0, 3, 32, 32}, .bytes = {}},
                .y = Tensor{.name = path, .type = ElementType::kU8, .shape = {0}, .bytes = {}},
                .labels = {},
                .names = {}};
  const auto append = [&](const std::string& file) -> Result<void> {
    LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, file));
    const auto batch = formats::decode_cifar(bytes, files.kind);
    if (!batch) return with_file(batch.error(), file);
    const auto pixels = std::as_bytes(std::span(batch->pixels)), labels = std::as_bytes(std::span(batch->labels));
    arrays.x.bytes.insert(arrays.x.bytes.end(), pixels.begin(), pixels.end());
    arrays.y->bytes.insert(arrays.y->bytes.end(), labels.begin(), labels.end());
    arrays.x.shape[0] = arrays.y->shape[0] = static_cast<std::int64_t>(arrays.y->bytes.size());
    return {};
  };
  for (const std::string& file : files.train) LANISTA_TRY(append(file));
  if (!files.test.empty()) arrays.first_test_row = arrays.x.shape[0];
  for (const std::string& file : files.test) LANISTA_TRY(append(file));
  LANISTA_ASSIGN(arrays.labels, read_class_names(request, files.train.front(), fine));
  LANISTA_ASSIGN(LoadedRows found, rows_from_arrays(std::move(arrays), "classes", request.expected_spec));
  found.raw.spec.name = fine ? "cifar-100" : "cifar-10";
  return found;
}

}  // namespace lanista::data
