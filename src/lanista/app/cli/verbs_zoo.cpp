#include "lanista/app/cli/verbs.h"
#include "lanista/app/cli/zoo_verbs.h"

namespace lanista::cli {
namespace {

void add_common(CLI::App& verb, std::string& zoo, bool& json) {
  zoo = "zoo";
  verb.add_option("--zoo", zoo, "Folder of the zoo (default: zoo).");
  verb.add_flag("--json", json, "Print JSON.");
}

void add_model(CLI::App& verb, ZooModel& model) {
  verb.add_option("model", model.target, "Package, DIR, DIR#TRIAL, MODEL.onnx, or with --graph weights.safetensors.")
      ->required();
  verb.add_option("--graph", model.graph, "Graph file of the safetensors.");
  verb.add_option("--task-of", model.task_of,
                  "Package or study with the data that the model is for (default: its own).");
}

void add_ls(CLI::App& zoo, int& code) {
  auto [verb, request] = add_verb<ZooRequest>(zoo, code, "ls", "List the models by task, the best first.",
                                              {"lanista zoo ls", "lanista zoo ls --zoo models --json"}, zoo_list);
  add_common(verb, request.zoo, request.json);
}

void add_add(CLI::App& zoo, int& code) {
  auto [verb, request] =
      add_verb<ZooAddRequest>(zoo, code, "add", "Add a trained model to the zoo.",
                              {"lanista zoo add studies/digits-1", "lanista zoo add studies/digits-1#12 --zoo models",
                               "lanista zoo add net.onnx --task-of studies/digits-1 --quality 0.97"},
                              zoo_add);
  add_model(verb, request.model);
  add_common(verb, request.zoo, request.json);
  verb.add_option("--quality", request.quality,
                  "Quality, larger is better (default: the validation metric in its package).")
      ->check(number_between(-1e300, 1e300));
  verb.add_option("--replicas", request.replicas, "Most models of one structure and task (default: 3).")
      ->check(integer_between(1, 1'000'000));
}

void add_match(CLI::App& zoo, int& code) {
  auto [verb, request] = add_verb<ZooMatchRequest>(
      zoo, code, "match", "Print which model a new one would start from, and how; change nothing.",
      {"lanista zoo match studies/digits-2#3", "lanista zoo match net.onnx --task-of studies/digits-1"}, zoo_match);
  add_model(verb, request.model);
  add_common(verb, request.zoo, request.json);
  verb.add_flag("--related", request.related, "If the task has no model: also models of other data of the same form.");
}

template <class Run>
void add_of_id(CLI::App& zoo, int& code, const char* name, const char* help, const char* example, Run run, bool pins) {
  auto [verb, request] = add_verb<ZooRequest>(zoo, code, name, help, {example}, run);
  verb.add_option("id", request.id, "Id of a model, or the beginning of it.")->required();
  add_common(verb, request.zoo, request.json);
  if (pins) {
    auto* pin = verb.add_flag("--pin", request.pin, "Never evict or replace the model.");
    verb.add_flag("--unpin", request.unpin, "Evict or replace the model as others.")->excludes(pin);
  }
}

void add_verify(CLI::App& zoo, int& code) {
  auto [verb, request] =
      add_verb<ZooRequest>(zoo, code, "verify", "Compare all files with their hashes; exit code 3 if one is damaged.",
                           {"lanista zoo verify"}, zoo_verify);
  add_common(verb, request.zoo, request.json);
}

void add_gc(CLI::App& zoo, int& code) {
  auto [verb, request] =
      add_verb<ZooGcRequest>(zoo, code, "gc", "Remove files of no model; with a budget evict models until they fit.",
                             {"lanista zoo gc", "lanista zoo gc --budget 500"}, zoo_gc);
  add_common(verb, request.zoo, request.json);
  verb.add_option("--budget", request.budget, "Limit of the weights in MiB.")->check(number_between(0, 1e12));
}

}  // namespace

void add_zoo_verbs(CLI::App& app, int& code) {
  auto& zoo = *app.add_subcommand("zoo", "Trained models as starts of new ones: ls, add, match, show, verify, rm, gc.");
  zoo.require_subcommand(1);
  zoo.footer(examples({"lanista zoo add studies/digits-1", "lanista zoo match studies/digits-2#3"}));
  for (const auto add : {add_ls, add_add, add_match}) add(zoo, code);
  add_of_id(zoo, code, "show", "Print one model.", "lanista zoo show 1f0c", zoo_show, true);
  add_of_id(zoo, code, "rm", "Remove a model.", "lanista zoo rm 1f0c", zoo_remove, false);
  for (const auto add : {add_verify, add_gc}) add(zoo, code);
}

}  // namespace lanista::cli
