#include "table/references_test_support.h"

// Goal: whatever is inserted, changed or removed, each row that references another one finds it,
// and what a foreign key is to do is done wholly or not at all. Method: rows of integers are
// compared with what InnoDB would hold.
namespace basalt::table::test {
namespace {

TEST_F(ReferencesTest, ARowNeedsTheRowThatItReferences) {
  create("parent", 1, {1});
  create("child", 2, {}, {key("child", "c1", "parent", "id"), key("child", "c2", "parent", "c1")});
  Client client(*this);
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 7, kNull})));
  EXPECT_EQ(client.failed_key("child")->name, "t/child_c1");
  EXPECT_TRUE(succeeds(client.insert("child", {1, kNull, kNull})));
  EXPECT_TRUE(succeeds(client.insert("parent", {7, 70})));
  EXPECT_TRUE(succeeds(client.insert("child", {2, 7, 70})));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoReferencedRow, client.update("child", {2, 7, 70}, {2, 7, 71})));
  EXPECT_EQ(client.failed_key("child")->name, "t/child_c2");
  EXPECT_TRUE(succeeds(client.update("child", {2, 7, 70}, {2, kNull, 70})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{1, kNull, kNull}, {2, kNull, 70}}));
}

TEST_F(ReferencesTest, ARefusalTellsWhoseRowWasToChangeAndWhatWasLookedFor) {
  using Change = ReferenceEnforcer::Refusal::Change;
  create("a", 0);
  create("b", 1, {1}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  create("c", 1, {1}, {key("c", "c1", "b", "id")});
  Client client(*this);
  EXPECT_FALSE(client.insert("b", {1, 7}).is_ok());
  EXPECT_TRUE(client.refusal("b").is_child);
  EXPECT_EQ(client.refusal("b").table, "t/b");
  EXPECT_EQ(client.refusal("b").change, Change::kInsert);
  EXPECT_FALSE(client.refusal("b").prefix.empty());
  must(client.insert("a", {1}));
  must(client.insert("b", {1, 1}));
  must(client.insert("c", {1, 1}));
  EXPECT_FALSE(client.update("c", {1, 1}, {1, 2}).is_ok());
  EXPECT_EQ(client.refusal("c").change, Change::kUpdate);
  // By way of the cascade.
  EXPECT_FALSE(client.remove("a", {1}).is_ok());
  EXPECT_FALSE(client.refusal("a").is_child);
  EXPECT_EQ(client.refusal("a").table, "t/b");
  EXPECT_EQ(client.refusal("a").change, Change::kRemoval);
}

TEST_F(ReferencesTest, ACopyOfATableIsCheckedForNewForeignKeysAlone) {
  create("parent", 1, {1});
  create("child", 2, {}, {key("child", "c1", "parent", "id")});
  ForeignKeyDefinition kept = key("child", "c1", "parent", "id");
  ForeignKeyDefinition added = key("child", "c2", "parent", "id");
  kept.child = added.child = "t/#sql-alter";
  create("#sql-alter", 2, {}, {kept, added});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("#sql-alter", {1, 7, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("#sql-alter", {2, 7, 7})));
  kept.on_delete = ReferentialAction::kCascade;
  kept.child = "t/#sql-other";
  create("#sql-other", 2, {}, {kept});
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("#sql-other", {1, 7, kNull})));
}

TEST_F(ReferencesTest, ValuesOfAnIndexThatIsNotUniqueCanBeReferenced) {
  create("parent", 1);
  create("child", 1, {}, {key("child", "c1", "parent", "c1")});
  Client client(*this);
  must(client.insert("parent", {1, 5}));
  must(client.insert("parent", {2, 5}));
  EXPECT_TRUE(succeeds(client.insert("child", {1, 5})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {2, 6})));
  // As in InnoDB, although another row has the value.
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("parent", {2, 5})));
}

