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

inline constexpr std::int64_t kMaxQueriesPerTask = 64;  ///< recorded queries of a task

/// Reads a row of the table of signatures; a damaged one is skipped. Errors: kResourceExhausted.
Result<void> read_signature(const SqlRow& row, std::map<std::int64_t, std::uint32_t>& places, Signatures& table);

/// The state that the source files of Store share. Every public call holds `mutex`.
struct Store::State {
  /// The models of one task or family that were read.
  struct CachedCatalogue {
    std::shared_ptr<Catalogue> catalogue = std::make_shared<Catalogue>();  ///< the models
    std::int64_t change = 0, epoch = 0, signatures = 0;                    ///< of the index when it was read
    std::map<std::int64_t, std::uint32_t> places;                          ///< index in the table by number
    std::vector<std::string> skipped;                                      ///< rows that cannot be read
  };

  std::string folder;                                    ///< of the zoo
  Options options;                                       ///< of the store
  std::shared_ptr<FileSystem> confined;                  ///< writes only below `folder`, and through no link
  Database index;                                        ///< index.sqlite
  mutable std::mutex mutex;                              ///< of all members
  mutable std::map<std::string, CachedCatalogue> known;  ///< by task or family

  FileSystem& files() const { return *confined; }
  /// The folder of weights.
  std::string weights_folder() const { return folder + "/" + std::string(kWeightsName); }
  /// The name of a file of weights.
  static std::string file_name(const std::string& sha256) { return sha256 + ".safetensors"; }

  /// The whole number that a query returns.
  Result<std::int64_t> number(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// The number of the next change. Only within a change.
  Result<std::int64_t> next_change();
  /// The numbers in the index of a table's signatures; new ones are written. Only within a change.
  Result<std::vector<std::int64_t>> signature_numbers(const Signatures& table);
  /// Removes regular files with names of the program: weights to which no model refers, and temporary files of a
  /// process that has ended. Only within a change. Returns their number.
  Result<std::int64_t> sweep();
  /// Whether a file in the folder of weights has a name of the program and is a regular file of this user or of the
  /// folder's owner. For a temporary file, also whether its process has ended.
  bool is_sweepable(const std::string& name) const;
  /// Removes a file of weights; another kind of file stays.
  Result<void> remove_file(const std::string& name);
  /// Removes the files of removed models, unless others have the same weights.
  Result<void> drop_files(const std::vector<std::string>& ids);
  /// Sets a model's state to removed or quarantined. Only within a change. Errors: kNotFound.
  Result<void> mark_removed(const std::string& id, const std::string& state, const std::string& why);
};

}  // namespace lanista::zoo
