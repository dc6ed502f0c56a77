#include <utility>

#include "lanista/io/data/arrays.h"
#include "lanista/io/formats/idx.h"

namespace lanista::data {
namespace {

/// A file under its usual name in a folder: packed or plain, with a dash or a dot before the kind.
std::optional<std::string> mnist_file(FileSystem& fs, const std::string& folder, const std::string& stem,
                                      const std::string& kind) {
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      const std::string path = resolve_path(stem + separator + kind + ending, folder);
      if (fs.exists(path)) return path;
    }
  }
  return std::nullopt;
}

Result<Tensor> load_array(const ReadRequest& request, const std::string& path) {
  LANISTA_ASSIGN(const std::string bytes, load_file(*request.fs, path));
  auto tensor = formats::decode_idx(bytes);
  if (!tensor) return with_file(tensor.error(), path);
  tensor->name = path;
  return tensor;
}

using Pair = std::vector<std::string>;  // images and optional labels

/// The images and labels of a part; none if there is neither file.
Result<std::optional<Pair>> mnist_pair(const ReadRequest& request, const std::string& folder, const std::string& part) {
  const auto images = mnist_file(*request.fs, folder, part + "-images", "idx3-ubyte");
  const auto labels = mnist_file(*request.fs, folder, part + "-labels", "idx1-ubyte");
  if (!images && !labels && part != "train") return std::optional<Pair>();
  if (!images || !labels) {
    return Error{
        Code::kNotFound,
        "the folder holds no " + part + "-images-idx3-ubyte and " + part + "-labels-idx1-ubyte (with or without .gz)",
        folder};
  }
  return std::optional<Pair>(Pair{*images, *labels});
}

Result<Pair> explicit_pair(const ReadRequest& request, const std::string& text, const char* notation) {
  Pair files = split_at_commas(text);
  const bool unlabelled = request.expected_spec != nullptr && files.size() == 1;
  if ((files.size() != 2 && !unlabelled) || files.front().empty() || files.back().empty()) {
    if (files.size() == 1 && !request.fs->exists(request.path(text))) {
      return request.source.error("there is no folder \"" + request.path(text) + "\"; expected idx:FOLDER or " +
                                  std::string(notation));
    }
    return request.source.error("expected two files, " + std::string(notation));
  }
  for (std::string& file : files) file = request.path(file);
  return files;
}

/// Adds the channel dimension of grey images.
void add_channel(Tensor& x) {
  if (x.shape.size() == 3) x.shape.insert(x.shape.begin() + 1, 1);
}

}  // namespace

Result<LoadedRows> read_idx(const ReadRequest& request) {
  const Source& source = request.source;
  const std::string path = request.path(source.argument);
  if (source.argument.empty()) return source.error("expected idx:FOLDER or idx:IMAGES,LABELS");
  const bool folder = source.argument.find(',') == std::string::npos && is_folder(*request.fs, path);
  std::vector<Pair> parts(1);
  if (folder) {
    if (source.value("test")) return source.error("a folder brings its own test part; leave out test=");
    LANISTA_ASSIGN(auto train, mnist_pair(request, path, "train"));
    LANISTA_ASSIGN(auto test, mnist_pair(request, path, "t10k"));
    parts[0] = *std::move(train);
    if (test) parts.push_back(*std::move(test));
  } else {
    LANISTA_ASSIGN(parts[0], explicit_pair(request, source.argument, "idx:IMAGES,LABELS"));
    if (const auto test = source.value("test")) {
      LANISTA_ASSIGN(parts.emplace_back(), explicit_pair(request, *test, "test=IMAGES,LABELS"));
    }
  }

  Arrays arrays;
  LANISTA_ASSIGN(arrays.x, load_array(request, parts[0][0]));
  if (parts[0].size() == 2) {
    LANISTA_ASSIGN(arrays.y, load_array(request, parts[0][1]));
  }
  if (parts.size() == 2) {
    arrays.first_test_row = arrays.x.shape.empty() ? 0 : arrays.x.shape.front();
    LANISTA_ASSIGN(const Tensor x, load_array(request, parts[1][0]));
    LANISTA_TRY(append_rows(arrays.x, x));
    if (parts[1].size() == 2 && arrays.y) {
      LANISTA_ASSIGN(const Tensor y, load_array(request, parts[1][1]));
      LANISTA_TRY(append_rows(*arrays.y, y));
    }
  }
  add_channel(arrays.x);
  LANISTA_ASSIGN(LoadedRows found, rows_from_arrays(std::move(arrays), "auto", request.expected_spec));
  found.raw.spec.name = stem_of(folder ? path : parts[0][0]);
  return found;
}

}  // namespace lanista::data