TEST_F(ReferencesTest, ColumnsOfThePrimaryKeyAreReferencedByWayOfAnIndex) {
  for (const bool is_unique : {false, true}) {
    const auto [parent, child] = create_linked_by_primary_key(is_unique);
    Client client(*this);
    must(client.insert(parent, {10, 1}));
    must(client.insert(parent, {11, 2}));
    must(client.insert(parent, {12, kNull}));
    EXPECT_TRUE(succeeds(client.insert(child, {1, 1, 10})));
    EXPECT_TRUE(succeeds(client.insert(child, {2, kNull, 99})));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(child, {3, 1, 11})));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(child, {3, 2, 10})));
    EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove(parent, {10, 1})));
    EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update(parent, {10, 1}, {10, 3})));
    EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update(parent, {10, 1}, {13, 1})));
    EXPECT_TRUE(succeeds(client.remove(parent, {11, 2})));
    EXPECT_TRUE(succeeds(client.update(parent, {12, kNull}, {14, kNull})));
  }
}

TEST_F(ReferencesTest, ColumnsOfThePrimaryKeyReferenceByWayOfAnIndex) {
  const auto cascade = ReferentialAction::kCascade;
  for (const bool is_unique : {false, true}) {
    const std::string tag = is_unique ? "unique" : "plain";
    const std::string parent = tag + "_parent";
    const std::string child = tag + "_child";
    create(parent, 2);
    ForeignKeyDefinition key = key_of_two(child, {"c1", "id"}, parent, {"c1", "id"});
    key.on_delete = key.on_update = cascade;
    create(child, 1, is_unique ? std::vector<std::size_t>{1} : std::vector<std::size_t>{}, {key});
    Client client(*this);
    for (int i = 1; i <= 3; ++i) must(client.insert(parent, {i, 10 * i, 0}));
    must(client.insert(parent, {4, 10, 0}));
    must(client.insert(child, {1, 10}));
    must(client.insert(child, {2, 20}));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(child, {3, 40})));
    // What has the index's column alone stays.
    EXPECT_TRUE(succeeds(client.remove(parent, {4, 10, 0})));
    EXPECT_TRUE(succeeds(client.update(parent, {2, 20, 0}, {5, 50, 0})));
    EXPECT_EQ(client.rows(child), (IntegerRows{{1, 10}, {5, 50}}));
    EXPECT_TRUE(succeeds(client.remove(parent, {1, 10, 0})));
    EXPECT_EQ(client.rows(child), (IntegerRows{{5, 50}}));
    client.commit();
    EXPECT_TRUE(client.check(child).empty());
  }
}

TEST_F(ReferencesTest, ARowDoesNotReferenceWhatItGivesUpInItsPrimaryKey) {
  for (const bool is_unique : {false, true}) {
    const std::string tree = is_unique ? "unique" : "plain";
    create(tree, 3, is_unique ? std::vector<std::size_t>{1} : std::vector<std::size_t>{},
           {key_of_two(tree, {"c2", "c3"}, tree, {"c1", "id"})});
    Client client(*this);
    must(client.insert(tree, {1, 1, kNull, kNull}));
    EXPECT_TRUE(succeeds(client.insert(tree, {2, 2, 2, 2})));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(tree, {3, 3, 3, 2})));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow,
                           client.update(tree, {1, 1, kNull, kNull}, {1, 9, 1, 1})));
    EXPECT_FALSE(client.refusal(tree).prefix.empty());
  }
}

TEST_F(ReferencesTest, AMissingParentRefusesAllButNulls) {
  create("child", 1, {}, {key("child", "c1", "missing", "id")});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("child", {1, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {2, 1})));
}

TEST_F(ReferencesTest, AReferencedRowStays) {
  create("parent", 1);
  create("child", 1, {}, {key("child", "c1", "parent", "id")});
  Client client(*this);
  must(client.insert("parent", {1, 10}));
  must(client.insert("child", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("parent", {1, 10})));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update("parent", {1, 10}, {2, 10})));
  EXPECT_TRUE(succeeds(client.update("parent", {1, 10}, {1, 11})));
  EXPECT_EQ(client.rows("parent"), (IntegerRows{{1, 11}}));
  client.commit();
  EXPECT_TRUE(client.check("parent").empty());
  must(client.remove("child", {1, 1}));
  EXPECT_TRUE(succeeds(client.remove("parent", {1, 11})));
}

