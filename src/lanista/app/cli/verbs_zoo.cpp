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
  auto request = std::make_shared<ZooRequest>();
  auto& verb = *zoo.add_subcommand("ls", "List the models by task, the best first.");
  add_common(verb, request->zoo, request->json);
  verb.footer(examples({"lanista zoo ls", "lanista zoo ls --zoo models --json"}));
  verb.callback([request, &code] { code = zoo_list(*request); });
}

void add_add(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooAddRequest>();
  auto& verb = *zoo.add_subcommand("add", "Add a trained model to the zoo.");
  add_model(verb, request->model);
  add_common(verb, request->zoo, request->json);
  verb.add_option("--quality", request->quality,
                  "Quality, larger is better (default: the validation metric in its package).")
      ->check(number_between(-1e300, 1e300));
  verb.add_option("--replicas", request->replicas, "Most models of one structure and task (default: 3).")
      ->check(integer_between(1, 1'000'000));
  verb.footer(examples({"lanista zoo add studies/digits-1", "lanista zoo add studies/digits-1#12 --zoo models",
                        "lanista zoo add net.onnx --task-of studies/digits-1 --quality 0.97"}));
  verb.callback([request, &code] { code = zoo_add(*request); });
}

void add_match(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooMatchRequest>();
  auto& verb = *zoo.add_subcommand("match", "Print which model a new one would start from, and how; change nothing.");
  add_model(verb, request->model);
  add_common(verb, request->zoo, request->json);
  verb.add_flag("--related", request->related, "If the task has no model: also models of other data of the same form.");
  verb.footer(
      examples({"lanista zoo match studies/digits-2#3", "lanista zoo match net.onnx --task-of studies/digits-1"}));
  verb.callback([request, &code] { code = zoo_match(*request); });
}

template <class Run>
void add_of_id(CLI::App& zoo, int& code, const char* name, const char* help, const char* example, Run run, bool pins) {
  auto request = std::make_shared<ZooRequest>();
  auto& verb = *zoo.add_subcommand(name, help);
  verb.add_option("id", request->id, "Id of a model, or the beginning of it.")->required();
  add_common(verb, request->zoo, request->json);
  if (pins) {
    auto* pin = verb.add_flag("--pin", request->pin, "Never evict or replace the model.");
    verb.add_flag("--unpin", request->unpin, "Evict or replace the model as others.")->excludes(pin);
  }
  verb.footer(examples({example}));
  verb.callback([request, run, &code] { code = run(*request); });
}

void add_verify(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooRequest>();
  auto& verb = *zoo.add_subcommand("verify", "Compare all files with their hashes; exit code 3 if one is damaged.");
  add_common(verb, request->zoo, request->json);
  verb.footer(examples({"lanista zoo verify"}));
  verb.callback([request, &code] { code = zoo_verify(*request); });
}

void add_gc(CLI::App& zoo, int& code) {
  auto request = std::make_shared<ZooGcRequest>();
  auto& verb = *zoo.add_subcommand("gc", "Remove files of no model; with a budget evict models until they fit.");
  add_common(verb, request->zoo, request->json);
  verb.add_option("--budget", request->budget, "Limit of the weights in MiB.")->check(number_between(0, 1e12));
  verb.footer(examples({"lanista zoo gc", "lanista zoo gc --budget 500"}));
  verb.callback([request, &code] { code = zoo_gc(*request); });
}

}  // namespace

void add_zoo_verbs(CLI::App& app, int& code) {
  auto& zoo = *app.add_subcommand("zoo", "Trained models as starts of new ones: ls, add, match, show, verify, rm, gc.");
  zoo.require_subcommand(1);
  zoo.footer(examples({"lanista zoo add studies/digits-1", "lanista zoo match studies/digits-2#3"}));
  add_ls(zoo, code);
  add_add(zoo, code);
  add_match(zoo, code);
  add_of_id(zoo, code, "show", "Print one model.", "lanista zoo show 1f0c", zoo_show, true);
  add_of_id(zoo, code, "rm", "Remove a model.", "lanista zoo rm 1f0c", zoo_remove, false);
  add_verify(zoo, code);
  add_gc(zoo, code);
}

}  // namespace lanista::cli
