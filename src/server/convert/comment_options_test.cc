#include "server/convert/comment_options.h"

#include "base/test_support.h"

// Goal: comments mean what MyRocks takes them for, and other comments mean nothing.
namespace basalt::server {
namespace {

std::string shown(const std::vector<CommentOption>& options) {
  std::string text;
  for (const CommentOption& option : options) {
    text += "[" + option.partition + "|" + option.value + "]";
  }
  return text;
}

std::string assigned(std::string_view comment) {
  return shown(family_options_in(comment).assigned);
}

TEST(CommentOptions, AssignmentsAreSeparatedBySemicolonsAndMayBeOfAPartition) {
  EXPECT_EQ(assigned("cfname=hot"), "[|hot]");
  EXPECT_EQ(assigned(" cfname = hot ; "), "[|hot]");
  EXPECT_EQ(assigned("p0_cfname=a;p_1_cfname=rev:b;cfname=c"), "[p0|a][p_1|rev:b][|c]");
  EXPECT_EQ(assigned("p0_cfname=a;p1_cfname=;"), "[p0|a][p1|]");
  EXPECT_EQ(assigned("ttl_duration=5;cfname=a"), "[|a]");
  EXPECT_EQ(shown(options_in("p0_ttl_duration=5;ttl_duration=7", "ttl_duration")), "[p0|5][|7]");
}

TEST(CommentOptions, WhatOnlyLooksLikeAnAssignmentIsNone) {
  for (const char* comment :
       {"", "cfname", "hotcfname=a", "_cfname=a", "cfnames=a", "the cfname: a", "rev:a"}) {
    EXPECT_EQ(assigned(comment), "") << comment;
  }
}

TEST(CommentOptions, AWholeCommentThatMayBeANameIsOne) {
  for (const char* name : {"hot", "cf-zero", "rev:hot", "$per_index_cf", "__system__", "default"}) {
    EXPECT_EQ(family_options_in(name).bare, name);
  }
  EXPECT_EQ(family_options_in(" hot ").bare, "hot");
  for (const char* comment : {"", "for the report", "cfname=hot", "hot;", "rev:", "what?"}) {
    EXPECT_EQ(family_options_in(comment).bare, "") << comment;
  }
}

}  // namespace
}  // namespace basalt::server
