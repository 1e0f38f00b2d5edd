#include "settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace redis {

namespace {

// Those that Redis 7 says of that they are immutable or protected, and lines that are no settings at all.
constexpr auto kNeedRestart = std::to_array<std::string_view>({
    "aclfile",
    "always-show-logo",
    "aof-rewrite-cpulist",
    "aof_rewrite_cpulist",
    "appenddirname",
    "appendfilename",
    "bgsave-cpulist",
    "bgsave_cpulist",
    "bio-cpulist",
    "bio_cpulist",
    "cluster-config-file",
    "cluster-enabled",
    "cluster-port",
    "daemonize",
    "databases",
    "dbfilename",
    "dir",
    "disable-thp",
    "enable-debug-command",
    "enable-module-command",
    "enable-protected-configs",
    "include",
    "io-threads",
    "io-threads-do-reads",
    "loadmodule",
    "logfile",
    "pidfile",
    "rdbchecksum",
    "rename-command",
    "replicaof",
    "server-cpulist",
    "server_cpulist",
    "set-proc-title",
    "slaveof",
    "socket-mark-id",
    "supervised",
    "syslog-enabled",
    "syslog-facility",
    "syslog-ident",
    "tcp-backlog",
    "unixsocket",
    "unixsocketperm",
    "user",
});
constexpr auto kSeveralTimes = std::to_array<std::string_view>(
    {"client-output-buffer-limit", "include", "loadmodule", "rename-command", "save", "user"});

// Lines that CONFIG GET knows nothing of.
constexpr auto kNoSettings = std::to_array<std::string_view>({"include", "loadmodule", "rename-command", "user"});

bool has(const auto& list, std::string_view name) { return std::ranges::find(list, name) != std::ranges::end(list); }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The words of a line; nothing when quotes do not match, or something stands right behind one.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line) {}

  std::optional<std::vector<std::string>> read() {
    std::vector<std::string> out;
    for (;;) {
      while (!at_end() && is_space(line_[at_])) ++at_;
      if (at_end()) return out;
      std::string word;
      while (!at_end() && !is_space(line_[at_])) {
        const char c = line_[at_++];
        if (c != '"' && c != '\'') {
          word += c;
        } else if (!quoted_part(c, word)) {
          return std::nullopt;
        }
      }
      out.push_back(std::move(word));
    }
  }

 private:
  bool at_end() const { return at_ >= line_.size(); }

  bool quoted_part(char quote, std::string& word) {
    while (!at_end()) {
      const char c = line_[at_++];
      if (c == quote) return at_end() || is_space(line_[at_]);
      if (c != '\\' || at_end() || (quote == '\'' && line_[at_] != '\'')) {
        word += c;
      } else {
        word += quote == '\'' ? line_[at_++] : escaped();
      }
    }
    return false;
  }

  char escaped() {
    const char c = line_[at_++];
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'b': return '\b';
      case 'a': return '\a';
      default: break;
    }
    if (c == 'x' && at_ + 1 < line_.size() && hex(line_[at_]) >= 0 && hex(line_[at_ + 1]) >= 0) {
      const auto value = hex(line_[at_]) * 16 + hex(line_[at_ + 1]);
      at_ += 2;
      return static_cast<char>(value);
    }
    return c;
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> split(std::string_view text) {
  return LineReader(text).read().value_or(std::vector<std::string>());
}

// "replica" is another word for "slave".
std::string class_name(std::string_view name) {
  auto out = lowered(name);
  return out == "replica" ? "slave" : out;
}

// Lines with the same key replace each other.
std::string key_of(const Setting& setting) {
  if (setting.name != "client-output-buffer-limit" || setting.words.empty()) return setting.name;
  return setting.name + ' ' + class_name(setting.words[0]);
}

// Events as single letters: A stands for most of them.
std::set<char> events(std::string_view letters) {
  constexpr std::string_view kAll = "g$lshztdxe";
  std::set<char> out;
  for (const char c : letters) {
    if (c == 'A') {
      out.insert(kAll.begin(), kAll.end());
    } else {
      out.insert(c);
    }
  }
  return out;
}

bool same_word(const std::string& a, const std::string& b) {
  if (a == b || lowered(a) == lowered(b)) return true;
  const auto x = parse_memory(a);
  return x && x == parse_memory(b);
}

bool same(std::string_view name, std::string_view a, std::string_view b) {
  if (name == "notify-keyspace-events") return events(a) == events(b);
  const auto x = split(a);
  const auto y = split(b);
  return std::ranges::equal(x, y, same_word);
}

// Of each class, hard and soft limit and seconds.
std::map<std::string, std::vector<std::string>> limits_of(const std::vector<std::string>& words) {
  std::map<std::string, std::vector<std::string>> out;
  for (std::size_t i = 0; i + 3 < words.size(); i += 4) {
    out[class_name(words[i])] = {words[i + 1], words[i + 2], words[i + 3]};
  }
  return out;
}

}  // namespace

