#include <set>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "catalog/catalog.h"
#include "catalog/test_support.h"
#include "kv/test_directory.h"

// Goal: foreign keys change together with the tables they belong to, in memory and after a crash.
// Method: after each step the catalog is loaded anew from a crash image of the database.
namespace basalt::catalog {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::make_table;

ForeignKeyDefinition make_key(std::string name, std::string child, std::string parent) {
  ForeignKeyDefinition key;
  key.name = std::move(name);
  key.child = std::move(child);
  key.parent = std::move(parent);
  key.columns = {{"id", "id"}};
  key.on_delete = ReferentialAction::kCascade;
  return key;
}

using Names = std::set<std::string>;

class CatalogForeignKeyTest : public testing::Test {
 protected:
  CatalogForeignKeyTest() {
    must(catalog_->load());
    must(catalog_->create(make_table("shop/people")));
    must(catalog_->create(make_table("shop/orders"), 1,
                          {make_key("shop/orders_ibfk_1", "shop/orders", "shop/people"),
                           make_key("shop/after", "shop/orders", "shop/orders")}));
  }

  void crash() {
    const std::string image = directory_ / ("image" + std::to_string(++images_));
    kv::test::copy_crash_image(path_, image);
    catalog_.reset();
    database_.reset();
    path_ = image;
    database_ = kv::test::open_database(path_);
    catalog_ = std::make_unique<Catalog>(*database_);
    must(catalog_->load());
  }
  // "name: child > parent" of each foreign key of a table, as child or as parent.
  Names keys(std::string_view table) const {
    Names names;
    for (const auto& keys : {catalog_->foreign_keys_of(table), catalog_->references_to(table)}) {
      for (const ForeignKeyPointer& key : keys) {
        names.insert(key->name + ": " + key->child + " > " + key->parent);
      }
    }
    return names;
  }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  int images_ = 0;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(path_);
  std::unique_ptr<Catalog> catalog_ = std::make_unique<Catalog>(*database_);
};

TEST_F(CatalogForeignKeyTest, ForeignKeysAreThereWithTheirTableAfterACrash) {
  const std::vector<ForeignKeyPointer> before = catalog_->foreign_keys_of("shop/orders");
  crash();
  const std::vector<ForeignKeyPointer> after = catalog_->foreign_keys_of("shop/orders");
  ASSERT_EQ(after.size(), 2U);
  EXPECT_TRUE(*before[0] == *after[0] && *before[1] == *after[1]);
  EXPECT_EQ(keys("shop/people"), Names{"shop/orders_ibfk_1: shop/orders > shop/people"});
}

TEST_F(CatalogForeignKeyTest, IdsOfForeignKeysNeverComeTwice) {
  const ForeignKeyId last = catalog_->find_foreign_key("shop/after", "")->id;
  EXPECT_EQ(catalog_->newest_id(), last);
  must(catalog_->drop("shop/orders"));
  crash();
  const TablePointer later = must(catalog_->create(make_table("shop/later")));
  EXPECT_GT(later->id, last);
}

TEST_F(CatalogForeignKeyTest, ADroppedChildTakesItsForeignKeysAlong) {
  must(catalog_->drop("shop/orders"));
  EXPECT_EQ(keys("shop/people"), Names());
  crash();
  EXPECT_EQ(keys("shop/people"), Names());
}

TEST_F(CatalogForeignKeyTest, ForeignKeysGoOnReferencingTheNameOfADroppedParent) {
  must(catalog_->drop("shop/people"));
  crash();
  EXPECT_EQ(keys("shop/people"), Names{"shop/orders_ibfk_1: shop/orders > shop/people"});
}

TEST_F(CatalogForeignKeyTest, ARenamedTableIsFollowedByWhatReferencesIt) {
  must(catalog_->rename("shop/orders", "old/bought"));
  must(catalog_->rename("shop/people", "crm/people"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(keys("old/bought"), (Names{"old/after: old/bought > old/bought",
                                         "old/bought_ibfk_1: old/bought > crm/people"}));
    EXPECT_EQ(keys("shop/orders"), Names());
    crash();
  }
}

// The steps of an ALTER TABLE that copies.
TEST_F(CatalogForeignKeyTest, ATableThatTakesOverANameTakesOverWhatReferencesIt) {
  must(catalog_->create(make_table("shop/#sql-new"), 1,
                        {make_key("shop/after", "shop/#sql-new", "shop/orders")}));
  must(catalog_->rename("shop/orders", "shop/#sql-old", Catalog::References::kStay));
  must(catalog_->rename("shop/#sql-new", "shop/orders", Catalog::References::kStay));
  must(catalog_->drop("shop/#sql-old"));
  crash();
  EXPECT_EQ(keys("shop/orders"), Names{"shop/after: shop/orders > shop/orders"});
  EXPECT_EQ(keys("shop/people"), Names());
}

TEST_F(CatalogForeignKeyTest, AChildThatIsSetAsideHasItsNameUntilTheCopyHasIt) {
  using Children = std::vector<std::string>;
  const auto children = [&] {
    Children names;
    for (const ForeignKeyPointer& key : catalog_->references_by_name("shop/people")) {
      names.push_back(key->child);
    }
    return names;
  };
  must(catalog_->create(make_table("shop/#sql-alter-1-2"), 1,
                        {make_key("shop/copied", "shop/#sql-alter-1-2", "shop/people")}));
  EXPECT_EQ(children(), Children{"shop/orders"});
  must(catalog_->rename("shop/orders", "shop/#sql-backup-1-2", Catalog::References::kStay));
  EXPECT_EQ(children(), Children{"shop/orders"});
  must(catalog_->rename("shop/#sql-alter-1-2", "shop/orders", Catalog::References::kStay));
  EXPECT_EQ(children(), Children{"shop/orders"});
  must(catalog_->rename("shop/orders", "shop/bills"));
  must(catalog_->drop("shop/#sql-backup-1-2"));
  EXPECT_EQ(children(), Children{"shop/bills"});
  must(catalog_->create(make_table("shop/#sql-backup-1-2"), 1,
                        {make_key("shop/other", "shop/#sql-backup-1-2", "shop/people")}));
  EXPECT_EQ(children(), Children{"shop/bills"}) << "a name of before the table was dropped";
}

// The same of an ALTER TABLE that gives the table another name, too.
TEST_F(CatalogForeignKeyTest, ACopyWithAnotherNameIsFollowedByWhatReferencesTheOldOne) {
  must(catalog_->create(make_table("shop/#sql-new"), 1,
                        {make_key("shop/orders_ibfk_1", "shop/#sql-new", "shop/people"),
                         make_key("shop/after", "shop/#sql-new", "shop/orders")}));
  must(catalog_->create(make_table("shop/bills"), 1,
                        {make_key("shop/of", "shop/bills", "shop/orders")}));
  must(catalog_->rename("shop/orders", "shop/#sql-old", Catalog::References::kStay));
  must(
      catalog_->rename("shop/#sql-new", "old/bought", Catalog::References::kFollow, "shop/orders"));
  must(catalog_->drop("shop/#sql-old"));
  crash();
  EXPECT_EQ(keys("old/bought"), (Names{"old/after: old/bought > old/bought",
                                       "old/bought_ibfk_1: old/bought > shop/people",
                                       "shop/of: shop/bills > old/bought"}));
}

TEST_F(CatalogForeignKeyTest, ForeignKeysOfATableChangeTogetherWithItsDefinition) {
  const ForeignKeyId first = catalog_->find_foreign_key("shop/orders_ibfk_1", "")->id;
  const TablePointer altered = must(catalog_->reserve_indexes(make_table("shop/orders")));
  must(catalog_->publish_altered(
      {altered, {}, {{first}, {make_key("shop/more", "shop/orders", "shop/missing")}}}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(keys("shop/orders"), (Names{"shop/after: shop/orders > shop/orders",
                                          "shop/more: shop/orders > shop/missing"}));
    crash();
  }
}

TEST_F(CatalogForeignKeyTest, ForeignKeysOnBothSidesFollowTheNamesOfColumns) {
  const auto columns_of = [&](std::string_view name) {
    return catalog_->find_foreign_key(name, "")->columns.front();
  };
  const auto rename_column = [&](const std::string& table) {
    TableDefinition renamed = make_table(table);
    renamed.columns[0].name = "number";
    must(catalog_->publish_altered(must(catalog_->reserve_indexes(renamed))));
    crash();
  };
  rename_column("shop/people");
  EXPECT_TRUE(columns_of("shop/orders_ibfk_1") == (ForeignKeyColumn{"id", "number"}));
  EXPECT_TRUE(columns_of("shop/after") == (ForeignKeyColumn{"id", "id"}));
  rename_column("shop/orders");
  EXPECT_TRUE(columns_of("shop/orders_ibfk_1") == (ForeignKeyColumn{"number", "number"}));
  EXPECT_TRUE(columns_of("shop/after") == (ForeignKeyColumn{"number", "number"}));
}

TEST_F(CatalogForeignKeyTest, ANameIsFoundInAnyCaseOfItsLetters) {
  ASSERT_NE(catalog_->find_foreign_key("shop/AFTER", ""), nullptr);
  EXPECT_EQ(catalog_->find_foreign_key("shop/AFTER", "shop/orders"), nullptr);
  EXPECT_EQ(catalog_->find_foreign_key("shop/aft", ""), nullptr);
}

TEST_F(CatalogForeignKeyTest, EveryChangeOfADefinitionBeginsAGeneration) {
  std::uint64_t last = catalog_->generation();
  const auto expect_growth = [&](const char* what) {
    EXPECT_GT(catalog_->generation(), last) << what;
    last = catalog_->generation();
  };
  must(catalog_->create(make_table("shop/a")));
  expect_growth("create");
  must(catalog_->rename("shop/a", "shop/b"));
  expect_growth("rename");
  must(catalog_->truncate("shop/b"));
  expect_growth("truncate");
  must(catalog_->publish_altered(must(catalog_->reserve_indexes(make_table("shop/b")))));
  expect_growth("change of a definition");
  must(catalog_->drop("shop/b"));
  expect_growth("drop");
}

TEST_F(CatalogForeignKeyTest, OnlyChangesThatForeignKeysMeetBeginAGenerationOfReferences) {
  std::uint64_t last = catalog_->reference_generation();
  const auto grows = [&] { return std::exchange(last, catalog_->reference_generation()) < last; };
  must(catalog_->create(make_table("shop/a")));
  must(catalog_->rename("shop/a", "shop/b"));
  must(catalog_->truncate("shop/b"));
  must(catalog_->publish_altered(must(catalog_->reserve_indexes(make_table("shop/b")))));
  must(catalog_->drop("shop/b"));
  EXPECT_EQ(catalog_->reference_generation(), last) << "shop/a and shop/b have no foreign keys";
  for (const char* name : {"shop/people", "shop/orders"}) {
    must(catalog_->truncate(name));
    EXPECT_TRUE(grows()) << name;
    must(catalog_->publish_altered(must(catalog_->reserve_indexes(*catalog_->find(name)))));
    EXPECT_TRUE(grows()) << name;
    must(catalog_->rename(name, "shop/x", Catalog::References::kStay));
    EXPECT_TRUE(grows()) << name;
    must(catalog_->rename("shop/x", name, Catalog::References::kStay));
    EXPECT_TRUE(grows()) << name;
    must(catalog_->drop(name));
    EXPECT_TRUE(grows()) << name;
  }
  must(catalog_->create(make_table("shop/people")));
  EXPECT_FALSE(grows()) << "its only child is gone";
  must(catalog_->create(make_table("shop/visits"), 1,
                        {make_key("shop/v", "shop/visits", "shop/places")}));
  EXPECT_TRUE(grows()) << "new keys";
  must(catalog_->create(make_table("shop/places")));
  EXPECT_TRUE(grows()) << "a parent that was missing";
  must(catalog_->store_system_time("shop/places", catalog_->find("shop/places")->columns));
  EXPECT_TRUE(grows());
}

TEST_F(CatalogForeignKeyTest, ACopyThatTakesReferencesToAnotherNameBeginsAGenerationOfReferences) {
  must(catalog_->create(make_table("shop/#sql-alter")));
  const std::uint64_t before = catalog_->reference_generation();
  must(catalog_->rename("shop/#sql-alter", "shop/others", Catalog::References::kFollow,
                        "shop/people"));
  EXPECT_EQ(keys("shop/others"), (Names{"shop/orders_ibfk_1: shop/orders > shop/others"}));
  EXPECT_GT(catalog_->reference_generation(), before);
}

// Only with foreign keys is a dictionary of a version that older engines refuse.
TEST_F(CatalogForeignKeyTest, OlderEnginesRefuseADictionaryWithForeignKeysAlone) {
  const auto format = [](kv::Database& database) {
    kv::PinnedValue value;
    bool found = false;
    must(database.get(kv::kSystemFamily, std::string(1, '\0'), {}, value, found));
    return std::string(value.view());
  };
  EXPECT_EQ(format(*database_), "\x02");
  const std::string path = directory_ / "without";
  const auto database = kv::test::open_database(path);
  Catalog without(*database);
  must(without.load());
  must(without.create(make_table("shop/people")));
  EXPECT_EQ(format(*database), "\x01");
}

}  // namespace
}  // namespace basalt::catalog
