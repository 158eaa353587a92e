#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "codec/collation.h"
#include "codec/layout.h"

// What the codec's tests and fuzzers share: collations, tables and records made up at random, and
// a slow but obvious statement of how SQL compares them.
namespace basalt::codec::test {

using Units = std::vector<std::uint32_t>;

// A made-up character set: 0xC3 and the byte after it are one character, all else are bytes.
// Folds ASCII case. 0xDF expands to "ss", 0x01 has no weight. On the second level lower case is
// above upper case and 'z' is below the space; on the third each byte has its own weight. With
// CharSpaces::kWeighed a '~' weighs at the end.
class FakeCollation final : public Collation {
 public:
  using CharSpaces = Collation::CharSpaces;

  explicit FakeCollation(std::uint8_t width, bool pads, bool bytes_are_weights = false)
      : Collation({.id = 7,
                   .weight_width = width,
                   .space_weight = bytes_are_weights ? 0x20 : weight_of(width, ' '),
                   .pads_with_space = pads,
                   .bytes_are_weights = bytes_are_weights,
                   .character_bytes_max = 2}) {}
  FakeCollation(std::uint8_t width, bool pads, CharSpaces char_spaces, std::size_t levels)
      : Collation({.id = 7,
                   .weight_width = width,
                   .space_weight = weight_of(width, ' '),
                   .pads_with_space = pads,
                   .bytes_are_weights = false,
                   .character_bytes_max = 2,
                   .char_spaces = char_spaces,
                   .more_space_weights = {levels > 1 ? kCaseOfSpace : 0,
                                          levels > 2 ? weight_of(width, ' ') : 0}}) {}

  std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
    std::size_t at = 0;
    for (; characters > 0 && at < value.size(); --characters) at += character_size(value, at);
    return at;
  }

  void append_weights(std::string_view value, std::size_t level, std::string& out) const override {
    std::size_t tildes = 0;
    for (std::size_t at = 0; at < value.size(); at += character_size(value, at)) {
      const auto byte = static_cast<std::uint8_t>(value[at]);
      if (byte == '~' && traits().char_spaces == CharSpaces::kWeighed) {
        ++tildes;
        continue;
      }
      if (byte == 0x01) continue;
      const int count = byte == 0xDF && level < 2 ? 2 : 1;
      for (int i = 0; i < count; ++i) append_weight(weight_at(value, at, level), out);
    }
    for (; tildes > 0; --tildes) append_weight(weight_of(traits().weight_width, '~'), out);
  }

 private:
  static constexpr std::uint32_t kCaseOfSpace = 2;

  std::uint32_t weight_at(std::string_view value, std::size_t at, std::size_t level) const {
    const auto byte = static_cast<std::uint8_t>(value[at]);
    if (level == 1) return byte == 'z' ? 1 : byte >= 'a' && byte < 'z' ? 3 : kCaseOfSpace;
    std::uint32_t weight = weight_of(traits().weight_width, byte == 0xDF ? 's' : byte, level == 0);
    if (character_size(value, at) == 2) weight += static_cast<std::uint8_t>(value[at + 1]) & 7;
    return weight;
  }
  void append_weight(std::uint32_t weight, std::string& out) const {
    for (int shift = 8 * (traits().weight_width - 1); shift >= 0; shift -= 8)
      out.push_back(static_cast<char>(weight >> shift));
  }
  static std::size_t character_size(std::string_view value, std::size_t at) {
    return value[at] == '\xC3' && at + 1 < value.size() ? 2 : 1;
  }
  // Bytes below the space stay below it; the wider weights need every length of the prefix code.
  static std::uint32_t weight_of(std::uint8_t width, std::uint8_t byte, bool folds = true) {
    if (folds && byte >= 'a' && byte <= 'z') byte = static_cast<std::uint8_t>(byte - 0x20);
    if (width == 1) return byte;
    const std::uint32_t wide = byte < 0x20 ? byte * 7u : 0x209u + (byte - 0x20u) * 0x110u;
    return width == 2 ? wide : wide * 0x37u;
  }
};

