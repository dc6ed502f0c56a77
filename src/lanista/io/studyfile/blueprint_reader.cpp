#include "lanista/io/studyfile/blueprint.h"

#include <algorithm>
#include <map>

#include "lanista/io/studyfile/json_mapping.h"
#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::studyfile {
namespace {

using nlohmann::json;
using namespace mutate;

constexpr std::size_t kMaxDepth = 64;

/// A text with commas inside calls. YAML's flow style ends a value at a comma, so protect_calls() wrote semicolons.
std::string with_commas(std::string text) {
  std::ranges::replace(text, ';', ',');
  return text;
}

/// Reads the tree. It records the key in the file of every block of the blueprint.
class BlueprintReader {
 public:
  BlueprintReader(const graph::OpTable& ops, std::int64_t rules) : ops_(ops), rules_(rules) {}

  Result<Blueprint> read(const json& space) {
    LANISTA_TRY(check_keys(space, "", {"choices", "layers"}));
    if (!space.contains("layers")) return value_error("", "a space of models needs 'layers'");
    LANISTA_ASSIGN(auto choices, read_choices(space, ""));
    LANISTA_ASSIGN(Chain layers, read_chain(space["layers"], "layers", "layers"));
    for (const ValueChoice& choice : choices) block_paths_["choices." + choice.label] = "choices." + choice.label;
    auto made = Blueprint::make(ops_, std::move(layers), std::move(choices));
    if (made) return made;
    Error error = std::move(made).error();
    const auto known = block_paths_.find(error.where);
    return Error{error.code, error.message, known == block_paths_.end() ? "layers" : known->second};
  }

 private:
  static Result<Join> reduce(const json& map, const std::string& path, Join fallback) {
    LANISTA_ASSIGN(const std::string word, member<std::string>(map, "reduce", path, ""));
    if (word.empty()) return fallback;
    const std::vector<std::pair<std::string, Join>> known{
        {"sum", Join::kSum}, {"mean", Join::kMean}, {"concat", Join::kConcat}, {"mul", Join::kMul}};
    for (const auto& [name, join] : known) {
      if (word == name) return join;
    }
    return value_error(join_path(path, "reduce"), "'" + word + "' is not allowed; allowed: sum, mean, concat, mul");
  }

  Result<space::Domain> read_domain(const json& value, const std::string& path) const {
    if (value.is_array()) {
      space::Categorical out;
      for (const json& item : value) {
        auto read = space::value_from_json(item);
        if (!read) return value_error(path, quote_value(item) + " is no value to choose");
        out.values.push_back(*std::move(read));
      }
      return space::Domain(std::move(out));
    }
    std::string call = value.is_string() ? value.get<std::string>() : "";
    if (value.is_object() && value.size() == 1 && value.begin()->is_array()) {
      call = value.begin().key() + "(";
      for (const json& item : *value.begin()) call += (call.back() == '(' ? "" : ",") + quote_value(item);
      call += ")";
    }
    if (value.is_number_integer()) {
      const auto fixed = value.get<std::int64_t>();
      return space::Domain(space::IntRange{fixed, fixed});
    }
    const auto parsed = parse_domain(call, rules_);
    if (!parsed) {
      return value_error(path, quote_value(value) + " is neither a list of values nor a range such as int(1, 3)");
    }
    if (!*parsed) return value_error(path, parsed->error().message);
    return **parsed;
  }

  Result<std::vector<ValueChoice>> read_choices(const json& map, const std::string& path) const {
    std::vector<ValueChoice> out;
    const auto it = map.find("choices");
    if (it == map.end()) return out;
    const std::string inner = join_path(path, "choices");
    if (!it->is_object()) return value_error(inner, "a mapping from name to values is wanted");
    for (const auto& [name, value] : it->items()) {
      LANISTA_ASSIGN(auto domain, read_domain(value, inner + "." + name));
      out.push_back({name, std::move(domain)});
    }
    return out;
  }

  Result<Chain> read_chain(const json& list, const std::string& path, const std::string& block_key) {
    if (++depth_ > kMaxDepth) return value_error(path, "blocks stand too deep in one another");
    if (!list.is_array()) return value_error(path, "a list of blocks is wanted, not " + quote_value(list));
    Chain chain;
    for (std::size_t i = 0; i < list.size(); ++i) {
      LANISTA_ASSIGN(chain.emplace_back(), read_block(list[i], path + "[" + std::to_string(i) + "]", block_key, i));
    }
    --depth_;
    return chain;
  }

