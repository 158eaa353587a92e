#include <memory>
#include <string>

#include "base/test_support.h"
#include "catalog/catalog.h"
#include "catalog/test_support.h"
#include "kv/test_directory.h"

// Goal: what a table is a copy of is known as long as a crash may leave that to us, and no longer.
// Method: the catalog is loaded anew from crash images of the database.
namespace basalt::catalog {
namespace {

using basalt::test::must;
using test::make_table;

class CatalogCopiesTest : public testing::Test {
 protected:
  CatalogCopiesTest() { must(catalog_->load()); }

  void crash() {
    const std::string image = directory_ / ("image" + std::to_string(++images_));
    kv::test::copy_crash_image(path_, image);
    catalog_.reset();
    database_ = kv::test::open_database(image);
    catalog_ = std::make_unique<Catalog>(*database_);
    must(catalog_->load());
    path_ = image;
  }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  int images_ = 0;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(path_);
  std::unique_ptr<Catalog> catalog_ = std::make_unique<Catalog>(*database_);
};

TEST_F(CatalogCopiesTest, ACopyIsKnownToBeOneAsLongAsItsTableIsThereAlsoOverACrash) {
  must(catalog_->create(make_table("b/t")));
  must(catalog_->create(make_table("a/#sql-alter-1-2"), 1, {}, "b/t"));
  must(catalog_->create(make_table("a/#sql-alter-1-3"), 1, {}, "b/others"));
  must(catalog_->create(make_table("a/#sql-alter-1-4")));
  crash();
  EXPECT_EQ(must(catalog_->copied_table("a/#sql-alter-1-2")), "b/t");
  EXPECT_EQ(must(catalog_->copied_table("a/#sql-alter-1-3")), "b/others");
  EXPECT_EQ(must(catalog_->copied_table("a/#sql-alter-1-4")), "");
  EXPECT_EQ(must(catalog_->copied_table("a/none")), "");
  must(catalog_->rename("a/#sql-alter-1-3", "a/others"));
  EXPECT_EQ(must(catalog_->copied_table("a/others")), "");
  must(catalog_->rename("b/t", "b/#sql-backup-1-2"));
  EXPECT_TRUE(must(catalog_->replaced_tables()).empty()) << "the copy has no final name";
  must(catalog_->rename("a/#sql-alter-1-2", "a/u"));
  crash();
  ASSERT_EQ(must(catalog_->replaced_tables()).size(), 1u);
  EXPECT_EQ(must(catalog_->replaced_tables()).front()->name, "b/#sql-backup-1-2");
  // One that has the name by chance.
  must(catalog_->create(make_table("a/#sql-backup-1-2")));
  ASSERT_EQ(must(catalog_->replaced_tables()).size(), 1u);
  must(catalog_->drop("b/#sql-backup-1-2"));
  EXPECT_TRUE(must(catalog_->replaced_tables()).empty());
  EXPECT_EQ(must(catalog_->copied_table("a/u")), "");
}

TEST_F(CatalogCopiesTest, ACopyWhoseTableIsDroppedFirstIsKnownUntilItIsRenamed) {
  must(catalog_->create(make_table("b/t")));
  must(catalog_->create(make_table("a/#sql-alter-1-2"), 1, {}, "b/t"));
  must(catalog_->drop("b/t"));
  EXPECT_EQ(must(catalog_->copied_table("a/#sql-alter-1-2")), "b/t");
  must(catalog_->rename("a/#sql-alter-1-2", "a/u"));
  EXPECT_EQ(must(catalog_->copied_table("a/u")), "");
}

TEST_F(CatalogCopiesTest, ATableWithPartitionsIsReplacedByItsFirst) {
  must(catalog_->create(make_table("b/t#P#one")));
  must(catalog_->create(make_table("b/t#P#two")));
  must(catalog_->create(make_table("b/#sql-alter-1-2#P#one"), 1, {}, "b/t"));
  must(catalog_->rename("b/t#P#one", "b/#sql-backup-1-2#P#one"));
  must(catalog_->rename("b/t#P#two", "b/#sql-backup-1-2#P#two"));
  must(catalog_->rename("b/#sql-alter-1-2#P#one", "b/u#P#one"));
  ASSERT_EQ(must(catalog_->replaced_tables()).size(), 1u);
  EXPECT_EQ(must(catalog_->replaced_tables()).front()->name, "b/#sql-backup-1-2#P#one");
}

TEST_F(CatalogCopiesTest, NothingStaysOfACopyThatIsDropped) {
  const std::uint64_t before = kv::test::count_entries(*database_, kv::kSystemFamily, {});
  must(catalog_->create(make_table("a/#sql-alter-1-2"), 1, {}, "b/t"));
  must(catalog_->drop("a/#sql-alter-1-2"));
  for (const DroppedIndex& index : catalog_->dropped_indexes()) {
    must(catalog_->forget_dropped(index.id));
  }
  // But the next id.
  EXPECT_LE(kv::test::count_entries(*database_, kv::kSystemFamily, {}), before + 1);
}

}  // namespace
}  // namespace basalt::catalog
