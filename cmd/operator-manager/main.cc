#include "kopper/kopper.h"

#include "operators/catalog.h"

int main(int argc, char** argv) {
  kopper::Program program;
  program.name = "operator-manager";
  program.version = KOPPER_VERSION;
  for (auto& entry : operators::catalog()) {
    program.controllers.push_back(std::move(entry.controller));
    if (entry.webhooks != nullptr) entry.webhooks(program.webhooks);
  }
  return kopper::run(argc, argv, std::move(program));
}
