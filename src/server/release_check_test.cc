#include "server/release_check.h"

#include <gtest/gtest.h>

// Goal: the engine starts in the release that it was built for, and in no other.
namespace basalt::server {
namespace {

constexpr std::string_view kBuiltFor = "10.11.18-MariaDB-0+deb12u1";

TEST(ReleaseCheck, TheReleaseItselfFitsWithAndWithoutLogs) {
  EXPECT_EQ(find_release_mismatch(kBuiltFor, kBuiltFor), "");
  EXPECT_EQ(find_release_mismatch(kBuiltFor, "10.11.18-MariaDB-0+deb12u1-log"), "");
}

TEST(ReleaseCheck, AnotherPatchReleaseOrBuildIsRefusedWithBothNamesAndTheRemedy) {
  for (const char* running :
       {"10.11.19-MariaDB-0+deb12u1", "10.11.19-MariaDB-0+deb12u1-log", "10.11.1-MariaDB",
        "10.11.18-MariaDB-0+deb12u12", "10.11.18-MariaDB-0+deb12u1-debug",
        "10.11.18-MariaDB-ubu2204", "10.11.18-MariaDB", ""}) {
    const std::string text = find_release_mismatch(kBuiltFor, running);
    EXPECT_NE(text.find(kBuiltFor), std::string::npos) << running;
    EXPECT_NE(text.find(running), std::string::npos) << running;
    EXPECT_NE(text.find("mariadb-plugin-basalt"), std::string::npos) << running;
  }
}

TEST(ReleaseCheck, AReleaseHasTheNumberThatTheServerHas) {
  EXPECT_EQ(release_number(kBuiltFor), 101118);
  EXPECT_EQ(release_number("10.11.9-MariaDB-log"), 101109);
  EXPECT_EQ(release_number("11.4.2"), 110402);
  for (const char* text :
       {"", "10", "10.11", "10.11.", "10..18", "10.11.-1", "10.111.1", "MariaDB"}) {
    EXPECT_EQ(release_number(text), 0) << text;
  }
}

}  // namespace
}  // namespace basalt::server
