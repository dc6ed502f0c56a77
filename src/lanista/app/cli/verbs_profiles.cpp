#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

template <class Run>
CLI::App& add_verb(CLI::App& profiles, int& code, const char* name, const char* help, Run run,
                   const std::shared_ptr<ProfilesRequest>& request) {
  auto& verb = *profiles.add_subcommand(name, help);
  request->folder = default_profiles_folder();
  verb.add_option("--profiles", request->folder, "Folder of the step times (default: studies/.profiles).");
  verb.add_flag("--json", request->json, "Print JSON.");
  verb.callback([request, run, &code] { code = run(*request); });
  return verb;
}

}  // namespace

void add_profiles_verbs(CLI::App& app, int& code) {
  auto& profiles = *app.add_subcommand("profiles", "Stored step times of programs: ls, show, rm.");
  profiles.require_subcommand(1);
  profiles.footer(examples({"lanista profiles ls", "lanista plan study.yaml --profiles studies/.profiles"}));
  auto listed = std::make_shared<ProfilesRequest>();
  add_verb(profiles, code, "ls", "List the studies, and how well their times predict others.", profiles_list, listed)
      .footer(examples({"lanista profiles ls", "lanista profiles ls --profiles times --json"}));
  auto shown = std::make_shared<ProfilesRequest>();
  auto& show = add_verb(profiles, code, "show", "Print the step times of a study's programs.", profiles_show, shown);
  show.add_option("name", shown->name, "Name of a study in `ls`, or the beginning of it.")->required();
  show.footer(examples({"lanista profiles show 01764"}));
  auto removed = std::make_shared<ProfilesRequest>();
  auto& rm = add_verb(profiles, code, "rm", "Remove the times of a study.", profiles_remove, removed);
  auto* name = rm.add_option("name", removed->name, "Name of a study in `ls`, or the beginning of it.");
  auto* all = rm.add_flag("--all", removed->all, "Remove everything, damaged files included.");
  name->excludes(all);
  rm.footer(examples({"lanista profiles rm 01764", "lanista profiles rm --all"}));
  rm.callback([removed, &code] {
    if (removed->name.empty() && !removed->all) throw CLI::RequiredError("name, or --all");
    code = profiles_remove(*removed);
  });
}

}  // namespace lanista::cli
