-- The values of the TPC-C-like workload that do not depend on a connection: texts, names, and
-- the uneven choice of customers and items.

local bit = require("bit")
local random = require("random")

local values = {}

local SYLLABLES = {[0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION",
                   "EING"}
-- Slices of a pool are drawn, not characters: a pool this much larger than a block of any engine
-- leaves compression nothing to find.
local POOL = 1048576

-- The last name of a number from 0 to 999.
function values.last_name(number)
   return SYLLABLES[math.floor(number / 100)] .. SYLLABLES[math.floor(number / 10) % 10]
      .. SYLLABLES[number % 10]
end

-- How many last names a district with so many customers has: those of numbers from 0 on.
function values.names(customers)
   return math.min(1000, customers)
end

-- The specification's uneven choice: numbers from `low` to `high`, some far more often.
function values.nurand(a, low, high, constant)
   local drawn = bit.bor(random.uniform(0, a), random.uniform(low, high))
   return (drawn + constant) % (high - low + 1) + low
end

-- Every character of Latin-1 that can be seen and needs no quoting in SQL.
local function alphabet()
   local characters = {}
   for code = 33, 255 do
      local character = string.char(code)
      if (code < 127 or code > 160) and character ~= "'" and character ~= "\\" then
         characters[#characters + 1] = character
      end
   end
   return table.concat(characters)
end

local function repeated_texts()
   local known = {}
   return function(length)
      local letter = random.uniform(97, 122)
      local key = length * 256 + letter
      local text = known[key]
      if not text then
         text = string.rep(string.char(letter), length)
         known[key] = text
      end
      return text
   end
end

local function incompressible_texts(seed)
   random.seed(seed, 0, 0)
   local pool = random.text(POOL, alphabet())
   return function(length)
      local first = random.uniform(1, POOL - length + 1)
      return pool:sub(first, first + length - 1)
   end
end

-- A function from a length to a text: one letter repeated, as the studies' loads had it, or text
-- that no compression makes smaller. Making the latter restarts the random numbers.
function values.texts(is_incompressible, seed)
   return is_incompressible and incompressible_texts(seed) or repeated_texts()
end

return values