// Collations by number, of every width, padding and number of levels.
constexpr std::size_t kCollations = 16;
inline const Collation& collation(std::size_t number) {
  static const FakeCollation all[] = {FakeCollation(1, true, true), FakeCollation(1, false, true),
                                      FakeCollation(1, true),       FakeCollation(1, false),
                                      FakeCollation(2, true),       FakeCollation(2, false),
                                      FakeCollation(3, true),       FakeCollation(3, false)};
  using CharSpaces = Collation::CharSpaces;
  static const FakeCollation later[] = {FakeCollation(2, true, CharSpaces::kPadding, 3),
                                        FakeCollation(2, false, CharSpaces::kCounted, 3),
                                        FakeCollation(1, true, CharSpaces::kPadding, 2),
                                        FakeCollation(1, false, CharSpaces::kCounted, 1),
                                        FakeCollation(3, true, CharSpaces::kCounted, 2),
                                        FakeCollation(1, true, CharSpaces::kWeighed, 1),
                                        FakeCollation(2, false, CharSpaces::kPadding, 2)};
  if (number == 8) return binary_collation();
  return number < 8 ? all[number] : later[number - 9];
}

inline Units units_of(const Collation& collation, std::string_view value, std::size_t level = 0) {
  Units units;
  std::string weights;
  const std::size_t width =
      collation.traits().bytes_are_weights ? 1 : collation.traits().weight_width;
  if (collation.traits().bytes_are_weights) {
    weights = value;
  } else {
    collation.append_weights(value, level, weights);
  }
  for (std::size_t i = 0; i < weights.size(); i += width) {
    std::uint32_t unit = 0;
    for (std::size_t k = 0; k < width; ++k)
      unit = unit << 8 | static_cast<std::uint8_t>(weights[i + k]);
    units.push_back(unit);
  }
  return units;
}

inline int compare_numbers(auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; }

// As if the shorter were continued with `space` for ever.
inline int compare_padded(const Units& a, const Units& b, std::uint32_t space) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const int order = compare_numbers(i < a.size() ? a[i] : space, i < b.size() ? b[i] : space);
    if (order != 0) return order;
  }
  return 0;
}
inline int compare_unpadded(const Units& a, const Units& b) { return compare_numbers(a, b); }

inline int sign_of(int value) { return (value > 0) - (value < 0); }

// A record and what its blobs point to, which stays where it is when a record is moved.
struct Record {
  std::vector<std::uint8_t> bytes;
  std::vector<std::unique_ptr<const std::string>> blobs;

  std::uint8_t* data() { return bytes.data(); }
  const std::uint8_t* data() const { return bytes.data(); }
};

inline bool is_null_in(const ColumnLayout& column, const Record& record) {
  return column.nullable && (record.bytes[column.null_offset] & column.null_mask) != 0;
}

// A table made column by column, null bits first.
class TestTable {
 public:
  // At most 64 nullable columns.
  TestTable() { layout_.record_length = 8; }

  std::uint32_t add(ColumnKind kind, std::uint32_t record_length, bool nullable = false,
                    const Collation* column_collation = nullptr, std::uint8_t length_bytes = 0) {
    ColumnLayout column;
    column.kind = kind;
    column.record_offset = layout_.record_length;
    column.record_length = record_length;
    column.length_bytes = length_bytes;
    column.nullable = nullable;
    column.collation = column_collation;
    if (nullable) {
      column.null_offset = nullables_ / 8;
      column.null_mask = static_cast<std::uint8_t>(1u << nullables_ % 8);
      ++nullables_;
    }
    layout_.record_length += record_length;
    layout_.columns.push_back(column);
    return static_cast<std::uint32_t>(layout_.columns.size() - 1);
  }
  std::uint32_t add_varchar(std::uint32_t bytes, bool nullable = false,
                            const Collation* column_collation = nullptr) {
    const std::uint8_t length_bytes = bytes < 256 ? 1 : 2;
    return add(ColumnKind::kVariableString, bytes + length_bytes, nullable, column_collation,
               length_bytes);
  }
  std::uint32_t add_blob(std::uint8_t length_bytes, bool nullable = false,
                         const Collation* column_collation = nullptr) {
    return add(ColumnKind::kBlob, length_bytes + 8u, nullable, column_collation, length_bytes);
  }

