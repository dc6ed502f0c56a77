#include "lanista/app/cli/profiles_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

template <class Run>
CLI::App& add_verb(CLI::App& profiles, int& code, const char* name, const char* help, Run run,
                   const std::shared_ptr<ProfilesRequest>& request) {
  auto& verb = *profiles.add_subcommand(name, help);
  request->folder = default_profiles_folder();
  verb.add_option("--profiles", request->folder, "folder of the times (default: studies/.profiles)");
  verb.add_flag("--json", request->json, "JSON on stdout");
  verb.callback([request, run, &code] { code = run(*request); });
  return verb;
}

}  // namespace

void add_profiles_verbs(CLI::App& app, int& code) {
  auto& profiles = *app.add_subcommand("profiles", "times of programs that studies remember: list, show, remove");
  profiles.require_subcommand(1);
  profiles.footer(examples({"lanista profiles ls", "lanista plan study.yaml --profiles studies/.profiles"}));
  auto listed = std::make_shared<ProfilesRequest>();
  add_verb(profiles, code, "ls", "studies, and how well what they took predicts others", profiles_list, listed)
      .footer(examples({"lanista profiles ls", "lanista profiles ls --profiles times --json"}));
  auto shown = std::make_shared<ProfilesRequest>();
  auto& show = add_verb(profiles, code, "show", "what the programs of a study took", profiles_show, shown);
  show.add_option("name", shown->name, "a study's name in `ls`, or enough of its beginning")->required();
  show.footer(examples({"lanista profiles show 01764"}));
  auto removed = std::make_shared<ProfilesRequest>();
  auto& rm = add_verb(profiles, code, "rm", "forget what a study took", profiles_remove, removed);
  auto* name = rm.add_option("name", removed->name, "a study's name in `ls`, or enough of its beginning");
  auto* all = rm.add_flag("--all", removed->all, "everything, what is damaged included");
  name->excludes(all);
  rm.footer(examples({"lanista profiles rm 01764", "lanista profiles rm --all"}));
  rm.callback([removed, &code] {
    if (removed->name.empty() && !removed->all) throw CLI::RequiredError("name, or --all");
    code = profiles_remove(*removed);
  });
}

}  // namespace lanista::cli
