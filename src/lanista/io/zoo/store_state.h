#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/io/zoo/database.h"
#include "lanista/io/zoo/zoo_folder.h"
#include "lanista/io/zoo/index_rows.h"
#include "lanista/io/zoo/zoo_store.h"

namespace lanista::zoo {

inline constexpr std::int64_t kMaxQueriesPerTask = 64;  ///< of a task

/// Reads a row of the table of signatures; one that is damaged is left out. Errors: kResourceExhausted.
Result<void> read_signature(const SqlRow& row, std::map<std::int64_t, std::uint32_t>& places, Signatures& table);

/// What the units of Store share. `mutex` is held by every public call.
struct Store::State {
  /// Models of one task or family, as far as they have been read.
  struct CachedCatalogue {
    std::shared_ptr<Catalogue> catalogue = std::make_shared<Catalogue>();
    std::int64_t change = 0, epoch = 0, signatures = 0;
    std::map<std::int64_t, std::uint32_t> places;  ///< of a signature's number in the catalogue's table
    std::vector<std::string> skipped;
  };

  std::string folder;
  Options options;
  std::shared_ptr<FileSystem> confined;  ///< writes below `folder` alone, and through no link
  Database index;
  mutable std::mutex mutex;
  mutable std::map<std::string, CachedCatalogue> known;

  FileSystem& files() const { return *confined; }
  std::string weights_folder() const { return folder + "/" + std::string(kWeightsName); }
  static std::string file_name(const std::string& sha256) { return sha256 + ".safetensors"; }

  Result<std::int64_t> number(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// The number of the next change; inside of a change alone.
  Result<std::int64_t> next_change();
  /// Numbers in the index of a table's signatures, new ones written; inside of a change alone.
  Result<std::vector<std::int64_t>> signature_numbers(const Signatures& table);
  /// Removes regular files of the program's own names: weights which no model refers to, and temporary files whose
  /// process has ended. Only within a change. Returns how many.
  Result<std::int64_t> sweep();
  /// Whether a name in the folder of weights is one that the program writes, and a regular file of this user or of the
  /// folder's owner; of a temporary file also that its process has ended.
  bool is_sweepable(const std::string& name) const;
  /// Removes a file of weights; another kind of file stays.
  Result<void> remove_file(const std::string& name);
  /// Removes the files of removed models, unless others have the same weights.
  Result<void> drop_files(const std::vector<std::string>& ids);
  /// Makes a model a removed one, or a quarantined one; inside of a change alone. kNotFound.
  Result<void> mark_removed(const std::string& id, const std::string& state, const std::string& why);
};

}  // namespace lanista::zoo