TEST_F(ReferencesTest, RemovalsAndChangesGoOnOverSeveralTables) {
  const auto cascade = ReferentialAction::kCascade;
  create("a", 0);
  create("b", 2, {1}, {key("b", "c1", "a", "id", cascade, cascade)});
  create("c", 1, {}, {key("c", "c1", "b", "c1", ReferentialAction::kSetNull, cascade)});
  Client client(*this);
  for (int i = 1; i <= 3; ++i) must(client.insert("a", {i}));
  for (int i = 1; i <= 3; ++i) must(client.insert("b", {10 * i, i, kNull}));
  for (int i = 1; i <= 6; ++i) must(client.insert("c", {i, (i + 1) / 2}));
  client.commit();
  EXPECT_TRUE(succeeds(client.remove("a", {2})));
  EXPECT_EQ(client.counted_rows("a"), 2);
  EXPECT_EQ(client.counted_rows("b"), 2) << "one has gone with the cascade";
  EXPECT_EQ(client.counted_rows("c"), 6);
  EXPECT_EQ(client.rows("b"), (IntegerRows{{10, 1, kNull}, {30, 3, kNull}}));
  EXPECT_EQ(client.rows("c"),
            (IntegerRows{{1, 1}, {2, 1}, {3, kNull}, {4, kNull}, {5, 3}, {6, 3}}));
  EXPECT_TRUE(succeeds(client.update("a", {3}, {4})));
  EXPECT_EQ(client.rows("b"), (IntegerRows{{10, 1, kNull}, {30, 4, kNull}}));
  EXPECT_EQ(client.rows("c"),
            (IntegerRows{{1, 1}, {2, 1}, {3, kNull}, {4, kNull}, {5, 4}, {6, 4}}));
  client.commit();
  for (const char* table : {"a", "b", "c"}) EXPECT_TRUE(client.check(table).empty()) << table;
}

TEST_F(ReferencesTest, AFailureFurtherDownUndoesAllOfTheRowsChange) {
  create("a", 0);
  create("b", 1, {1}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  create("c", 1, {}, {key("c", "c1", "b", "id")});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("b", {1, 1}));
  must(client.insert("c", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("a", {1})));
  EXPECT_EQ(client.failed_key("a")->name, "t/c_c1");
  for (const char* table : {"a", "b", "c"}) EXPECT_EQ(client.counted_rows(table), 1) << table;
  EXPECT_EQ(client.rows("a"), (IntegerRows{{1}}));
  EXPECT_EQ(client.rows("b"), (IntegerRows{{1, 1}}));
  client.commit();
  EXPECT_TRUE(client.check("b").empty());
}

TEST_F(ReferencesTest, ACascadeThatSpillsBetweenItsRowsChangesThemAll) {
  const auto cascade = ReferentialAction::kCascade;
  create("a", 0);
  create("b", 1, {}, {key("b", "c1", "a", "id", cascade, cascade)});
  create("c", 1, {}, {key("c", "c1", "b", "id", ReferentialAction::kSetNull, cascade)});
  Client client(*this);
  for (int i = 1; i <= 2; ++i) must(client.insert("a", {i}));
  for (int i = 1; i <= 12; ++i) must(client.insert("b", {i, 1 + i / 10}));
  for (int i = 1; i <= 24; ++i) must(client.insert("c", {i, (i + 1) / 2}));
  client.commit();
  client.spill_always();
  EXPECT_TRUE(succeeds(client.update("a", {1}, {7})));
  EXPECT_TRUE(client.has_changes_in_files());
  EXPECT_TRUE(succeeds(client.remove("a", {7})));
  const IntegerRows left{{10, 2}, {11, 2}, {12, 2}};
  EXPECT_EQ(client.rows("b"), left);
  IntegerRows set_null;
  for (int i = 1; i <= 24; ++i) {
    const int parent = (i + 1) / 2;
    set_null.push_back({i, parent < 10 ? std::nullopt : std::optional(parent)});
  }
  EXPECT_EQ(client.rows("c"), set_null);
  client.commit();
  EXPECT_EQ(client.rows("b"), left);
  EXPECT_EQ(client.rows("c"), set_null);
  for (const char* table : {"a", "b", "c"}) EXPECT_TRUE(client.check(table).empty()) << table;
}

