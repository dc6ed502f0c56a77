#include "lanista/app/cli/completion.h"

#include "lanista/app/cli/command_text.h"
#include "lanista/base/check.h"

namespace lanista::cli {
namespace {

std::string join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// All words that may follow a verb: verbs below it, options, fixed values of positionals.
std::vector<std::string> next_words(const VerbText& verb) {
  std::vector<std::string> words = verb.verbs, names;
  for (const auto& option : verb.options) {
    if (option.positional) words.insert(words.end(), option.allowed.begin(), option.allowed.end());
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  words.insert(words.end(), names.begin(), names.end());
  return words;
}

std::string bash_script(const std::vector<VerbText>& verbs) {
  std::vector<std::string> steps;
  std::string cases;
  for (const auto& verb : verbs) {
    const std::string path = join(verb.path, " ");
    if (!path.empty()) steps.push_back("'" + path + "'");
    cases += "    '" + path + "') words='" + join(next_words(verb), " ") + "';;\n";
  }
  return "# bash completion for lanista\n"
         "_lanista() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} path='' word words=''\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"${path:+$path }$word\" in\n"
         "      " +
         join(steps, "|") +
         ") path=\"${path:+$path }$word\";;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  # No word after the verb: complete files; options begin with a dash.\n"
         "  if [[ -n $current || $words != -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _lanista lanista\n";
}

std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

// Replaces single quotes by typographic ones, since a single-quoted word of the shell cannot contain one.
std::string plain(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos;) text.replace(at, 1, "’");
  return text;
}

std::string zsh_option(const OptionText& option) {
  const std::string values = option.allowed.empty() ? "_files" : "(" + join(option.allowed, " ") + ")";
  if (option.positional) return " '*:" + option.names.front() + ":" + values + "'";
  std::string out;
  for (const auto& name : option.names) {
    out += " '*" + name + "[" + plain(escaped(option.help, "[]:")) + "]" +
           (option.takes_value ? ":value:" + values : "") + "'";
  }
  return out;
}

std::string zsh_script(const std::vector<VerbText>& verbs) {
  std::string cases;
  for (const auto& verb : verbs) {
    std::string body;
    if (!verb.verbs.empty()) {
      body = "      verbs=(";
      for (const auto& below : verbs) {
        const bool child = below.path.size() == verb.path.size() + 1 &&
                           std::equal(verb.path.begin(), verb.path.end(), below.path.begin());
        if (child) body += "\n        '" + below.path.back() + ":" + plain(escaped(below.help, ":")) + "'";
      }
      body += ")\n      [[ $PREFIX == -* ]] || { _describe verb verbs; return; }\n";
    }
    body += "      _arguments";
    for (const auto& option : verb.options) body += " \\\n       " + zsh_option(option);
    cases += "    '" + join(verb.path, " ") + "')\n" + body + ";;\n";
  }
  std::vector<std::string> steps;
  for (const auto& verb : verbs) {
    if (!verb.path.empty()) steps.push_back("'" + join(verb.path, " ") + "'");
  }
  return "#compdef lanista\n"
         "_lanista() {\n"
         "  local -a verbs\n"
         "  local place='' word\n"
         "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
         "    case \"${place:+$place }$word\" in\n"
         "      " +
         join(steps, "|") +
         ") place=\"${place:+$place }$word\";;\n"
         "    esac\n"
         "  done\n"
         "  case \"$place\" in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _lanista ]]; then _lanista \"$@\"; else compdef _lanista lanista; fi\n";
}

std::string fish_condition(const VerbText& verb) {
  if (verb.path.empty()) return "__fish_use_subcommand";
  std::string text = "__fish_seen_subcommand_from " + verb.path.front();
  for (std::size_t i = 1; i < verb.path.size(); ++i) text += "; and __fish_seen_subcommand_from " + verb.path[i];
  return text;
}

std::string fish_script(const std::vector<VerbText>& verbs) {
  std::string out = "# fish completion for lanista\n";
  for (const auto& verb : verbs) {
    if (!verb.path.empty()) {
      const VerbText above{
          .path = {verb.path.begin(), verb.path.end() - 1}, .help = {}, .footer = {}, .options = {}, .verbs = {}};
      out += "complete -c lanista -f -n '" + fish_condition(above) + "' -a '" + verb.path.back() + "' -d '" +
             plain(verb.help) + "'\n";
    }
    for (const auto& option : verb.options) {
      if (option.positional && option.allowed.empty()) continue;
      out += "complete -c lanista -n '" + fish_condition(verb) + "'";
      if (option.positional) out += " -f -a '" + join(option.allowed, " ") + "'";
      for (const auto& name : option.positional ? std::vector<std::string>() : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      out += std::string(option.takes_value ? " -r" : "") + " -d '" + plain(option.help) + "'\n";
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const auto verbs = command_text(app);
  if (shell == "bash") return bash_script(verbs);
  if (shell == "zsh") return zsh_script(verbs);
  LANISTA_CHECK(shell == "fish", "there is no completion for " + shell);
  return fish_script(verbs);
}

}  // namespace lanista::cli
