#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/runtime/controller.h"

namespace operators {

struct Entry {
  std::string name;  // of --operators
  kopper::runtime::ControllerSpec controller;
  std::string_view sample;  // YAML
};

// Every operator that Kopper comes with, in order of name.
std::vector<Entry> catalog();

}  // namespace operators
