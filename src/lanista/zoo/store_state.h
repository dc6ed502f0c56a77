#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/zoo/database.h"
#include "lanista/zoo/store.h"

namespace lanista::zoo {

/// What the units of Store share. `mutex` is held by every public call.
struct Store::State {
  /// Models of one task or family, as far as they have been read.
  struct Known {
    std::shared_ptr<Catalogue> catalogue = std::make_shared<Catalogue>();
    std::int64_t change = 0, epoch = 0, signatures = 0;
    std::map<std::int64_t, std::uint32_t> places;  ///< of a signature's number in the catalogue's table
    std::vector<std::string> skipped;
  };

  std::string folder;
  Options options;
  Database index;
  mutable std::mutex mutex;
  mutable std::map<std::string, Known> known;

  FileSystem& files() const { return *options.files; }
  std::string weights_folder() const { return folder + "/weights"; }
  static std::string file_name(const std::string& sha256) { return sha256 + ".safetensors"; }

  Result<std::int64_t> number(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// The number of the next change; inside of a change alone.
  Result<std::int64_t> next_change();
  /// Numbers in the index of a table's signatures, new ones written; inside of a change alone.
  Result<std::vector<std::int64_t>> signature_numbers(const Signatures& table);
  /// Removes files of weights that no live model refers to, and what is left of writers that are gone; inside of a
  /// change alone. Gives how many.
  Result<std::int64_t> sweep();
  /// Removes the files of removed models, unless others have the same weights.
  Result<void> drop_files(const std::vector<std::string>& ids);
  /// Makes a model a removed one, or a quarantined one; inside of a change alone. kNotFound.
  Result<void> retire(const std::string& id, const std::string& state, const std::string& why);
};

}  // namespace lanista::zoo