TEST_F(ReferencesTest, ACascadeThatSpillsLocksNothingBehindItsRows) {
  create("a", 0);
  create("b", 1, {}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  Client client(*this);
  for (int i = 1; i <= 3; ++i) must(client.insert("a", {i}));
  for (int i = 1; i <= 12; ++i) must(client.insert("b", {i, 1}));
  client.commit();
  Client other(*this);
  must(other.insert("b", {100, 2}));
  client.spill_always();
  EXPECT_TRUE(succeeds(client.remove("a", {1}))) << "the other's row is not waited for";
  EXPECT_TRUE(client.has_changes_in_files());
  EXPECT_TRUE(succeeds(other.insert("b", {101, 3})));
  other.commit();
  client.commit();
  EXPECT_EQ(client.rows("b"), (IntegerRows{{100, 2}, {101, 3}}));
}

TEST_F(ReferencesTest, ACascadeThatHasSpilledIsUndoneByAFailureFurtherDown) {
  create("a", 0);
  create("b", 1, {}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  create("c", 1, {}, {key("c", "c1", "b", "id")});
  Client client(*this);
  IntegerRows children;
  must(client.insert("a", {1}));
  for (int i = 1; i <= 12; ++i) {
    must(client.insert("b", {i, 1}));
    children.push_back({i, 1});
  }
  must(client.insert("c", {1, 12}));
  client.spill_always();
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("a", {1})));
  EXPECT_EQ(client.counted_rows("b"), 12);
  EXPECT_EQ(client.rows("a"), (IntegerRows{{1}}));
  EXPECT_EQ(client.rows("b"), children);
  client.commit();
  EXPECT_EQ(client.rows("b"), children);
  for (const char* table : {"a", "b", "c"}) EXPECT_TRUE(client.check(table).empty()) << table;
}

TEST_F(ReferencesTest, ATreeInOneTableGoesWithItsRoot) {
  create("tree", 1, {}, {key("tree", "c1", "tree", "id", ReferentialAction::kCascade)});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("tree", {1, 1})));  // references itself
  for (int i = 2; i <= 8; ++i) must(client.insert("tree", {i, i / 2}));
  must(client.insert("tree", {100, kNull}));
  EXPECT_TRUE(succeeds(client.remove("tree", {1, 1})));
  EXPECT_EQ(client.rows("tree"), (IntegerRows{{100, kNull}}));
}

// A deeper level gives rows that are still to come, or that the scan has passed, another key under
// the prefix of the outer one.
TEST_F(ReferencesTest, RowsThatACascadeMovesInItsOwnWayAreRemovedAllTheSame) {
  create_with_pairs_and_second("tree",
                               {key("tree", "c1", "tree", "id", ReferentialAction::kCascade),
                                key("tree", "c2", "tree", "id", ReferentialAction::kSetNull)});
  Client client(*this);
  must(client.insert("tree", {1, kNull, kNull}));
  must(client.insert("tree", {9, kNull, kNull}));
  must(client.insert("tree", {2, 1, kNull}));
  must(client.insert("tree", {3, 1, 2}));  // moves to (1, NULL, 3), ahead of row 2's entry
  must(client.insert("tree", {5, 1, 9}));
  must(client.insert("tree", {4, 1, 5}));  // comes before row 5's
  must(client.insert("tree", {6, 9, 2}));  // of another parent
  client.commit();
  EXPECT_TRUE(succeeds(client.remove("tree", {1, kNull, kNull})));
  const IntegerRows left{{6, 9, kNull}, {9, kNull, kNull}};
  EXPECT_EQ(client.rows("tree"), left);
  client.commit();
  EXPECT_EQ(client.rows("tree"), left);
  EXPECT_TRUE(client.check("tree").empty());
}

