-- Numbers that depend on nothing but a seed: sysbench's own generator gives each thread a stream
-- by the order in which the threads happen to start.
--
--    local random = require("random")
--    random.seed(sysbench.opt.rand_seed, sysbench.tid)    -- in thread_init()
--    random.uniform(1, 10)                                -- 1 to 10, both included
--
-- The generator is LuaJIT's math.random, one for each thread.

local random = {}

local mathrandom, floor = math.random, math.floor

-- Starts the stream of these numbers, whole and not negative; other numbers, another stream.
function random.seed(...)
   local mixed = 0
   for place = 1, select("#", ...) do
      -- Exact as long as the numbers are below 2^36: nothing here reaches 2^53.
      mixed = (mixed * 48271 + select(place, ...) * 69069 + 12345) % 2147483647
   end
   math.randomseed(mixed)
end

-- A whole number from `low` to `high`, both included.
function random.uniform(low, high)
   return low + floor(mathrandom() * (high - low + 1))
end

-- Shuffles a list in place.
function random.shuffle(list)
   for last = #list, 2, -1 do
      local other = random.uniform(1, last)
      list[last], list[other] = list[other], list[last]
   end
   return list
end

-- A string of `length` characters of `alphabet`, each drawn for itself.
function random.text(length, alphabet)
   local characters = {}
   local size = #alphabet
   for place = 1, length do
      local at = 1 + floor(mathrandom() * size)
      characters[place] = alphabet:sub(at, at)
   end
   return table.concat(characters)
end

return random
