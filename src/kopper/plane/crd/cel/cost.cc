#include "kopper/plane/crd/cel/cost.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/plane/crd/constraints.h"

namespace kopper::plane::cel {
namespace {

constexpr double kRequest = 3.0 * 1024 * 1024;  // bytes

// Of the JSON of the shortest value.
double least_bytes(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::String: return schema.format.starts_with("date") ? 22 : schema.format == "duration" ? 3 : 2;
    case Schema::Type::Boolean: return 4;
    case Schema::Type::List: return 2;
    case Schema::Type::Object: {
      double out = 2;
      if (schema.members != nullptr)
        for (const Member& member : *schema.members)
          if (member.required && !member.default_value)
            out += static_cast<double>(member.name.size()) + 4 + least_bytes(*member.schema);
      return out;
    }
    default: return 1;
  }
}

class Estimate {
 public:
  explicit Estimate(const Schema& self) { scope_ = {{"self", &self}, {"oldSelf", &self}}; }

  double of(const Node& node) {
    if (node.kind == Node::Kind::Choose) return of(*node.args[0]) + std::max(of(*node.args[1]), of(*node.args[2]));
    if (node.kind == Node::Kind::Fold) return of_fold(node);
    return std::accumulate(node.args.begin(), node.args.end(), 0.0,
                           [this](double sum, const NodePtr& one) { return sum + of(*one); });
  }

 private:
  double of_fold(const Node& node) {
    const Node& range = *node.args[0];
    const double before = of(range);
    const bool loops = node.macro != Macro::OptMap && node.macro != Macro::OptFlatMap;
    const Schema* over = loops ? schema_of(range) : nullptr;
    const bool list = over != nullptr && over->type == Schema::Type::List;
    // With one variable it is the item or the key, with two the second is the item or the value.
    for (std::size_t i = 0; i < node.variables.size(); ++i) {
      const bool last = i + 1 == node.variables.size();
      const Schema* one = nullptr;
      if (list && last) one = over->items;
      if (over != nullptr && !list && i == 1) one = over->values;
      scope_.emplace_back(node.variables[i], one);
    }
    double body = 0;
    for (std::size_t i = 1; i < node.args.size(); ++i) body += of(*node.args[i]);
    scope_.resize(scope_.size() - node.variables.size());
    return before + (loops ? size_of(range) * (1 + body) : body);
  }

  // How many times a loop over it may run: at least once, when nothing is known.
  double size_of(const Node& node) {
    if (node.kind == Node::Kind::List) return static_cast<double>(node.args.size());
    if (node.kind == Node::Kind::Fold && node.macro != Macro::OptMap && node.macro != Macro::OptFlatMap)
      return size_of(*node.args[0]);
    const Schema* schema = schema_of(node);
    return schema == nullptr ? 1 : most_items(*schema);
  }

  // Null when it is not a part of self.
  const Schema* schema_of(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::Name:
        for (auto at = scope_.rbegin(); at != scope_.rend(); ++at)
          if (at->first == node.name) return at->second;
        return nullptr;
      case Node::Kind::Select: {
        const Schema* from = schema_of(*node.args[0]);
        return from == nullptr ? nullptr : from->child(node.name);
      }
      case Node::Kind::Call: {
        if (node.name != "_[_]") return nullptr;
        const Schema* from = schema_of(*node.args[0]);
        if (from == nullptr) return nullptr;
        return from->type == Schema::Type::List ? from->items : from->values;
      }
      case Node::Kind::Fold: return node.macro == Macro::Filter ? schema_of(*node.args[0]) : nullptr;
      default: return nullptr;
    }
  }

  std::vector<std::pair<std::string_view, const Schema*>> scope_;
};

}  // namespace

double least_cost(const Node& rule, const Schema& self) { return Estimate(self).of(rule); }

double most_items(const Schema& schema) {
  const Constraints* said = schema.constraints;
  if (schema.type == Schema::Type::List) {
    if (said != nullptr && said->max_items) return static_cast<double>(*said->max_items);
    return (kRequest - 2) / ((schema.items == nullptr ? 1 : least_bytes(*schema.items)) + 1);
  }
  if (schema.type != Schema::Type::Object || schema.values == nullptr) return 1;
  if (said != nullptr && said->max_properties) return static_cast<double>(*said->max_properties);
  return (kRequest - 2) / (least_bytes(*schema.values) + 6);
}

double most_in_a_request(const Schema& schema) { return kRequest / (least_bytes(schema) + 1); }

}  // namespace kopper::plane::cel