ParsedSettings parse_settings(std::string_view text) {
  ParsedSettings out;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') continue;
    auto words = LineReader(line).read();
    if (!words) {
      out.problems.push_back(fmt::format("line {}: quotes do not match", number));
    } else if (words->size() < 2) {
      out.problems.push_back(fmt::format("line {}: {} has no value", number, words->at(0)));
    } else {
      Setting setting{lowered(words->front()), {words->begin() + 1, words->end()}};
      out.settings.push_back(std::move(setting));
    }
  }
  return out;
}

std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain = "._-:/+*,@%=[]{}~^";
  const auto plain = [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || kPlain.find(c) != kPlain.npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + '"';
}

std::string text_of(const std::vector<Setting>& settings) {
  std::string out;
  for (const auto& setting : settings) {
    out += setting.name;
    for (const auto& word : setting.words) {
      out += ' ';
      out += quoted(word);
    }
    out += '\n';
  }
  return out;
}

bool needs_restart(std::string_view name) { return has(kNeedRestart, lowered(name)); }

MergedSettings merge(const std::vector<Setting>& defaults, const std::vector<Setting>& user,
                     const std::vector<Setting>& must, const std::vector<std::string_view>& reserved) {
  MergedSettings out;
  std::set<std::string> fixed(reserved.begin(), reserved.end());
  for (const auto& setting : must) fixed.insert(setting.name);
  // An include is ours and theirs.
  fixed.erase("include");

  std::vector<Setting> theirs;
  std::set<std::string> told;
  for (const auto& setting : user) {
    if (fixed.contains(setting.name)) {
      if (told.insert(setting.name).second) out.ignored.push_back(setting.name + " is set by the operator");
      continue;
    }
    if (!has(kSeveralTimes, setting.name) || setting.name == "client-output-buffer-limit") {
      std::erase_if(theirs, [&](const Setting& earlier) { return key_of(earlier) == key_of(setting); });
    }
    theirs.push_back(setting);
  }
  for (const auto& setting : defaults) {
    const bool replaced = fixed.contains(setting.name) || std::ranges::any_of(theirs, [&](const Setting& other) {
                            return key_of(other) == key_of(setting);
                          });
    if (!replaced) out.settings.push_back(setting);
  }
  out.settings.insert(out.settings.end(), theirs.begin(), theirs.end());
  out.settings.insert(out.settings.end(), must.begin(), must.end());
  return out;
}

SettingDifferences differences(const std::vector<Setting>& wanted, const std::map<std::string, std::string>& answer) {
  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> limits;
  std::set<std::string> unknown;
  for (const auto& setting : wanted) {
    if (has(kNoSettings, setting.name)) continue;
    if (!answer.contains(setting.name)) unknown.insert(setting.name);
    if (needs_restart(setting.name)) continue;
    if (setting.name == "client-output-buffer-limit") {
      for (auto& [name, limit] : limits_of(setting.words)) limits[name] = std::move(limit);
      continue;
    }
    auto& value = values[setting.name];
    // `save ""` takes back what stood before it.
    if (setting.name == "save" && !value.empty() && !joined(setting.words).empty()) {
      value += ' ' + joined(setting.words);
    } else {
      value = joined(setting.words);
    }
  }

  SettingDifferences out;
  out.unknown.assign(unknown.begin(), unknown.end());
  for (const auto& [name, value] : values) {
    const auto now = answer.find(name);
    if (now != answer.end() && !same(name, value, now->second)) out.change.emplace_back(name, value);
  }
  if (const auto now = answer.find("client-output-buffer-limit"); now != answer.end()) {
    const auto have = limits_of(split(now->second));
    for (const auto& [name, limit] : limits) {
      const auto found = have.find(name);
      if (found != have.end() && std::ranges::equal(found->second, limit, same_word)) continue;
      out.change.emplace_back("client-output-buffer-limit", name + ' ' + joined(limit));
    }
  }
  return out;
}

std::optional<std::int64_t> parse_memory(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto unit = lowered(text.substr(static_cast<std::size_t>(end - text.data())));
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kUnits = {{{"", 1},
                                                                                {"b", 1},
                                                                                {"k", 1000},
                                                                                {"kb", 1LL << 10},
                                                                                {"m", 1000000},
                                                                                {"mb", 1LL << 20},
                                                                                {"g", 1000000000},
                                                                                {"gb", 1LL << 30}}};
  const auto found =
      std::ranges::find(kUnits, std::string_view(unit), &std::pair<std::string_view, std::int64_t>::first);
  if (found == kUnits.end()) return std::nullopt;
  if (number > std::numeric_limits<std::int64_t>::max() / found->second ||
      number < std::numeric_limits<std::int64_t>::min() / found->second) {
    return std::nullopt;
  }
  return number * found->second;
}

}  // namespace redis
