#include "kopper/kopper.h"

#include "operators/memcached/types.h"
#include "operators/podbugger/types.h"
#include "operators/podset/types.h"

int main(int argc, char** argv) {
  kopper::Program program;
  program.name = "operator-manager";
  program.version = KOPPER_VERSION;
  program.controllers.push_back(memcached::memcached());
  program.controllers.push_back(podbugger::podbugger());
  program.controllers.push_back(podset::podset());
  return kopper::run(argc, argv, std::move(program));
}