  TableLayout& layout() { return layout_; }
  const TableLayout& layout() const { return layout_; }
  const ColumnLayout& column(std::size_t i) const { return layout_.columns[i]; }

  Record make_record(std::uint8_t filler = 0) const {
    Record record;
    record.bytes.assign(layout_.record_length, filler);
    return record;
  }
  std::uint8_t* field(Record& record, std::size_t i) const {
    return record.data() + column(i).record_offset;
  }
  const std::uint8_t* field(const Record& record, std::size_t i) const {
    return record.data() + column(i).record_offset;
  }
  void set_null(Record& record, std::size_t i) const {
    record.bytes[column(i).null_offset] |= column(i).null_mask;
  }
  void set_integer(Record& record, std::size_t i, std::uint64_t value) const {
    store_le_sized(field(record, i), value, column(i).record_length);
  }
  void set_double(Record& record, std::size_t i, double value) const {
    store_le(field(record, i), value);
  }
  void set_float(Record& record, std::size_t i, float value) const {
    store_le(field(record, i), value);
  }
  void set_bytes(Record& record, std::size_t i, std::string_view value) const {
    std::memcpy(field(record, i), value.data(),
                std::min<std::size_t>(value.size(), column(i).record_length));
  }
  // CHAR, VARCHAR or blob, cut to what fits.
  void set_string(Record& record, std::size_t i, std::string_view value) const {
    const ColumnLayout& at = column(i);
    std::uint8_t* const to = field(record, i);
    if (at.kind == ColumnKind::kBlob) {
      record.blobs.push_back(std::make_unique<const std::string>(value));
      const char* const data = record.blobs.back()->data();
      store_le_sized(to, value.size(), at.length_bytes);
      std::memcpy(to + at.length_bytes, &data, sizeof data);
      return;
    }
    value = value.substr(0, at.record_length - at.length_bytes);
    if (at.kind == ColumnKind::kFixedString) std::memset(to, ' ', at.record_length);
    store_le_sized(to, value.size(), at.length_bytes);
    if (!value.empty()) std::memcpy(to + at.length_bytes, value.data(), value.size());
  }
  std::string_view string_in(const Record& record, std::size_t i) const {
    const ColumnLayout& at = column(i);
    const std::uint8_t* const from = field(record, i);
    const auto* const text = reinterpret_cast<const char*>(from);
    if (at.kind == ColumnKind::kVariableString)
      return {text + at.length_bytes, load_le_sized(from, at.length_bytes)};
    if (at.kind != ColumnKind::kBlob) return {text, at.record_length};
    const char* data = nullptr;
    std::memcpy(&data, from + at.length_bytes, sizeof data);
    return {data, load_le_sized(from, at.length_bytes)};
  }
  // Whether two records hold the same column, to the byte.
  bool same(const Record& a, const Record& b, std::size_t i) const {
    if (is_null_in(column(i), a) != is_null_in(column(i), b)) return false;
    return is_null_in(column(i), a) || string_in(a, i) == string_in(b, i);
  }
  // Whether a NULL column holds the value that readers must put there.
  bool is_neutral(const Record& record, std::size_t i) const {
    const ColumnLayout& at = column(i);
    const std::uint8_t* const from = field(record, i);
    const std::uint8_t expected = at.kind == ColumnKind::kFixedString ? ' ' : 0;
    const std::size_t size =
        at.kind == ColumnKind::kVariableString ? at.length_bytes : at.record_length;
    return std::all_of(from, from + size, [=](std::uint8_t byte) { return byte == expected; });
  }
  // Marks the bits of a record that a reader of the columns may change.
  std::vector<std::uint8_t> writable_bits(const ColumnSet& columns) const {
    std::vector<std::uint8_t> bits(layout_.record_length);
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
      if (!columns.test(i)) continue;
      std::fill_n(bits.begin() + column(i).record_offset, column(i).record_length,
                  std::uint8_t{0xFF});
      if (column(i).nullable) bits[column(i).null_offset] |= column(i).null_mask;
    }
    return bits;
  }

  // Appends the part's value in the format of the server's key tuples.
  void append_tuple_part(const Record& record, const KeyPartLayout& part, std::string& out) const {
    const ColumnLayout& at = column(part.column);
    const std::size_t begin = out.size();
    if (at.nullable) out.push_back(is_null_in(at, record) ? '\1' : '\0');
    const bool variable = at.kind == ColumnKind::kVariableString || at.kind == ColumnKind::kBlob;
    const std::size_t size = at.nullable + (variable ? 2 : 0) + tuple_length(part);
    if (!is_null_in(at, record)) {
      std::string_view value = string_in(record, part.column);
      if (part.prefix_length != 0)
        value = value.substr(0, at.collation == nullptr
                                    ? part.prefix_length
                                    : at.collation->prefix_bytes(value, part.prefix_length));
      if (variable) {
        out.push_back(static_cast<char>(value.size()));
        out.push_back(static_cast<char>(value.size() >> 8));
      }
      out.append(value);
    }
    out.resize(begin + size, at.kind == ColumnKind::kFixedString ? ' ' : '\x5C');
  }
  std::size_t tuple_length(const KeyPartLayout& part) const {
    if (part.tuple_length != 0) return part.tuple_length;
    return column(part.column).record_length - column(part.column).length_bytes;
  }

  // The SQL order of a part of two records.
  int compare_part(const Record& a, const Record& b, const KeyPartLayout& part) const {
    const int order = compare_ascending(a, b, part);
    return part.descending ? -order : order;
  }
  int compare_parts(const Record& a, const Record& b,
                    const std::vector<KeyPartLayout>& parts) const {
    for (const KeyPartLayout& part : parts)
      if (const int order = compare_part(a, b, part); order != 0) return order;
    return 0;
  }

 private:
  int compare_ascending(const Record& a, const Record& b, const KeyPartLayout& part) const {
    const ColumnLayout& at = column(part.column);
    const bool null_a = is_null_in(at, a);
    const bool null_b = is_null_in(at, b);
    if (null_a || null_b) return static_cast<int>(null_b) - static_cast<int>(null_a);
    const std::uint8_t* const from_a = field(a, part.column);
    const std::uint8_t* const from_b = field(b, part.column);
    const std::size_t size = at.record_length;
    switch (at.kind) {
      case ColumnKind::kSignedInteger: {
        const std::size_t shift = 64 - 8 * size;
        return compare_numbers(
            static_cast<std::int64_t>(load_le_sized(from_a, size) << shift) >> shift,
            static_cast<std::int64_t>(load_le_sized(from_b, size) << shift) >> shift);
      }
      case ColumnKind::kUnsignedInteger:
        return compare_numbers(load_le_sized(from_a, size), load_le_sized(from_b, size));
      case ColumnKind::kFloat:
        return compare_numbers(load_le<float>(from_a), load_le<float>(from_b));
      case ColumnKind::kDouble:
        return compare_numbers(load_le<double>(from_a), load_le<double>(from_b));
      case ColumnKind::kOrderedBytes:
        return sign_of(std::memcmp(
            from_a, from_b,
            part.prefix_length == 0 ? size : std::min<std::size_t>(part.prefix_length, size)));
      case ColumnKind::kFixedString:
      case ColumnKind::kVariableString:
      case ColumnKind::kBlob: break;
    }
    const Collation& order = at.collation == nullptr ? binary_collation() : *at.collation;
    const std::string_view value_a = compared_part(order, a, part);
    const std::string_view value_b = compared_part(order, b, part);
    const bool is_char = at.kind == ColumnKind::kFixedString;
    const bool counts = is_char && order.traits().char_spaces == Collation::CharSpaces::kCounted;
    for (std::size_t level = 0; level < order.level_count(); ++level) {
      const Units units_a = units_of(order, value_a, level);
      const Units units_b = units_of(order, value_b, level);
      const bool pads = !counts && (order.traits().pads_with_space || is_char || level > 0);
      const int result = pads ? compare_padded(units_a, units_b, order.space_weight(level))
                              : compare_unpadded(units_a, units_b);
      if (result != 0) return result;
    }
    return 0;
  }
  std::string_view compared_part(const Collation& order, const Record& record,
                                 const KeyPartLayout& part) const {
    std::string_view value = string_in(record, part.column);
    const bool is_char = column(part.column).kind == ColumnKind::kFixedString;
    if (is_char && order.traits().char_spaces != Collation::CharSpaces::kPadding) {
      std::size_t characters = value.size() / order.traits().character_bytes_max;
      if (part.prefix_length != 0)
        characters = std::min<std::size_t>(characters, part.prefix_length);
      return value.substr(0, order.prefix_bytes(value, characters));
    }
    if (part.prefix_length != 0)
      value = value.substr(0, order.prefix_bytes(value, part.prefix_length));
    if (column(part.column).kind == ColumnKind::kFixedString)
      while (value.ends_with(' ')) value.remove_suffix(1);
    return value;
  }

  TableLayout layout_;
  std::uint32_t nullables_ = 0;
};

