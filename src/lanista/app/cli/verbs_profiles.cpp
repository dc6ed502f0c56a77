#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

template <class Run>
std::pair<CLI::App&, ProfilesRequest&> add_profiles_verb(CLI::App& profiles, int& code, const char* name,
                                                         const char* help, std::initializer_list<const char*> lines,
                                                         Run run) {
  auto [verb, request] = add_verb<ProfilesRequest>(profiles, code, name, help, lines, run);
  request.folder = default_profiles_folder();
  verb.add_option("--profiles", request.folder, "Folder of the step times (default: studies/.profiles).");
  verb.add_flag("--json", request.json, "Print JSON.");
  return {verb, request};
}

}  // namespace

void add_profiles_verbs(CLI::App& app, int& code) {
  auto& profiles = *app.add_subcommand("profiles", "Stored step times of programs: ls, show, rm.");
  profiles.require_subcommand(1);
  profiles.footer(examples({"lanista profiles ls", "lanista plan study.yaml --profiles studies/.profiles"}));
  add_profiles_verb(profiles, code, "ls", "List the studies, and how well their times predict others.",
                    {"lanista profiles ls", "lanista profiles ls --profiles times --json"}, profiles_list);
  auto [show, shown] = add_profiles_verb(profiles, code, "show", "Print the step times of a study's programs.",
                                         {"lanista profiles show 01764"}, profiles_show);
  show.add_option("name", shown.name, "Name of a study in `ls`, or the beginning of it.")->required();
  auto [rm, removed] =
      add_profiles_verb(profiles, code, "rm", "Remove the times of a study.",
                        {"lanista profiles rm 01764", "lanista profiles rm --all"}, [](const ProfilesRequest& request) {
                          if (request.name.empty() && !request.all) throw CLI::RequiredError("name, or --all");
                          return profiles_remove(request);
                        });
  auto* name = rm.add_option("name", removed.name, "Name of a study in `ls`, or the beginning of it.");
  auto* all = rm.add_flag("--all", removed.all, "Remove everything, damaged files included.");
  name->excludes(all);
}

}  // namespace lanista::cli
