#include "table/references_test_support.h"

// Goal: rows that are history, and columns that are computed, take part in foreign keys as they do
// with InnoDB. Method: as references_test.cc.
namespace basalt::table::test {
namespace {

TEST_F(ReferencesTest, HistoryReferencesNothingAndIsNotReferenced) {
  create_versioned("parent", 1);
  create_versioned("child", 1, {}, {key("child", "c1", "parent", "id")});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("child", {5, 9, 1, 2})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {5, 9, 1, kNull})));
  must(client.insert("parent", {7, 70, 1, kNull}));
  must(client.insert("child", {1, 7, 1, kNull}));
  const auto remove = [&] { return client.update("parent", {7, 70, 1, kNull}, {7, 70, 1, 3}); };
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, remove()));
  must(client.update("child", {1, 7, 1, kNull}, {1, 7, 1, 2}));
  must(remove());
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 7, 3, kNull})));
  EXPECT_TRUE(succeeds(client.remove("parent", {7, 70, 1, 3})));
}

TEST_F(ReferencesTest, HistoryIsPassedOverInEveryIndexThatIsReferenced) {
  create_versioned("parent", 2, {2});
  create("child", 2, {}, {key("child", "c1", "parent", "c1"), key("child", "c2", "parent", "c2")});
  Client client(*this);
  must(client.insert("parent", {1, 5, 6, 1, 2}));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 5, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, kNull, 6})));
  must(client.insert("parent", {1, 5, 6, 2, kNull}));
  EXPECT_TRUE(succeeds(client.insert("child", {1, 5, 6})));
}

TEST_F(ReferencesTest, ChangesOfVersionedChildrenMakeHistory) {
  create("parent", 0);
  create_versioned("child", 2, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                        ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 0, 1, kNull}));
  client.statement().now = 2;
  EXPECT_TRUE(succeeds(client.update("parent", {1}, {2})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 1, 0, 1, 2}, {10, 2, 0, 2, kNull}}));
  client.statement().now = 3;
  EXPECT_TRUE(succeeds(client.remove("parent", {2})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 1, 0, 1, 2}, {10, 2, 0, 2, 3}}));
}

TEST_F(ReferencesTest, ColumnsWithoutVersioningMakeNoHistory) {
  create("parent", 0);
  create_versioned("child", 1, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kSetNull)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 1, kNull}));
  client.statement().now = 2;
  EXPECT_TRUE(succeeds(client.remove("parent", {1})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, kNull, 1, kNull}}));
}

TEST_F(ReferencesTest, ASecondHistoryOfOneMomentIsADuplicateOrLeftOut) {
  create("parent", 0);
  create_versioned("child", 2, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                        ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 0, 1, kNull}));
  must(client.insert("child", {10, 9, 0, 1, 2}));
  client.statement().now = 2;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateInChild, client.update("parent", {1}, {2})));
  EXPECT_EQ(client.duplicate_in_child("parent").table, "t/child");
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 9, 0, 1, 2}, {10, 1, 0, 1, kNull}}));
  EXPECT_TRUE(succeeds(client.remove("parent", {1})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 9, 0, 1, 2}}));
}

TEST_F(ReferencesTest, IndexesOnComputedColumnsOfChildrenFollow) {
  create("parent", 0);
  create_computed("cascaded", false,
                  {key("cascaded", "c1", "parent", "id", ReferentialAction::kCascade,
                       ReferentialAction::kCascade)});
  create_computed("emptied", false,
                  {key("emptied", "c1", "parent", "id", ReferentialAction::kSetNull,
                       ReferentialAction::kCascade)});
  Client client(*this);
  for (const int id : {1, 2}) {
    must(client.insert("parent", {id}));
    must(client.insert("cascaded", {id, id, 10 * id}));
    must(client.insert("emptied", {id, id, 10 * id}));
  }
  EXPECT_TRUE(succeeds(client.update("parent", {1}, {3})));
  EXPECT_TRUE(succeeds(client.remove("parent", {2})));
  client.commit();
  EXPECT_EQ(client.rows("cascaded"), (IntegerRows{{1, 3, 30}}));
  EXPECT_EQ(client.rows("emptied"), (IntegerRows{{1, 3, 30}, {2, kNull, kNull}}));
  EXPECT_TRUE(client.check("cascaded").empty());
  EXPECT_TRUE(client.check("emptied").empty());
}

TEST_F(ReferencesTest, ARowThatCannotBeComputedStays) {
  create("parent", 0);
  create_computed("child", true,
                  {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                       ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {1, 1, 10}));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, client.update("parent", {1}, {100})));
  must(client.insert("child", {2, kNull, 50}));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateInChild, client.update("parent", {1}, {5})));
  EXPECT_EQ(client.duplicate_in_child("parent").index, "by_c2");
  EXPECT_EQ(client.rows("parent"), (IntegerRows{{1}}));
  client.statement().computes = false;
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, client.remove("parent", {1})));
}

}  // namespace
}  // namespace basalt::table::test
