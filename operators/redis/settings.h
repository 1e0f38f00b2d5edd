#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What stands in redis.conf. Pure.

namespace redis {

// A line: its first word in small letters, and the others.
struct Setting {
  std::string name;
  std::vector<std::string> words;

  friend bool operator==(const Setting&, const Setting&) = default;
};

struct ParsedSettings {
  std::vector<Setting> settings;      // in order
  std::vector<std::string> problems;  // "line 3: quotes do not match"; such lines are left out
};
// Reads as Redis does: '#' starts a comment line, "a b" and 'a b' are one word each, with escapes.
ParsedSettings parse_settings(std::string_view text);

// As Redis reads it back, whatever bytes it has: plain where that is possible, else in double quotes.
std::string quoted(std::string_view word);
std::string text_of(const std::vector<Setting>& settings);

// True when a running Redis does not take it: a pod must be started anew.
bool needs_restart(std::string_view name);

struct MergedSettings {
  std::vector<Setting> settings;
  std::vector<std::string> ignored;  // "port is set by the operator"
};
// `must` wins over `user`, and that over `defaults`. Settings of `reserved` are not taken from the user either.
// Of lines that may stand several times (save, client-output-buffer-limit …) a layer replaces all, or all of the same
// class; of others the last counts.
MergedSettings merge(const std::vector<Setting>& defaults, const std::vector<Setting>& user,
                     const std::vector<Setting>& must, const std::vector<std::string_view>& reserved);

struct SettingDifferences {
  std::vector<std::pair<std::string, std::string>> change;  // for CONFIG SET: name and value
  std::vector<std::string> unknown;                         // not settings of this version of Redis, sorted
};
// What must be set so that a node that answered `CONFIG GET *` like this does as `wanted` say. Amounts count by what
// they are worth (1gb is 1073741824). Settings that need a restart must be known, but are not compared.
SettingDifferences differences(const std::vector<Setting>& wanted, const std::map<std::string, std::string>& answer);

// "1gb", "100mb", "64k", "5" in bytes.
std::optional<std::int64_t> parse_memory(std::string_view text);

}  // namespace redis