// To a key that lies behind the scan.
TEST_F(ReferencesTest, RowsThatACascadeMovesBehindItsScanAreRemovedAllTheSame) {
  create_with_pairs_and_second("tree",
                               {key("tree", "c1", "tree", "id", ReferentialAction::kCascade),
                                key("tree", "c2", "tree", "id", ReferentialAction::kSetNull)});
  Client client(*this);
  must(client.insert("tree", {1, kNull, kNull}));
  must(client.insert("tree", {2, kNull, kNull}));
  must(client.insert("tree", {5, 1, 2}));
  must(client.insert("tree", {4, 1, 5}));  // to (1, NULL, 4), behind (1, 2, 5)
  must(client.insert("tree", {8, 1, 5}));
  client.commit();
  EXPECT_TRUE(succeeds(client.remove("tree", {1, kNull, kNull})));
  EXPECT_EQ(client.rows("tree"), (IntegerRows{{2, kNull, kNull}}));
  client.commit();
  EXPECT_TRUE(client.check("tree").empty());
}

TEST_F(ReferencesTest, OtherColumnsOfARowWithoutItsParentCanBeChanged) {
  create("b", 2, {}, {key("b", "c1", "missing", "id")});
  Client client(*this);
  must(client.insert("b", {1, kNull, 1}));
  EXPECT_TRUE(succeeds(client.update("b", {1, kNull, 1}, {1, kNull, 2})));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoReferencedRow, client.update("b", {1, kNull, 2}, {1, 5, 2})));
  // As foreign_key_checks=0 lets it come.
  create("c", 2);
  must(client.insert("c", {1, 5, 1}));
  const catalog::TablePointer altered = must(catalog_.reserve_indexes(*catalog_.find("t/c")));
  must(catalog_.publish_altered({altered, {}, {{}, {key("c", "c1", "missing", "id")}}}));
  client.commit();
  Client later(*this);
  EXPECT_TRUE(succeeds(later.update("c", {1, 5, 1}, {1, 5, 2})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, later.update("c", {1, 5, 2}, {1, 6, 2})));
}

TEST_F(ReferencesTest, ARowThatReferencesItselfStaysUnlessItsRemovalIsHandedOn) {
  create("kept", 1, {}, {key("kept", "c1", "kept", "id")});
  create(
      "gone", 1, {},
      {key("gone", "c1", "gone", "id", ReferentialAction::kSetNull, ReferentialAction::kCascade)});
  Client client(*this);
  for (const char* const name : {"kept", "gone"}) {
    must(client.insert(name, {1, 1}));
    EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update(name, {1, 1}, {2, 2})));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("kept", {1, 1})));
  EXPECT_TRUE(succeeds(client.update("kept", {1, 1}, {1, kNull})));
  EXPECT_TRUE(succeeds(client.remove("kept", {1, kNull})));
  EXPECT_TRUE(succeeds(client.remove("gone", {1, 1})));
}

TEST_F(ReferencesTest, TheStatementHearsOfEachTableWhoseRowsACascadeChanges) {
  create("a", 0);
  create("b", 1, {},
         {key("b", "c1", "a", "id", ReferentialAction::kSetNull, ReferentialAction::kCascade)});
  create("c", 1, {},
         {key("c", "c1", "b", "c1", ReferentialAction::kCascade, ReferentialAction::kCascade)});
  create("d", 1, {}, {key("d", "c1", "a", "id")});
  Client client(*this);
  for (int id : {1, 2}) must(client.insert("a", {id}));
  must(client.insert("b", {10, 1}));
  must(client.insert("c", {20, 1}));
  EXPECT_TRUE(succeeds(client.remove("a", {2})));
  EXPECT_EQ(client.statement().changed, std::vector<std::string>()) << "nothing references it";
  EXPECT_TRUE(succeeds(client.remove("a", {1})));
  EXPECT_EQ(client.statement().changed, (std::vector<std::string>{"t/b", "t/c"}));
  client.rollback();
  Client other(*this);
  must(other.insert("a", {1}));
  must(other.insert("b", {10, 1}));
  must(other.insert("c", {20, 1}));
  other.statement().locked = "t/c";
  EXPECT_TRUE(fails_with(ErrorCode::kDeadlock, other.remove("a", {1})));
  EXPECT_EQ(other.rows("c"), (IntegerRows{{20, 1}})) << "it was changed without the lock";
}

