#pragma once

#include <string>
#include <string_view>

// What Go's JSON and YAML readers say of text that they cannot read: clients show these words, and tests look for them.
namespace kopper::plane {

// "invalid character 'x' looking for beginning of value"; "" when the text is one JSON value.
std::string go_json_error(std::string_view text);

// Of an error of json::parse_yaml(): "line 2, column 5: …" becomes "yaml: line 2: …".
std::string go_yaml_error(std::string_view what);

}  // namespace kopper::plane
