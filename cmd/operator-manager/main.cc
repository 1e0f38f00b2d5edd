#include "kopper/kopper.h"

#include "operators/memcached/types.h"

int main(int argc, char** argv) {
  kopper::Program program;
  program.name = "operator-manager";
  program.version = KOPPER_VERSION;
  program.controllers.push_back(memcached::memcached());
  return kopper::run(argc, argv, std::move(program));
}
