#include "kopper/rt/terminal.h"

#include <unistd.h>

namespace kopper::rt {

bool is_terminal(std::FILE* file) noexcept { return ::isatty(::fileno(file)) == 1; }

}  // namespace kopper::rt
