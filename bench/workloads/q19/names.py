"""The words that columns of part and lineitem are made of."""

from __future__ import annotations

import itertools

BRANDS = tuple(f"Brand#{first}{second}" for first in range(1, 6) for second in range(1, 6))
MANUFACTURERS = tuple(f"Manufacturer#{number}" for number in range(1, 6))
CONTAINERS = tuple(" ".join(pair) for pair in itertools.product(
    ("SM", "MED", "LG", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")))
TYPES = tuple(" ".join(triple) for triple in itertools.product(
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")))
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
RETURN_FLAGS = ("R", "A", "N")
RETURN_NONE = RETURN_FLAGS.index("N")
STATUSES = ("F", "O")

COLOURS = (
    "amber", "apricot", "ash", "azure", "beige", "black", "bronze", "brown", "carmine", "cherry",
    "cobalt", "copper", "coral", "cream", "crimson", "ebony", "emerald", "golden", "green", "grey",
    "indigo", "ivory", "jade", "lemon", "lilac", "lime", "maroon", "mauve", "mustard", "ochre",
    "olive", "orange", "pearl", "pink", "plum", "purple", "red", "rose", "ruby", "rust", "saffron",
    "sand", "scarlet", "silver", "slate", "teal", "turquoise", "umber", "violet", "white", "yellow")

# Comments are pieces of one long text of these words.
COMMENT_WORDS = (
    "the", "a", "of", "over", "under", "beside", "among", "before", "after", "without", "parcels",
    "orders", "deposits", "invoices", "accounts", "requests", "packages", "couriers", "carriers",
    "ledgers", "harbours", "wagons", "clerks", "sailors", "quickly", "slowly", "calmly", "boldly",
    "quietly", "wait", "sleep", "travel", "arrive", "argue", "vanish", "settle", "gather",
    "regular", "special", "final", "pending", "early", "silent", "careful", "daring", "thin",
    "even", "odd")
COMMENT_STARTS = 1_000_000
COMMENT_MAX = 43
