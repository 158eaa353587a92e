#include "catalog/foreign_keys.h"

#include <memory>
#include <string>

#include "base/test_support.h"

// Goal: a foreign key comes back from its stored form, the form stays as it is, and damaged forms
// are told from whole ones. Inputs are in blocks of exactly their size, so that the address
// sanitizer sees every byte read too far.
namespace basalt::catalog {
namespace {

using basalt::test::fails_with;
using basalt::test::succeeds;

ForeignKeyDefinition of_orders() {
  ForeignKeyDefinition key;
  key.name = "shop/orders_ibfk_1";
  key.child = "shop/orders";
  key.parent = "crm/people";
  key.columns = {{"country", "land"}, {"person", "id"}};
  key.on_delete = ReferentialAction::kSetNull;
  key.on_update = ReferentialAction::kCascade;
  return key;
}

std::string stored_form(const ForeignKeyDefinition& key) {
  std::string bytes;
  append_foreign_key(key, bytes);
  return bytes;
}

Result<ForeignKeyDefinition> parse_exactly(std::string_view bytes) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return parse_foreign_key({copy.get(), bytes.size()});
}

TEST(ForeignKeys, AForeignKeyComesBackFromItsStoredForm) {
  ForeignKeyDefinition widest = of_orders();
  widest.columns.resize(64, {std::string(192, 'c'), std::string(192, 'p')});
  widest.on_delete = ReferentialAction::kNoAction;
  for (const ForeignKeyDefinition& key : {of_orders(), widest}) {
    const auto parsed = parse_exactly(stored_form(key));
    ASSERT_TRUE(succeeds(parsed));
    EXPECT_TRUE(parsed.value() == key);
  }
}

// Pins the stored form. If this fails, existing dictionaries can no longer be read: add a format
// version instead of editing the expectation.
TEST(ForeignKeys, StoredFormatIsFrozen) {
  EXPECT_EQ(stored_form(of_orders()),
            "\x01"  // format version
            "\x12shop/orders_ibfk_1"
            "\x0Bshop/orders"
            "\x0A"
            "crm/people"  // name, child, parent
            "\x02"
            "\x07"
            "country"
            "\x04land"
            "\x06person"
            "\x02id"      // columns
            "\x03\x02");  // on delete, on update
}

TEST(ForeignKeys, WhatIsCutOffOrTooLongIsCorruption) {
  const std::string whole = stored_form(of_orders());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(whole.substr(0, size)))) << size;
  }
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(whole + '\0')));
}

TEST(ForeignKeys, AnUnknownVersionOrActionIsCorruption) {
  std::string bytes = stored_form(of_orders());
  bytes.back() = '\x04';
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(bytes)));
  bytes = stored_form(of_orders());
  bytes.front() = '\x02';
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(bytes)));
}

TEST(ForeignKeys, AGeneratedNameIsToldFromOneThatSomebodyGave) {
  EXPECT_EQ(generated_name("shop/orders", 12), "orders_ibfk_12");
  EXPECT_EQ(generated_number("shop/orders_ibfk_12", "shop/orders"), 12U);
  for (const char* given : {"shop/orders_ibfk_", "shop/orders_ibfk_1x", "shop/orders_ibfk_01",
                            "shop/order_ibfk_1", "shop/orders_fk_1", "shop/o"}) {
    EXPECT_EQ(generated_number(given, "shop/orders"), 0U) << given;
  }
}

TEST(ForeignKeys, AGeneratedNameLacksTheMarkBehindNamesOfDevices) {
  EXPECT_EQ(generated_name("shop/con@@@", 1), "con_ibfk_1");
  EXPECT_EQ(generated_number("shop/con_ibfk_1", "shop/con@@@"), 1U);
  EXPECT_EQ(renamed_constraint("shop/con_ibfk_1", "shop/con@@@", "shop/nul@@@"), "shop/nul_ibfk_1");
}

TEST(ForeignKeys, AGeneratedNameFollowsItsTableAndAGivenOneOnlyItsDatabase) {
  EXPECT_EQ(renamed_constraint("shop/orders_ibfk_3", "shop/orders", "old/bought"),
            "old/bought_ibfk_3");
  EXPECT_EQ(renamed_constraint("shop/of_person", "shop/orders", "old/bought"), "old/of_person");
}

}  // namespace
}  // namespace basalt::catalog