// A table, two indexes and records made up from a seed; the same for the same seed.
class RandomTable {
 public:
  using Random = std::mt19937;

  explicit RandomTable(std::uint32_t seed) : random_(seed) {
    const std::size_t columns = 1 + pick(9);
    for (std::size_t i = 0; i < columns; ++i) add_random_column(i == 0);
    primary_.index_id = 0x01020304;
    secondary_.index_id = 0x01020305;
    primary_.unique = true;
    secondary_.unique = pick(2) == 0;
    if (pick(5) != 0) add_parts(primary_, true);
    add_parts(secondary_, false);
    for (std::size_t i = 0; i < columns; ++i)
      if (pick(6) == 0 && !is_primary(i)) table_.layout().columns[i].stored = false;
  }

  const TestTable& table() const { return table_; }
  const IndexLayout& primary() const { return primary_; }
  const IndexLayout& secondary() const { return secondary_; }

  // The secondary's own parts, then the primary's that it does not hold as whole columns.
  std::vector<KeyPartLayout> extended_parts() const {
    std::vector<KeyPartLayout> parts = secondary_.parts;
    for (const KeyPartLayout& part : primary_.parts) {
      const bool held = std::any_of(
          secondary_.parts.begin(), secondary_.parts.end(), [&part](const KeyPartLayout& own) {
            return own.column == part.column && own.prefix_length == 0 && part.prefix_length == 0;
          });
      if (!held) parts.push_back(part);
    }
    return parts;
  }

