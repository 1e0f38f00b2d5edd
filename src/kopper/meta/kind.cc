#include "kopper/meta/kind.h"

namespace kopper {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string english_plural(std::string word) {
  const auto ends = [&](std::string_view suffix) { return std::string_view(word).ends_with(suffix); };
  if (ends("s") || ends("x") || ends("z") || ends("ch") || ends("sh")) return word + "es";
  const auto vowel = [](char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; };
  if (ends("y") && word.size() > 1 && !vowel(word[word.size() - 2])) return word.substr(0, word.size() - 1) + "ies";
  return word + "s";
}

}  // namespace

std::string Kind::api_version() const {
  if (group.empty()) return std::string(version);
  return std::string(group).append("/").append(version);
}

std::string Kind::plural_name() const { return plural.empty() ? english_plural(lower(kind)) : std::string(plural); }

std::string Kind::singular_name() const { return singular.empty() ? lower(kind) : std::string(singular); }

std::string Kind::resource_name() const {
  return group.empty() ? plural_name() : plural_name().append(".").append(group);
}

}  // namespace kopper