  Result<Block> read_block(const json& item, const std::string& path, const std::string& chain, std::size_t index) {
    const auto remember = [&](const Block& head) {
      const std::string block_key = block_path(chain, index, head);
      block_paths_[block_key] = path;
      return block_key;
    };
    if (item.is_string()) {
      Block block = layer(item.get<std::string>());
      remember(block);
      return block;
    }
    if (!item.is_object()) {
      return value_error(path, "a block is an operator's name or a mapping, not " + quote_value(item));
    }
    Block block;
    LANISTA_ASSIGN(block.name, member<std::string>(item, "name", path, ""));
    LANISTA_ASSIGN(block.from, read_text_list(item, "from", path));
    std::vector<std::string> heads;
    for (const auto& [key, value] : item.items()) {
      if (key != "name" && key != "from" && key != "label" && key != "then" && key != "else") heads.push_back(key);
    }
    if (heads.empty() && !block.name.empty() && !block.from.empty()) heads = {"layers"};
    if (heads.size() != 1) {
      return value_error(path, heads.empty() ? "the block has no operation"
                                             : "'" + heads[0] + "' and '" + heads[1] + "' in one block; one is wanted");
    }
    const std::string& head = heads.front();
    const json empty = json::object();
    const json& body = item.contains(head) ? item[head] : empty;
    const std::string inner = join_path(path, head);
    const auto given_keys = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"name", "from", head});
      return check_keys(item, path, more);
    };
    if (head == "if") {
      LANISTA_TRY(given_keys({"then", "else"}));
      return read_when(item, path, std::move(block), remember);
    }
    if (head == "layers") {
      LANISTA_TRY(given_keys({}));
      block.what = Group{};
      const std::string block_key = remember(block);
      if (item.contains("layers")) {
        LANISTA_ASSIGN(std::get<Group>(block.what).layers, read_chain(body, inner, block_key));
      }
      return block;
    }
    if (head == "choice") return read_choice(body, inner, std::move(block), remember);
    if (head == "inputs") return read_inputs(body, inner, std::move(block), remember);
    if (head == "repeat") return read_repeat(body, inner, std::move(block), remember);
    if (head == "parallel") return read_parallel(body, inner, std::move(block), remember);
    if (head == "cell") return read_cell(body, inner, std::move(block), remember);
    LANISTA_TRY(given_keys({"label"}));
    Layer own{head, {}, {}};
    LANISTA_ASSIGN(own.label, member<std::string>(item, "label", path, ""));
    block.what = own;
    remember(block);
    if (!body.is_null() && !body.is_object()) return value_error(inner, "the settings of " + head + " are a mapping");
    for (const auto& [name, value] : body.items()) {
      LANISTA_ASSIGN(auto setting, read_setting(head, name, value, join_path(inner, name)));
      std::get<Layer>(block.what).attrs.emplace_back(name, std::move(setting));
    }
    return block;
  }

  Result<Setting> read_setting(const std::string& op, const std::string& name, const json& value,
                               const std::string& path) const {
    if (value.is_boolean()) return Setting(value.get<bool>());
    if (value.is_number_integer()) return Setting(value.get<std::int64_t>());
    if (value.is_number()) return Setting(value.get<double>());
    if (value.is_string()) return read_text(op, name, with_commas(value.get<std::string>()), path);
    if (value.is_array()) {
      std::vector<std::int64_t> numbers;
      std::vector<Formula> formulas;
      for (const json& item : value) {
        if (item.is_number_integer()) numbers.push_back(item.get<std::int64_t>());
        if (!item.is_number_integer() && !item.is_string()) {
          return value_error(path, quote_value(item) + " is no whole number; to choose one of several values, write " +
                                       name + ": {label: " + name + ", of: " + quote_value(value) + "}");
        }
        formulas.push_back(formula(item.is_string() ? with_commas(item.get<std::string>()) : quote_value(item)));
      }
      return numbers.size() == value.size() ? Setting(std::move(numbers)) : Setting(std::move(formulas));
    }
    LANISTA_TRY(check_keys(value, path, {"label", "of", "formula"}));
    if (value.contains("formula")) {
      LANISTA_ASSIGN(const std::string formula_text, text(value, "formula", path));
      return Setting(formula(with_commas(formula_text)));
    }
    LANISTA_ASSIGN(std::string label, text(value, "label", path));
    if (!value.contains("of")) return value_error(path, "'of' is missing: the values to choose among");
    LANISTA_ASSIGN(auto domain, read_domain(value["of"], join_path(path, "of")));
    return Setting(ValueChoice{std::move(label), std::move(domain)});
  }
  /// Reads a text as a text where the attribute is one, else as a formula.
  Result<Setting> read_text(const std::string& op, const std::string& name, const std::string& value,
                            const std::string& path) const {
    const graph::OpDef* def = ops_.find(op);
    bool is_text = name == "padding" && value == "same";
    for (const graph::AttrSpec& spec : def == nullptr ? std::vector<graph::AttrSpec>{} : def->attrs) {
      is_text = is_text || (spec.name == name && std::holds_alternative<std::string>(spec.default_value));
    }
    if (is_text) return Setting(value);
    if (const auto domain = parse_domain(value); domain && *domain) {
      return value_error(path, "a choice on the spot needs a label: {label: NAME, of: " + value + "}");
    }
    return Setting(formula(value));
  }

  template <class Remember>
  Result<Block> read_when(const json& item, const std::string& path, Block block, const Remember& remember) {
    LANISTA_ASSIGN(const std::string condition, text(item, "if", path));
    block.what = When{formula(with_commas(condition)), {}, {}};
    const std::string block_key = remember(block);
    auto& when = std::get<When>(block.what);
    if (item.contains("then")) {
      LANISTA_ASSIGN(when.then, read_chain(item["then"], join_path(path, "then"), block_key + ".then"));
    }
    if (item.contains("else")) {
      LANISTA_ASSIGN(when.otherwise, read_chain(item["else"], join_path(path, "else"), block_key + ".else"));
    }
    return block;
  }

  Result<std::vector<Option>> read_options(const json& list, const std::string& path, const std::string& block_key) {
    if (!list.is_array()) return value_error(path, "a list of options is wanted, not " + quote_value(list));
    std::vector<Option> options;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& item = list[i];
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (item.is_string() && item == "skip") {
        options.push_back({"skip", {}});
      } else if (item.is_object() && item.contains("layers") && item.contains("name")) {
        LANISTA_TRY(check_keys(item, at, {"name", "layers"}));
        Option option;
        LANISTA_ASSIGN(option.name, text(item, "name", at));
        LANISTA_ASSIGN(option.layers, read_chain(item["layers"], at + ".layers", block_key + "." + option.name));
        options.push_back(std::move(option));
      } else {
        // One operator is an option with its name.
        json plain = item;
        std::string name = item.is_string() ? item.get<std::string>() : "";
        if (item.is_object() && item.contains("name")) {
          LANISTA_ASSIGN(name, text(item, "name", at));
          plain.erase("name");
        }
        LANISTA_ASSIGN(Block block, read_block(plain, at, block_key + "." + name, 0));
        const auto* own = std::get_if<Layer>(&block.what);
        if (name.empty() && own != nullptr) name = own->op;
        if (name.empty()) return value_error(at, "the option needs a name: {name: NAME, layers: [...]}");
        options.push_back({name, {std::move(block)}});
      }
    }
    return options;
  }

  template <class Remember>
  Result<Block> read_choice(const json& body, const std::string& path, Block block, const Remember& remember) {
    LANISTA_TRY(check_keys(body, path, {"label", "of"}));
    LayerChoice choice;
    LANISTA_ASSIGN(choice.label, text(body, "label", path));
    if (!body.contains("of")) return value_error(path, "'of' is missing: the options");
    block.what = choice;
    const std::string block_key = remember(block);
    LANISTA_ASSIGN(std::get<LayerChoice>(block.what).options, read_options(body["of"], path + ".of", block_key));
    return block;
  }

  template <class Remember>
  Result<Block> read_inputs(const json& body, const std::string& path, Block block, const Remember& remember) {
    LANISTA_TRY(check_keys(body, path, {"label", "from", "choose", "reduce", "always"}));
    InputChoice choice;
    LANISTA_ASSIGN(choice.label, text(body, "label", path));
    LANISTA_ASSIGN(choice.from, read_text_list(body, "from", path));
    LANISTA_ASSIGN(choice.always, read_text_list(body, "always", path));
    LANISTA_ASSIGN(choice.join, reduce(body, path, Join::kSum));
    const json choose = body.value("choose", json(1));
    if (choose == json("any")) {
      choice.min_count = choice.always.empty() ? 1 : 0;
      choice.most = static_cast<std::int64_t>(choice.from.size());
    } else if (choose.is_array() && choose.size() == 2 && choose[0].is_number_integer() &&
               choose[1].is_number_integer()) {
      choice.min_count = choose[0].get<std::int64_t>();
      choice.most = choose[1].get<std::int64_t>();
    } else if (choose.is_number_integer()) {
      choice.min_count = choice.most = choose.get<std::int64_t>();
    } else {
      return value_error(path + ".choose", quote_value(choose) + " is not allowed; a number, [fewest, most], or any");
    }
    block.what = std::move(choice);
    remember(block);
    return block;
  }

  template <class Remember>
  Result<Block> read_repeat(const json& body, const std::string& path, Block block, const Remember& remember) {
    LANISTA_TRY(check_keys(body, path, {"label", "depth", "layers", "each", "index", "choices"}));
    Repeat repeat;
    LANISTA_ASSIGN(repeat.label, member<std::string>(body, "label", path, ""));
    LANISTA_ASSIGN(repeat.index, member<std::string>(body, "index", path, ""));
    LANISTA_ASSIGN(const std::string each, member<std::string>(body, "each", path, "shared"));
    if (each != "shared" && each != "own") {
      return value_error(path + ".each", "'" + each + "' is not allowed; allowed: shared, own");
    }
    repeat.own = each == "own";
    if (!body.contains("depth")) return value_error(path, "'depth' is missing: a number, or int(1, 3)");
    LANISTA_ASSIGN(repeat.depth, read_domain(body["depth"], path + ".depth"));
    LANISTA_ASSIGN(repeat.choices, read_choices(body, path));
    block.what = std::move(repeat);
    const std::string block_key = remember(block);
    if (!body.contains("layers")) return value_error(path, "'layers' is missing");
    LANISTA_ASSIGN(std::get<Repeat>(block.what).layers, read_chain(body["layers"], path + ".layers", block_key));
    return block;
  }

  template <class Remember>
  Result<Block> read_parallel(const json& body, const std::string& path, Block block, const Remember& remember) {
    LANISTA_TRY(check_keys(body, path, {"branches", "reduce"}));
    Parallel parallel;
    LANISTA_ASSIGN(parallel.join, reduce(body, path, Join::kSum));
    block.what = parallel;
    const std::string block_key = remember(block);
    const json branches = body.value("branches", json::array());
    if (!branches.is_array()) return value_error(path + ".branches", "a list of chains is wanted");
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::string at = ".branches[" + std::to_string(i) + "]";
      LANISTA_ASSIGN(std::get<Parallel>(block.what).branches.emplace_back(),
                     read_chain(branches[i], path + at, block_key + at));
    }
    return block;
  }

  template <class Remember>
  Result<Block> read_cell(const json& body, const std::string& path, Block block, const Remember& remember) {
    LANISTA_TRY(check_keys(body, path, {"label", "nodes", "inputs", "of", "previous", "distinct", "join", "reduce"}));
    Cell cell;
    LANISTA_ASSIGN(cell.label, text(body, "label", path));
    LANISTA_ASSIGN(cell.nodes, member<std::int64_t>(body, "nodes", path, cell.nodes));
    LANISTA_ASSIGN(cell.inputs, member<std::int64_t>(body, "inputs", path, cell.inputs));
    LANISTA_ASSIGN(cell.previous, read_text_list(body, "previous", path));
    LANISTA_ASSIGN(cell.distinct, member<bool>(body, "distinct", path, false));
    LANISTA_ASSIGN(const std::string ends, member<std::string>(body, "join", path, "all"));
    if (ends != "all" && ends != "loose_end") {
      return value_error(path + ".join", "'" + ends + "' is not allowed; allowed: all, loose_end");
    }
    cell.joins_unread_nodes = ends == "loose_end";
    LANISTA_ASSIGN(cell.join, reduce(body, path, Join::kConcat));
    block.what = std::move(cell);
    const std::string block_key = remember(block);
    if (!body.contains("of")) return value_error(path, "'of' is missing: the operators");
    LANISTA_ASSIGN(std::get<Cell>(block.what).ops, read_options(body["of"], path + ".of", block_key));
    return block;
  }

  const graph::OpTable& ops_;
  std::int64_t rules_;
  std::map<std::string, std::string> block_paths_;  // key in the file, by block of the blueprint
  std::size_t depth_ = 0;
};

}  // namespace

Result<Blueprint> read_blueprint(const graph::OpTable& ops, const json& space, std::int64_t rules) {
  return BlueprintReader(ops, rules).read(space);
}

}  // namespace lanista::studyfile
