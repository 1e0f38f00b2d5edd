#include "kopper/json/patch.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/json/pointer.h"

namespace kopper::json {
namespace {

std::size_t depth_of(const Value& value) {
  std::size_t deepest = 0;
  if (const Object* object = value.as_object()) {
    for (const auto& member : *object) deepest = std::max(deepest, depth_of(member.second));
    return deepest + 1;
  }
  if (const Array* array = value.as_array()) {
    for (const Value& element : *array) deepest = std::max(deepest, depth_of(element));
    return deepest + 1;
  }
  return 0;
}

class Patcher {
 public:
  Patcher(Value& root, PatchLimits limits) : root_(root), limits_(limits) {}

  bool run(const Value& operation, std::size_t index) {
    index_ = index;
    op_ = operation.text("op");
    if (!operation.is_object()) return fail("not an object");
    if (!pointer(operation, "path", path_)) return false;
    if (op_ == "add") return with_value(operation, &Patcher::add);
    if (op_ == "replace") return with_value(operation, &Patcher::replace);
    if (op_ == "test") return with_value(operation, &Patcher::test);
    if (op_ == "remove") return remove(path_);
    if (op_ == "move") return pointer(operation, "from", from_) && move();
    if (op_ == "copy") return pointer(operation, "from", from_) && copy();
    return fail(operation.as_object()->contains("op") ? "unknown operation" : "\"op\" is missing");
  }

  DecodeError& error() { return error_; }

 private:
  bool fail(std::string_view why) { return fail(why, path_); }
  bool fail(std::string_view why, const Pointer& at) {
    error_ = {fmt::format("operation {} ({}): {}", index_, op_, why), at.str(), 0};
    return false;
  }

  bool pointer(const Value& operation, std::string_view key, Pointer& out) {
    const std::string* text = operation[key].as_string();
    if (text == nullptr) return fail(fmt::format("\"{}\" is missing or not a string", key), Pointer());
    auto parsed = Pointer::parse(*text);
    if (!parsed) return fail(fmt::format("\"{}\": {}", key, parsed.error().what), Pointer());
    out = std::move(*parsed);
    return true;
  }

  bool with_value(const Value& operation, bool (Patcher::*then)(Value)) {
    const Value* value = operation.as_object()->find("value");
    if (value == nullptr) return fail("\"value\" is missing");
    return (this->*then)(*value);
  }

  Value* parent_of(const Pointer& pointer) {
    auto tokens = pointer.tokens();
    tokens.pop_back();
    return Pointer(std::move(tokens)).find(root_);
  }

  bool add(Value value) {
    if (path_.tokens().size() + depth_of(value) > limits_.depth) return fail("nested too deep");
    if (path_.tokens().empty()) {
      root_ = std::move(value);
      return true;
    }
    Value* parent = parent_of(path_);
    const std::string& last = path_.tokens().back();
    if (parent == nullptr) return fail("its parent is not there");
    if (Object* object = parent->as_object()) {
      (*object)[last] = std::move(value);
      return true;
    }
    Array* array = parent->as_array();
    if (array == nullptr) return fail("its parent is neither an object nor an array");
    const auto index = last == "-" ? std::optional(array->size()) : pointer_index(last);
    if (!index || *index > array->size()) return fail("not a position in the array");
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return true;
  }

  bool remove(const Pointer& pointer) {
    if (pointer.tokens().empty()) return fail("the whole document cannot be removed", pointer);
    if (pointer.find(root_) == nullptr) return fail("nothing there", pointer);
    Value* parent = parent_of(pointer);
    const std::string& last = pointer.tokens().back();
    if (Object* object = parent->as_object()) {
      object->erase(last);
    } else {
      Array* array = parent->as_array();
      array->erase(array->begin() + static_cast<std::ptrdiff_t>(*pointer_index(last)));
    }
    return true;
  }

  bool replace(Value value) {
    Value* found = path_.find(root_);
    if (found == nullptr) {
      const Value* parent = limits_.replace_adds && !path_.tokens().empty() ? parent_of(path_) : nullptr;
      return parent != nullptr && parent->is_object() ? add(std::move(value)) : fail("nothing there");
    }
    if (path_.tokens().size() + depth_of(value) > limits_.depth) return fail("nested too deep");
    *found = std::move(value);
    return true;
  }

  bool test(Value value) {
    const Value* found = path_.find(root_);
    if (found == nullptr) return fail("nothing there");
    return *found == value || fail("the value is another");
  }

  bool move() {
    const auto& from = from_.tokens();
    const auto& path = path_.tokens();
    Value* found = from_.find(root_);
    if (found == nullptr) return fail("nothing there", from_);
    if (from == path) return true;
    if (from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin())) {
      return fail("a value cannot be moved into itself");
    }
    Value value = std::move(*found);
    return remove(from_) && add(std::move(value));
  }

  bool copy() {
    const Value* found = from_.find(root_);
    if (found == nullptr) return fail("nothing there", from_);
    // Each copy may double the document, so what they cost together is bounded, as kube-apiserver does it.
    copied_ += dump(*found).size();
    if (copied_ > limits_.copied_bytes) return fail(fmt::format("copies more than {} bytes", limits_.copied_bytes));
    return add(*found);
  }

  Value& root_;
  PatchLimits limits_;
  std::size_t copied_ = 0;
  DecodeError error_;
  // The operation at hand.
  std::size_t index_ = 0;
  std::string_view op_;
  Pointer path_;
  Pointer from_;
};

}  // namespace

std::expected<Value, DecodeError> apply_patch(Value target, const Value& patch, PatchLimits limits) {
  const Array* operations = patch.as_array();
  if (operations == nullptr) {
    return std::unexpected(DecodeError{fmt::format("a JSON patch is an array, not {}", patch.type_name()), "", 0});
  }
  if (operations->size() > limits.operations) {
    return std::unexpected(DecodeError{fmt::format("a patch of more than {} operations", limits.operations), "", 0});
  }
  Patcher patcher(target, limits);
  for (std::size_t i = 0; i < operations->size(); ++i) {
    if (!patcher.run((*operations)[i], i)) return std::unexpected(std::move(patcher.error()));
  }
  return target;
}

}  // namespace kopper::json