TEST_F(ReferencesTest, OfSeveralKeysTheOneWithTheFirstIndexIsNamed) {
  create("a", 0);
  create("b", 2, {}, {key("b", "c2", "a", "id"), key("b", "c1", "a", "id")});
  create("c", 2, {}, {key("c", "c1", "a", "id"), key("c", "c2", "a", "id")});
  must(catalog_.rename("t/c", "t/d"));
  Client client(*this);
  for (const char* const name : {"b", "d"}) {
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(name, {1, 5, 5})));
    EXPECT_EQ(client.failed_key(name)->columns.front().child, "c1");
  }
}

TEST_F(ReferencesTest, AChildThatIsReplacedByACopyIsNeverMissed) {
  using References = catalog::Catalog::References;
  create("a", 0);
  create("b", 1, {}, {key("b", "c1", "a", "id")});
  ForeignKeyDefinition of_copy = key("b", "c1", "a", "id");
  of_copy.child = "t/#sql-alter-1";
  create("#sql-alter-1", 1, {}, {of_copy});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("a", {2}));
  must(client.insert("#sql-alter-1", {1, 1}));
  client.commit();
  const auto may_go = [&](int id) {
    Client other(*this);
    const Status status = other.remove("a", {id});
    other.rollback();
    return status.is_ok();
  };
  EXPECT_TRUE(may_go(1));  // the rows of the child count, which has none
  must(catalog_.rename("t/b", "t/#sql-backup-1", References::kStay));
  EXPECT_FALSE(may_go(1));
  EXPECT_TRUE(may_go(2));
  must(catalog_.rename("t/#sql-alter-1", "t/b", References::kStay));
  EXPECT_FALSE(may_go(1));
  EXPECT_TRUE(may_go(2));
}

TEST_F(ReferencesTest, RowsOfACopyCountForAKeyThatOnlyTheCopyHas) {
  create("a", 0);
  create("b", 1);
  ForeignKeyDefinition added = key("b", "c1", "a", "id");
  added.child = "t/#sql-alter-1";
  create("#sql-alter-1", 1, {}, {added});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("#sql-alter-1", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("a", {1})));
}

TEST_F(ReferencesTest, ACircleOfTablesIsRemovedOnce) {
  create("a", 1, {}, {key("a", "c1", "b", "id", ReferentialAction::kCascade)});
  create("b", 1, {}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("a", {1, kNull}));
  must(client.insert("b", {1, 1}));
  must(client.update("a", {1, kNull}, {1, 1}));
  EXPECT_TRUE(succeeds(client.remove("b", {1, 1})));
  EXPECT_TRUE(client.rows("a").empty());
  EXPECT_TRUE(client.rows("b").empty());
}

TEST_F(ReferencesTest, AChainIsFollowedOverFifteenRowsAndNoMore) {
  create("chain", 1, {}, {key("chain", "c1", "chain", "id", ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("chain", {0, kNull}));
  for (int i = 1; i <= 15; ++i) must(client.insert("chain", {i, i - 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kCascadeTooDeep, client.remove("chain", {0, kNull})));
  EXPECT_EQ(client.rows("chain").size(), 16U);
  EXPECT_TRUE(succeeds(client.remove("chain", {1, 0})));
  EXPECT_EQ(client.rows("chain"), (IntegerRows{{0, kNull}}));
}

TEST_F(ReferencesTest, AChangeThatComesBackToItsOwnTableIsRefused) {
  create(
      "tree", 1, {},
      {key("tree", "c1", "tree", "id", ReferentialAction::kSetNull, ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("tree", {1, kNull}));
  must(client.insert("tree", {2, 1}));
  EXPECT_TRUE(
      fails_with(ErrorCode::kRowIsReferenced, client.update("tree", {1, kNull}, {3, kNull})));
  EXPECT_TRUE(succeeds(client.remove("tree", {1, kNull})));
  EXPECT_EQ(client.rows("tree"), (IntegerRows{{2, kNull}}));
}

TEST_F(ReferencesTest, ARowAndWhatReferencesItNeverMissEachOther) {
  create("parent", 0);
  create("child", 1, {}, {key("child", "c1", "parent", "id", ReferentialAction::kCascade)});
  Client first(*this);
  must(first.insert("parent", {1}));
  must(first.insert("parent", {2}));
  first.commit();
  Client second(*this);
  must(first.insert("child", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.remove("parent", {1})));
  second.rollback();
  must(first.remove("parent", {2}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.insert("child", {2, 2})));
  second.rollback();
  first.commit();
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, second.insert("child", {2, 2})));
  EXPECT_TRUE(succeeds(second.remove("parent", {1})));
  second.commit();
  EXPECT_TRUE(second.rows("child").empty());
}

TEST_F(ReferencesTest, ARowThatItsPrimaryKeyTellsApartIsNotMissedEither) {
  for (const bool is_unique : {false, true}) {
    const auto [parent, child] = create_linked_by_primary_key(is_unique);
    Client first(*this);
    for (const int id : {10, 11, 12}) must(first.insert(parent, {id, id % 10}));
    first.commit();
    Client second(*this);
    must(first.insert(child, {1, 0, 10}));
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.remove(parent, {10, 0})));
    second.rollback();
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.update(parent, {10, 0}, {10, 5})));
    second.rollback();
    must(first.remove(parent, {11, 1}));
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.insert(child, {2, 1, 11})));
    second.rollback();
    // The value goes to another row.
    must(first.remove(parent, {12, 2}));
    must(first.insert(parent, {13, 2}));
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.insert(child, {2, 2, 13})));
    second.rollback();
    first.commit();
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, second.insert(child, {2, 1, 11})));
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, second.insert(child, {2, 2, 12})));
    EXPECT_TRUE(succeeds(second.insert(child, {2, 2, 13})));
    second.commit();
  }
}

