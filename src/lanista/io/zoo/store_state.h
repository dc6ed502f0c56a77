#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/io/zoo/database.h"
#include "lanista/io/zoo/index_rows.h"
#include "lanista/io/zoo/zoo_folder.h"
#include "lanista/io/zoo/zoo_store.h"

namespace lanista::zoo {

inline constexpr std::int64_t kMaxQueriesPerTask = 64;  ///< number of queries that are kept for each task

/// Adds the signature in a row (number, text) of the index to `table`, and its position to `places` by number. A
/// damaged one is skipped. Errors: kResourceExhausted (more than kMaxSignatures).
Result<void> read_signature(const SqlRow& row, std::map<std::int64_t, std::uint32_t>& places, Signatures& table);

/// The members of a Store. Every public call of Store holds `mutex`, so members need no lock of their own.
struct Store::State {
  /// The cached models of one task or family, as Store::find() read them.
  struct CachedCatalogue {
    std::shared_ptr<Catalogue> catalogue = std::make_shared<Catalogue>();  ///< the live models
    std::int64_t change = 0, epoch = 0, signatures = 0;                    ///< counters of the index when it was read
    std::map<std::int64_t, std::uint32_t> places;  ///< position in catalogue->signatures() by number in the index
    std::vector<std::string> skipped;              ///< one text for users for each row that cannot be read
  };

  std::string folder;                                    ///< path of the zoo
  Options options;                                       ///< settings of the store
  std::shared_ptr<FileSystem> confined;                  ///< writes only below `folder`, and through no link
  Database index;                                        ///< index.sqlite
  mutable std::mutex mutex;                              ///< guards all members
  mutable std::map<std::string, CachedCatalogue> known;  ///< by "t " and task, or "f " and family

  /// The file system `confined`.
  FileSystem& files() const { return *confined; }
  /// The path of the folder of weights.
  std::string weights_folder() const { return folder + "/" + std::string(kWeightsName); }
  /// The name of the file of weights with this SHA-256, without a folder.
  static std::string file_name(const std::string& sha256) { return sha256 + ".safetensors"; }

  /// The integer in the first column of the last row of a query; 0 without rows.
  Result<std::int64_t> number(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// Increases the counter of changes and returns it. Precondition: within Database::change().
  Result<std::int64_t> next_change();
  /// The number in the index of each signature of `table`, in its order; new ones are added to the index. Precondition:
  /// within Database::change().
  Result<std::vector<std::int64_t>> signature_numbers(const Signatures& table);
  /// Removes regular files with names of the program: weights to which no model refers, and temporary files of a
  /// process that has ended. Returns the number of removed files. Precondition: within Database::change().
  Result<std::int64_t> sweep();
  /// True means that the file `name` in the folder of weights may be removed. It has a name of the program and is a
  /// regular file of this user or of the folder's owner. If it is temporary, its process has ended.
  bool is_sweepable(const std::string& name) const;
  /// Removes the file `name` in the folder of weights if is_sweepable(); else it stays, without an error.
  Result<void> remove_file(const std::string& name);
  /// Removes the files of weights of the removed models `ids`, unless other models have the same weights. It is a
  /// change of its own, so it must not be called within Database::change().
  Result<void> drop_files(const std::vector<std::string>& ids);
  /// Sets the state of a model to "removed" or "quarantined", with the first kMaxText bytes of `why` as the reason, and
  /// the number of a new change. Precondition: within Database::change(). Errors: kNotFound (no such model, or a
  /// removed one).
  Result<void> mark_removed(const std::string& id, const std::string& state, const std::string& why);
};

}  // namespace lanista::zoo
