// Completion for shells and the man page, generated from the help of the commands.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

// Called with a command and the words that lead to it.
using Visit = std::function<void(const CLI::App&, const std::vector<std::string>&)>;

void VisitCommands(const CLI::App& app, std::vector<std::string>* words, const Visit& visit) {
  visit(app, *words);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    // option groups have no name, and hidden commands no group
    if (command->get_name().empty() || command->get_group().empty()) continue;
    words->push_back(command->get_name());
    VisitCommands(*command, words, visit);
    words->pop_back();
  }
}

std::vector<const CLI::App*> ListCommands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_name().empty() && !command->get_group().empty()) commands.push_back(command);
  return commands;
}

// Options of a command, including those in its groups.
std::vector<const CLI::Option*> ListOptions(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) options.push_back(option);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!group->get_name().empty()) continue;
    for (const CLI::Option* option : group->get_options()) options.push_back(option);
  }
  return options;
}

std::string LongName(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

// Words that may follow a command: subcommands and options.
std::string ListWords(const CLI::App& app, const CLI::App& pliant) {
  std::vector<std::string> words;
  for (const CLI::App* command : ListCommands(app)) words.push_back(command->get_name());
  for (const CLI::App* of : {&app, &pliant}) {
    for (const CLI::Option* option : ListOptions(*of))
      if (const std::string name = LongName(*option); !name.empty()) words.push_back(name);
    if (&app == &pliant) break;
  }
  return absl::StrJoin(words, " ");
}

bool TakesWorld(const CLI::App& app) {
  for (const CLI::Option* option : ListOptions(app))
    if (option->get_name(true) == "world") return true;
  return false;
}

std::string Path(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ");
}

std::string MakeBash(const CLI::App& pliant) {
  std::string cases;
  std::vector<std::string> words;
  VisitCommands(pliant, &words, [&](const CLI::App& app, const std::vector<std::string>& path) {
    absl::StrAppendFormat(&cases, "    \"%s\") words='%s'; takes_world=%d ;;\n",
                          absl::StrJoin(path, "/"), ListWords(app, pliant),
                          TakesWorld(app) ? 1 : 0);
  });
  std::string commands;
  VisitCommands(pliant, &words, [&](const CLI::App&, const std::vector<std::string>& path) {
    if (!path.empty()) commands += " " + absl::StrJoin(path, "/");
  });
  constexpr char kBefore[] =
      R"sh(# Completion of `pliant` for bash: eval "$(pliant completion bash)"
_pliant() {
  local current=${COMP_WORDS[COMP_CWORD]} path="" word words="" takes_world=0 i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case "$_pliant_commands " in *" ${path:+$path/}$word "*) path=${path:+$path/}$word ;; esac
  done
  case "$path" in
)sh";
  constexpr char kAfter[] = R"sh(  esac
  if [[ $current != -* && $takes_world = 1 ]]; then
    words+=" $(pliant world list 2>/dev/null | sed -n 's,^worlds/\([a-z0-9-]*\) .*,\1,p')"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ $current == -* || ${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _pliant pliant
)sh";
  return kBefore + cases + kAfter + "_pliant_commands='" + commands + "'\n";
}

std::string MakeZsh(const CLI::App& pliant) {
  return "# Completion of `pliant` for zsh: source <(pliant completion zsh)\n"
         "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" +
         MakeBash(pliant);
}

std::string QuoteFish(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

std::string MakeFish(const CLI::App& pliant) {
  std::string text =
      "# Completion of `pliant` for fish: pliant completion fish | source\n"
      "function __pliant_worlds\n"
      "  pliant world list 2>/dev/null | string match -r -g '^worlds/([a-z0-9-]+) '\nend\n"
      "function __pliant_at\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set words (string match -v -- '-*' $words)\n"
      "  set -l n (count $argv)\n"
      "  test (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\nend\n"
      "complete -c pliant -f\n";
  std::vector<std::string> words;
  VisitCommands(pliant, &words, [&](const CLI::App& app, const std::vector<std::string>& path) {
    const std::string condition =
        path.empty() ? "" : " -n " + QuoteFish("__pliant_at " + Path(path));
    const std::string first = path.empty() ? " -n '__fish_use_subcommand'" : condition;
    for (const CLI::App* command : ListCommands(app)) {
      absl::StrAppendFormat(&text, "complete -c pliant%s -a %s -d %s\n", first, command->get_name(),
                            QuoteFish(command->get_description()));
    }
    for (const CLI::Option* option : ListOptions(app)) {
      if (option->get_lnames().empty()) continue;
      absl::StrAppendFormat(
          &text, "complete -c pliant%s -l %s%s -d %s\n", condition, option->get_lnames().front(),
          option->get_expected_max() > 0 ? " -r" : "", QuoteFish(option->get_description()));
    }
    if (TakesWorld(app)) text += "complete -c pliant" + condition + " -a '(__pliant_worlds)'\n";
  });
  return text;
}

std::string QuoteRoff(const std::string& text) {
  std::string quoted = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  // a line that begins with a dot or an apostrophe would be a request
  if (!quoted.empty() && (quoted[0] == '.' || quoted[0] == '\'')) quoted = "\\&" + quoted;
  return absl::StrReplaceAll(quoted, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
}

std::string MakeMan(const CLI::App& pliant) {
  std::string text = ".TH PLIANT 1 \"\" \"pliant " PLIANT_VERSION
                     "\" \"Pliant\"\n.SH NAME\npliant \\- " +
                     QuoteRoff(pliant.get_description()) +
                     "\n.SH SYNOPSIS\n.B pliant\n[OPTIONS] COMMAND ...\n.SH COMMANDS\n";
  const auto add_options = [&](const CLI::App& app) {
    for (const CLI::Option* option : ListOptions(app)) {
      const std::string name = option->get_name(false, true);
      const std::string shown = name.empty() ? option->get_name(true) : name;
      absl::StrAppendFormat(&text, ".TP\n.B %s\n%s\n", QuoteRoff(shown),
                            QuoteRoff(option->get_description()));
    }
  };
  std::vector<std::string> words;
  VisitCommands(pliant, &words, [&](const CLI::App& app, const std::vector<std::string>& path) {
    if (path.empty() || !ListCommands(app).empty()) return;
    absl::StrAppendFormat(&text, ".SS pliant %s\n%s\n", QuoteRoff(Path(path)),
                          QuoteRoff(app.get_description()));
    add_options(app);
  });
  text += ".SH OPTIONS\n";
  add_options(pliant);
  text += ".SH NOTES\n.nf\n" + QuoteRoff(pliant.get_footer()) + "\n.fi\n";
  return text;
}

}  // namespace

void AddHelpCommands(CLI::App* pliant, Action* action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      pliant->add_subcommand("completion", "Print the completion of a shell: bash, zsh or fish");
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([=] {
    *action = [=] {
      Print(*shell == "bash"  ? MakeBash(*pliant)
            : *shell == "zsh" ? MakeZsh(*pliant)
                              : MakeFish(*pliant));
      return kDone;
    };
  });
  CLI::App* man = pliant->add_subcommand("man", "Print the man page: pliant man | man -l -");
  man->callback([=] {
    *action = [=] {
      Print(MakeMan(*pliant));
      return kDone;
    };
  });
}

}  // namespace pliant::clients
