#include <filesystem>
#include <utility>

#include "lanista/base/text_distance.h"
#include "lanista/data/readers.h"

namespace lanista::data {

std::string resolve_path(const std::string& path, const std::string& folder) {
  const std::filesystem::path p(path);
  return p.is_absolute() || folder.empty() ? path : (std::filesystem::path(folder) / p).string();
}

Result<std::string> read_capped(FileSystem& fs, const std::string& path, std::uint64_t max_bytes) {
  LANISTA_ASSIGN(const std::uint64_t size, fs.size(path));
  if (size > max_bytes) {
    return Error{Code::kResourceExhausted,
                 "the file has " + std::to_string(size) + " bytes, at most " + std::to_string(max_bytes) +
                     " are read into memory",
                 path};
  }
  return fs.read(path);
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

Error at_file(Error error, const std::string& path) {
  if (error.where.empty()) error.where = path;
  return error;
}

Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs) {
  LANISTA_ASSIGN(const Source source, parse_source(config.source));
  if (source.kind == "builtin") return read_builtin(source, config);
  if (source.kind == "npy") return read_npy(source, config, folder, fs);
  if (source.kind == "csv") return read_csv(source, config, folder, fs);
  if (source.kind == "synthetic") return make_synthetic(source, config);
  const std::vector<std::string> kinds = {"builtin", "npy", "csv", "synthetic"};
  const std::string near = nearest_name(source.kind, kinds);
  return source.error("unknown kind \"" + source.kind + "\"" +
                      (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                      "; there are builtin, npy, csv, synthetic");
}

}  // namespace lanista::data