// It has a snapshot of before.
TEST_F(ReferencesTest, RowsAreLookedForInTheirNewestVersions) {
  create("parent", 0);
  create("child", 1, {}, {key("child", "c1", "parent", "id", ReferentialAction::kCascade)});
  Client first(*this);
  must(first.insert("parent", {1}));
  first.commit();
  auto old = transactions_.make_transaction(nullptr);
  old->begin_statement(txn::IsolationLevel::kRepeatableRead);
  old->open_snapshot();
  must(first.insert("parent", {2}));
  must(first.insert("child", {1, 1}));
  first.commit();
  const auto parent = must(tables_.open_stored("t/parent"));
  const auto child = must(tables_.open_stored("t/child"));
  ReferenceEnforcer of_parent(*parent, must(tables_.references_of(*parent)), tables_);
  ReferenceEnforcer of_child(*child, must(tables_.references_of(*child)), tables_);
  RowWriter parents(*parent);
  parents.set_references(&of_parent);
  RowWriter children(*child);
  children.set_references(&of_child);
  std::vector<std::uint8_t> record(child->layout().record_length);
  store_le(record.data() + child->layout().columns[0].record_offset, 2);
  store_le(record.data() + child->layout().columns[1].record_offset, 2);
  EXPECT_TRUE(succeeds(children.insert(*old, record.data())));
  std::vector<std::uint8_t> gone(parent->layout().record_length);
  store_le(gone.data() + parent->layout().columns[0].record_offset, 1);
  EXPECT_TRUE(succeeds(parents.remove(*old, gone.data(), {})));
  old->end_statement();
  must(old->commit(kv::Durability::kBuffered));
  EXPECT_EQ(first.rows("child"), (IntegerRows{{2, 2}}));
  EXPECT_EQ(first.rows("parent"), (IntegerRows{{2}}));
}

// The rows of a copy are written by a transaction of their own.
TEST_F(ReferencesTest, ACopysParentsAreLockedByTheTransactionOfItsStatement) {
  create("parent", 0);
  create("child", 1, {},
         {key("child", "c1", "parent", "id", ReferentialAction::kRestrict),
          key("child", "c1", "child", "id", ReferentialAction::kRestrict)});
  Client statement(*this);
  must(statement.insert("parent", {1}));
  statement.commit();
  Client copy(*this);
  copy.set_parents_transaction("child", statement);
  must(statement.update("parent", {1}, {1}));
  EXPECT_TRUE(succeeds(copy.insert("child", {1, 1}))) << "the statement has the lock, and not it";
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, copy.insert("child", {2, 2})));
  copy.commit();
  Client other(*this);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, other.remove("parent", {1})))
      << "the copy's portion is committed, the statement goes on";
  statement.commit();
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, other.remove("parent", {1})));
}

}  // namespace
}  // namespace basalt::table::test
