#pragma once
#include <string>
#include <string_view>

namespace basalt::server {

// A plugin and its server share classes whose layout may change with each patch release. What to
// tell an administrator if the server `running` is not the release that the plugin was `built_for`,
// both as the server's VERSION() has them: 10.11.18-MariaDB-0+deb12u1, at the end perhaps "-log".
// Empty if it is.
std::string find_release_mismatch(std::string_view built_for, std::string_view running);

// The number of a release as MYSQL_VERSION_ID has it, 101118 of 10.11.18-MariaDB; 0 if the text
// does not begin with three numbers.
int release_number(std::string_view release);

}  // namespace basalt::server
