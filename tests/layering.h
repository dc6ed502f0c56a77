#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::layering {

/// The table of cmake/layers.txt, closed under "may include whatever those may include".
struct Layers {
  std::map<std::string, std::set<std::string>> may_include;  ///< layer -> each layer that it may include, and itself
  std::set<std::string> torch_folders;                       ///< folders that may include headers of LibTorch
};

/// Reads rows "layer -> layer layer" and "torch: folder folder"; '#' starts a comment.
///
/// Throws std::runtime_error for a malformed row, a layer that is named but has no row, two rows of one layer, or a
/// cycle.
Layers read_layers(std::string_view text);

/// An include line of a source file.
struct Include {
  int line = 0;         ///< from 1
  std::string path;     ///< between the quotes or brackets
  bool quoted = false;  ///< "…" rather than <…>
};

/// Returns the include lines of `file`, whatever their spacing. Lines in comments do not count.
std::vector<Include> includes_of(const std::filesystem::path& file);

/// Returns the layer that an include names: "lanista/<layer>/…" or "bench/…"; nullopt for any other include.
std::optional<std::string> layer_of(const Include& include);

/// True if `entry` is a C++ file.
bool is_source(const std::filesystem::directory_entry& entry);

/// Returns each broken rule of the sources below `root`, as "path:line: problem", sorted by path.
///
/// `root` has the layers as folders. A test file ends in _test.cpp. The rules are:
/// - A quoted include is "lanista/<layer>/…" and names a layer that the file's layer may include.
/// - Only the module app/api also includes public headers, "lanista/<header>".
/// - Only test files include "support/…" and "bench/…". Test files may include each layer.
/// - Only files in `torch_folders` and test files include headers of torch, ATen and c10.
/// - Each folder has a row.
std::vector<std::string> find_violations(const std::filesystem::path& root, const Layers& layers);

/// Whether an include names a header of include/lanista: "lanista/study.h".
bool is_public(const Include& include);

/// Returns each broken rule of the installed headers, as find_violations() does.
///
/// `folder` is include/lanista, and `of_modules` are the installed headers below `root` (src/lanista), such as
/// "base/result.h". Rule: an installed header includes installed headers by quotes, and the standard library by
/// brackets. A header of a module includes no header of `folder`.
std::vector<std::string> find_violations_of_public_headers(const std::filesystem::path& folder,
                                                           const std::filesystem::path& root,
                                                           const std::set<std::string>& of_modules);

/// The same for the folder of one layer outside src/lanista, such as bench/.
std::vector<std::string> find_violations_of(const std::filesystem::path& folder, const std::string& layer,
                                            const Layers& layers);

}  // namespace lanista::layering
