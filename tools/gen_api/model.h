#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "document.h"

namespace kopper::gen {

// A member of a generated struct and its row in the field table.
struct Member {
  std::string name;  // in C++
  std::string json;
  std::string type;
  std::string initial{};  // what {} holds in the struct
  bool required = false;
  bool omit_zero = false;
  std::string topology{};  // "", Atomic, Set, Map, Granular
  std::vector<std::string> map_keys{};
  bool patch_merge = false;
  bool patch_retain_keys = false;
  std::string patch_merge_key{};
  std::string default_json{};
};

struct Kind {
  GroupVersionKind gvk;
  std::string plural;
  bool namespaced = true;
};

struct Struct {
  std::string name;
  std::optional<Kind> kind{};
  std::vector<Member> members{};
};

// One API group in one version: one header, one namespace.
struct Group {
  std::string file;                  // core_v1
  std::string namespace_;            // corev1
  std::vector<Struct> structs{};     // each after what it holds
  std::set<std::string> includes{};  // other headers that its members need
};

// schema name → JSON names of its properties in the order that the server writes them.
using Order = std::map<std::string, std::vector<std::string>, std::less<>>;
// "schema: a b c", one a line; '#' starts a comment.
Order read_order(const std::filesystem::path& file);

struct Options {
  std::set<std::string> groups{};  // "apps/v1"; empty: every group with a kind that the library does not have
  std::string namespace_ = "kopper::api";
  std::string include = "kopper/api/gen";  // where users include the output from
  bool definitions = false;                // also write the schemas themselves
};

std::vector<Group> build_model(const Document& document, const Order& order, const Options& options);

// A name that C++ accepts for a JSON name: template → template_, x-y → x_y.
std::string identifier(std::string_view json);

}  // namespace kopper::gen
