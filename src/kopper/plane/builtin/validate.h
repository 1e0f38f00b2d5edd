#pragma once

#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"

namespace kopper::plane::builtin {

// What kube-apiserver refuses in an object of a built-in kind that conforms and has its defaults. `old` is what is
// being updated, null on create. Covers what people get wrong, not every rule there is; of a kind that it does not know
// it checks the metadata.
void validate(std::string_view group, std::string_view version, std::string_view kind, const json::Value& object,
              const json::Value* old, Problems& problems, std::string_view subresource = {});

// How an object may be called.
enum class NameRule : std::uint8_t {
  Subdomain,  // most, and custom resources
  Label,      // namespaces, services
  Path,       // roles and their bindings: anything that fits in a URL
};

// The metadata of any object, custom resources included: its name, labels, annotations, owners and finalizers, and on
// update what must stay.
void validate_metadata(const json::Value& object, const json::Value* old, NameRule rule, Problems& problems);

}  // namespace kopper::plane::builtin