  Record random_record() {
    Record record = table_.make_record(static_cast<std::uint8_t>(pick(256)));
    std::fill_n(record.bytes.begin(), 8, std::uint8_t{0});
    for (std::size_t i = 0; i < table_.layout().columns.size(); ++i) set_random(record, i);
    return record;
  }
  ColumnSet random_columns() {
    ColumnSet columns(table_.layout().columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (pick(2) == 0) columns.set(i);
    return columns;
  }
  std::size_t pick(std::size_t choices) { return random_() % choices; }

 private:
  void add_random_column(bool for_primary) {
    const bool nullable = !for_primary && pick(2) == 0;
    const Collation* const order = &collation(pick(kCollations));
    switch (pick(for_primary ? 7 : 8)) {
      case 0:
        table_.add(ColumnKind::kSignedInteger, static_cast<std::uint32_t>(1 + pick(8)), nullable);
        break;
      case 1:
        table_.add(ColumnKind::kUnsignedInteger, static_cast<std::uint32_t>(1 + pick(8)), nullable);
        break;
      case 2: table_.add(ColumnKind::kFloat, 4, nullable); break;
      case 3: table_.add(ColumnKind::kDouble, 8, nullable); break;
      case 4:
        table_.add(ColumnKind::kOrderedBytes, static_cast<std::uint32_t>(1 + pick(9)), nullable);
        break;
      case 5:
        table_.add(ColumnKind::kFixedString, static_cast<std::uint32_t>(1 + pick(200)), nullable,
                   order);
        break;
      case 6: table_.add_varchar(static_cast<std::uint32_t>(1 + pick(400)), nullable, order); break;
      default: table_.add_blob(static_cast<std::uint8_t>(1 + pick(4)), nullable, order);
    }
  }
  void add_parts(IndexLayout& index, bool for_primary) {
    std::vector<std::uint32_t> columns;
    for (std::uint32_t i = 0; i < table_.layout().columns.size(); ++i)
      if (!for_primary || !table_.column(i).nullable) columns.push_back(i);
    std::shuffle(columns.begin(), columns.end(), random_);
    columns.resize(1 + pick(std::min<std::size_t>(columns.size(), 4)));
    for (const std::uint32_t i : columns) {
      const ColumnLayout& column = table_.column(i);
      KeyPartLayout part;
      part.column = i;
      part.descending = pick(3) == 0;
      const bool may_have_prefix = column.kind >= ColumnKind::kOrderedBytes;
      if (column.kind == ColumnKind::kBlob || (may_have_prefix && pick(4) == 0)) {
        part.prefix_length = static_cast<std::uint32_t>(1 + pick(6));
        part.tuple_length = part.prefix_length;
        if (column.kind == ColumnKind::kOrderedBytes)
          part.tuple_length = std::min(part.prefix_length, column.record_length);
        else if (column.collation != &binary_collation())
          part.tuple_length *= 2;
      }
      index.parts.push_back(part);
    }
  }
  bool is_primary(std::size_t column) const {
    return std::any_of(primary_.parts.begin(), primary_.parts.end(),
                       [=](const KeyPartLayout& part) { return part.column == column; });
  }

  std::string random_string(std::size_t longest) {
    static constexpr std::string_view kBytes("\x00\x01\x1F  aAsz~\xC3\xDF\xFF", 13);
    static constexpr std::size_t kRuns[] = {1, 2, 125, 126, 127, 252, 253};
    std::string value;
    const std::size_t pieces = pick(6);
    for (std::size_t i = 0; i < pieces; ++i) {
      if (pick(6) == 0) value.append(kRuns[pick(7)], ' ');
      value.push_back(kBytes[pick(kBytes.size())]);
    }
    value.append(pick(4) == 0 ? pick(5) : 0, ' ');
    return value.substr(0, longest);
  }
  void set_random(Record& record, std::size_t i) {
    const ColumnLayout& column = table_.column(i);
    if (column.nullable && pick(4) == 0) return table_.set_null(record, i);
    static constexpr std::uint64_t kIntegers[] = {0,      1,      0x7F,  0x80,       0xFF,
                                                  0x7FFF, 0x8000, ~0ULL, 1ULL << 63, ~(1ULL << 63)};
    static constexpr double kDoubles[] = {0.0, -0.0, 1.5, -1.5, 1e300, -1e300, 5e-324};
    static constexpr float kFloats[] = {0.0F, -0.0F, 1.5F, -1.5F, 3e38F, -3e38F, 1e-45F};
    switch (column.kind) {
      case ColumnKind::kSignedInteger:
      case ColumnKind::kUnsignedInteger: return table_.set_integer(record, i, kIntegers[pick(10)]);
      case ColumnKind::kFloat: return table_.set_float(record, i, kFloats[pick(7)]);
      case ColumnKind::kDouble: return table_.set_double(record, i, kDoubles[pick(7)]);
      case ColumnKind::kOrderedBytes:
        return table_.set_bytes(record, i,
                                std::string(column.record_length, '\0')
                                    .replace(pick(column.record_length), 1, 1, '\xFF'));
      case ColumnKind::kFixedString: {
        // The server strips nothing: a record's CHAR is what was stored, padded.
        return table_.set_string(record, i, random_string(column.record_length));
      }
      case ColumnKind::kVariableString:
        return table_.set_string(record, i,
                                 random_string(column.record_length - column.length_bytes));
      case ColumnKind::kBlob:
        return table_.set_string(record, i, random_string(column.length_bytes == 1 ? 255 : 1000));
    }
  }

  Random random_;
  TestTable table_;
  IndexLayout primary_;
  IndexLayout secondary_;
};

// A copy in a block of memory of exactly its size, so that the sanitizer sees every byte too far.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes)
      : size_(bytes.size()), bytes_(std::make_unique<char[]>(size_)) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace basalt::codec::test
