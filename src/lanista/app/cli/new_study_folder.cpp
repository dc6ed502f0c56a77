#include "lanista/app/cli/new_study_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lanista/base/file_system.h"

namespace lanista::cli {
namespace {

constexpr mode_t kMode = 0777;  // less the umask
constexpr int kMaxParents = 100;

std::string numbered(const std::string& parent, const std::string& name, int number) {
  return parent + "/" + name + "-" + std::to_string(number);
}

}  // namespace

Result<NewStudyFolder> NewStudyFolder::make(const std::string& parent, const std::string& name) {
  bool made_parent = false;
  int parents = 0;
  for (int number = 1;;) {
    const std::string path = numbered(parent, name, number);
    if (::mkdir(path.c_str(), kMode) == 0) return NewStudyFolder(path, made_parent ? parent : "");
    const int error = errno;
    if (error == EEXIST) {
      ++number;
      continue;
    }
    // The parent does not exist, or another process has just removed it.
    if (error != ENOENT || ++parents > kMaxParents) {
      const bool full = error == ENOSPC || error == EDQUOT;
      return Error{full ? Code::kResourceExhausted : Code::kIo,
                   "cannot make folder: " + std::system_category().message(error), path};
    }
    made_parent = !real_file_system().exists(parent);
    LANISTA_TRY(real_file_system().make_folder(parent));
  }
}

std::string NewStudyFolder::next_path(const std::string& parent, const std::string& name) {
  for (int number = 1;; ++number) {
    std::string path = numbered(parent, name, number);
    if (!real_file_system().exists(path)) return path;
  }
}

NewStudyFolder::~NewStudyFolder() {
  // rmdir fails for a folder that is not empty.
  if (!path_.empty() && ::rmdir(path_.c_str()) == 0 && !parent_.empty()) ::rmdir(parent_.c_str());
}

}  // namespace lanista::cli
