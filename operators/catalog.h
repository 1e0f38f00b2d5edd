#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kopper/runtime/controller.h"
#include "kopper/runtime/webhook.h"

namespace operators {

struct Entry {
  std::string name;  // of --operators
  kopper::runtime::ControllerSpec controller;
  std::string_view sample;  // YAML
  // Adds what the API server asks about objects of this kind; null: nothing.
  void (*webhooks)(kopper::runtime::Webhooks& to) = nullptr;
};

// Every operator that Kopper comes with, in order of name.
std::vector<Entry> catalog();

}  // namespace operators
