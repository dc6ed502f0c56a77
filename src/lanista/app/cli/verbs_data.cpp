#include "lanista/app/cli/data_verbs.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

constexpr const char* kSourceHelp = "Source as in a study file: kind:path?option=value.";

void add_ls(CLI::App& data, int& code) {
  auto [verb, json] =
      add_verb<bool>(data, code, "ls", "List built-in data and the kinds of sources.", {"lanista data ls"}, list_data);
  verb.add_flag("--json", json, "Print JSON.");
}

void add_check(CLI::App& data, int& code) {
  auto [verb, request] = add_verb<DataCheckRequest>(
      data, code, "check", "Read a data set, print its content and warnings; train nothing.",
      {"lanista data check 'csv:flats.csv?target=price'", "lanista data check folder:photos"}, check_data);
  verb.add_option("source", request.source, kSourceHelp)->required();
  verb.add_flag("--json", request.json, "Print JSON.");
}

void add_part(CLI::App& verb, std::string& part) {
  verb.add_option("--part", part, "Part of the default split (default: " + part + ").")
      ->check(CLI::IsMember({"train", "validation", "test", "all"}));
}

void add_rows(CLI::App& data, int& code) {
  auto [verb, request] =
      add_verb<DataRowsRequest>(data, code, "rows", "Print the row numbers of a part, from 0, one a line.",
                                {"lanista data rows 'csv:flats.csv?target=price' --part test"}, list_rows);
  verb.add_option("source", request.source, kSourceHelp)->required();
  add_part(verb, request.part);
}

void add_export(CLI::App& data, int& code) {
  auto [verb, request] = add_verb<DataExportRequest>(data, code, "export", "Write a data set in another format.",
                                                     {"lanista data export builtin:digits --folder pictures",
                                                      "lanista data export builtin:digits --npy arrays --part test"},
                                                     export_data);
  verb.add_option("source", request.source, kSourceHelp)->required();
  add_part(verb, request.part);
  verb.add_option("--csv", request.csv, "CSV file.");
  verb.add_option("--npy", request.npy, "Folder for x.npy and y.npy.");
  verb.add_option("--idx", request.idx, "Folder for files in MNIST's format.");
  verb.add_option("--folder", request.folder, "Folder for PNG images, with one folder a class.");
}

}  // namespace

void add_data_verbs(CLI::App& app, int& code) {
  auto& data = *app.add_subcommand("data", "Data sets: ls, check, rows, export.");
  data.require_subcommand(1);
  data.footer(examples({"lanista data ls", "lanista data check csv:flats.csv"}));
  for (const auto add : {add_ls, add_check, add_rows, add_export}) add(data, code);
}

}  // namespace lanista::cli
