#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kopper/app/flags.h"
#include "kopper/app/rbac.h"
#include "kopper/runtime/controller.h"
#include "kopper/runtime/webhook.h"

namespace kopper::app {

// What a program of operators consists of.
struct Program {
  std::string name;  // default: the name it was called by
  std::string version = "dev";
  std::vector<runtime::ControllerSpec> controllers;
  runtime::Webhooks webhooks;
};

// The main function of an operator: reads the flags (--help shows them), connects, and runs the controllers until
// SIGINT or SIGTERM. Returns the exit code: 0 ok, 1 failure or lost lease, 2 usage, 5 invalid input, 6 unreachable.
int run(int argc, const char* const* argv, Program program);

template <class... Controllers>
  requires(std::is_same_v<Controllers, runtime::ControllerSpec> && ...)
int run(int argc, const char* const* argv, Controllers... controllers) {
  Program program;
  (program.controllers.push_back(std::move(controllers)), ...);
  return run(argc, argv, std::move(program));
}

// What the program does with the API server, for its roles.
Uses uses_of(const Program& program, const Flags& flags);
// What --print-… prints.
std::string printed(const Program& program, const Flags& flags);

}  // namespace kopper::app
