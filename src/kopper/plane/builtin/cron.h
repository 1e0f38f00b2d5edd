#pragma once

#include <string>
#include <string_view>

namespace kopper::plane::builtin {

// What is wrong with the schedule of a CronJob, in the words of the server; "" when nothing. Five fields, or a word
// such as @daily.
std::string check_cron(std::string_view schedule);

}  // namespace kopper::plane::builtin
