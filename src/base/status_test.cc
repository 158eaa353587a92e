#include "base/status.h"

#include <memory>
#include <set>
#include <string>

#include "base/test_support.h"

// Goal: a Status carries its code and text unharmed, and every code says what must be rolled back.
namespace basalt {
namespace {

constexpr ErrorCode kAllErrors[] = {
#define BASALT_ERROR(name, scope, text) ErrorCode::name,
#include "base/error_codes.def"
#undef BASALT_ERROR
};

Status fail_with(ErrorCode code) { return Status(code, "details"); }

Status pass_on(Status status, bool& went_on) {
  BASALT_TRY(std::move(status));
  went_on = true;
  return Status::ok();
}

TEST(Status, OkHasNoMessageAndCostsAPointer) {
  EXPECT_TRUE(Status::ok().is_ok());
  EXPECT_EQ(Status::ok().code(), ErrorCode::kOk);
  EXPECT_EQ(Status::ok().message(), "");
  EXPECT_EQ(error_scope(ErrorCode::kOk), ErrorScope::kNone);
  static_assert(sizeof(Status) == sizeof(void*));
}

TEST(Status, AnErrorKeepsItsCodeAndItsText) {
  const Status status(ErrorCode::kIoError, "file 7: gone");
  EXPECT_FALSE(status.is_ok());
  EXPECT_TRUE(status.is(ErrorCode::kIoError));
  EXPECT_FALSE(status.is(ErrorCode::kOk));
  EXPECT_EQ(status.message(), "file 7: gone");
}

TEST(Status, AnErrorWithoutDetailsShowsTheGeneralText) {
  for (const ErrorCode code : kAllErrors) {
    EXPECT_EQ(Status::of(code).message(), error_text(code));
  }
}

TEST(Status, EveryErrorHasItsOwnNameATextAndAScope) {
  std::set<std::string_view> names;
  for (const ErrorCode code : kAllErrors) {
    EXPECT_TRUE(error_name(code).starts_with("k"));
    EXPECT_TRUE(names.insert(error_name(code)).second) << error_name(code);
    EXPECT_FALSE(error_text(code).empty()) << error_name(code);
    EXPECT_NE(error_scope(code), ErrorScope::kNone) << error_name(code);
  }
  EXPECT_EQ(error_name(ErrorCode::kDeadlock), "kDeadlock");
  EXPECT_EQ(error_scope(ErrorCode::kDeadlock), ErrorScope::kTransaction);
  EXPECT_EQ(error_scope(ErrorCode::kDuplicateKey), ErrorScope::kStatement);
  EXPECT_EQ(error_scope(ErrorCode::kCorruption), ErrorScope::kEngine);
}

TEST(Status, ACloneIsIndependentOfItsOriginal) {
  Status original(ErrorCode::kNoSpace, "disk");
  const Status clone = original.clone();
  original = Status::ok();
  EXPECT_EQ(clone.code(), ErrorCode::kNoSpace);
  EXPECT_EQ(clone.message(), "disk");
  EXPECT_TRUE(original.clone().is_ok());
}

TEST(Status, TryReturnsErrorsAndGoesOnAfterSuccess) {
  bool went_on = false;
  EXPECT_TRUE(
      test::fails_with(ErrorCode::kDeadlock, pass_on(fail_with(ErrorCode::kDeadlock), went_on)));
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(test::succeeds(pass_on(Status::ok(), went_on)));
  EXPECT_TRUE(went_on);
}

TEST(Result, HoldsAValueThatMayBeMoveOnly) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.is_ok());
  EXPECT_TRUE(result.status().is_ok());
  EXPECT_EQ(*result.value(), 7);
}

TEST(Result, HoldsTheErrorInsteadOfAValue) {
  Result<int> result(fail_with(ErrorCode::kTooLarge));
  EXPECT_FALSE(result.is_ok());
  const Status status = result.take_status();
  EXPECT_EQ(status.code(), ErrorCode::kTooLarge);
  EXPECT_EQ(status.message(), "details");
}

TEST(ResultDeathTest, TheValueOfAnErrorIsNeverRead) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  Result<int> result(fail_with(ErrorCode::kTooLarge));
  EXPECT_DEATH(result.value(), "invariant violated: value_.has_value()");
}

TEST(StatusDeathTest, OkIsNotAnError) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(Status(ErrorCode::kOk, "contradiction"), "invariant violated");
  EXPECT_DEATH(Result<int>(Status::ok()), "invariant violated");
}

TEST(AssertDeathTest, AViolatedInvariantNamesItselfAndItsPlace) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(BASALT_ASSERT(1 + 1 == 3), "1 \\+ 1 == 3 \\(.*status_test.cc:[0-9]+\\)");
  EXPECT_DEATH(BASALT_UNREACHABLE(), "unreachable \\(.*status_test.cc:[0-9]+\\)");
}

}  // namespace
}  // namespace basalt
