#pragma once

namespace kopper::cmd {

// From now on this thread, which lives as long as the process, keeps small blocks that it frees for its next ones.
// A request to the API server is hundreds of blocks of the same few sizes, which come and go together; the C library
// keeps seven of a size at hand, and looks for neighbours to join with all others.
void keep_freed_blocks();

}  // namespace kopper::cmd
