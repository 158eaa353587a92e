-- The social graph: which nodes have how many links. It follows from the number of nodes alone.
--
--    local graph = require("graph")
--    local g = graph.new(ids)          -- nodes 1 to ids
--    g.links(id, type)                 -- links of type 0 or 1 that the node is loaded with
--    g.shuffled(rank)                  -- ranks 0 to ids - 1 to nodes: a permutation
--    g.of_degree(rank)                 -- the node with the most links is rank 0

local bit = require("bit")

local graph = {}

local band, bxor, rshift, tobit = bit.band, bit.bxor, bit.rshift, bit.tobit
local ceil, floor = math.ceil, math.floor

-- The share of nodes that have more links than this, at points of the published distribution.
-- Its maximum is the degree that one of a hundred million nodes exceeds: with that the mean of
-- ten million nodes is the published 4.1.
local DEGREES = {0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000,
                 10000, 50000, 961963}
local ABOVE = {0.5467, 0.2254, 0.1304, 0.0801, 0.0555, 0.0417, 0.0328, 0.0224, 0.0167, 0.0097,
               0.0067, 0.00443, 0.00278, 0.00169, 0.00115, 0.00073, 0.00049, 0.00031, 0.00013,
               0.00005, 0.000002, 0.00000001}

-- The degree that a share of the nodes exceeds: powers between the points.
function graph.degree(share)
   local low, high = 1, #ABOVE
   while low < high do
      local middle = floor((low + high) / 2)
      if share >= ABOVE[middle] then
         high = middle
      else
         low = middle + 1
      end
   end
   if low <= 2 then
      return DEGREES[low]
   end
   local power = math.log(DEGREES[low] / DEGREES[low - 1]) / math.log(ABOVE[low - 1] / ABOVE[low])
   local degree = DEGREES[low - 1] * (ABOVE[low - 1] / share) ^ power
   return ceil(math.min(degree, DEGREES[low]) - 1e-6)
end

-- How many of a node's links are of type 0 or 1. LinkBench's split gives more than the degree: the
-- remainder that it deals out, one link to a type, is the degree less one half and not two halves.
function graph.split(degree, type)
   local half = floor(degree / 2)
   return type < degree - half and half + 1 or half
end

-- A permutation of 0 to size - 1 and its inverse: a Feistel network on the next power of four,
-- walked until it comes back below the size.
function graph.permutation(size, key)
   local bits = 1
   while 4 ^ bits < size do
      bits = bits + 1
   end
   local mask, width = 2 ^ bits - 1, 2 ^ bits

   local function scrambled(half, round)
      local mixed = band(tobit(half * 48271 + round * 1000003 + key), 0x7fffffff)
      mixed = bxor(mixed, rshift(mixed, 15))
      mixed = tobit(band(mixed, 0xfffff) * 2657 + rshift(mixed, 9))
      return band(bxor(mixed, rshift(mixed, 11)), mask)
   end

   local function forward(value)
      repeat
         local left, right = floor(value / width), value % width
         for round = 1, 4 do
            left, right = right, bxor(left, scrambled(right, round))
         end
         value = left * width + right
      until value < size
      return value
   end

   local function backward(value)
      repeat
         local left, right = floor(value / width), value % width
         for round = 4, 1, -1 do
            left, right = bxor(right, scrambled(left, round)), left
         end
         value = left * width + right
      until value < size
      return value
   end

   return forward, backward
end

function graph.new(ids)
   local of_degree, degree_rank = graph.permutation(ids, 20110101)
   local shuffled = graph.permutation(ids, 73939133)
   return {
      links = function(id, type)
         return graph.split(graph.degree((degree_rank(id - 1) + 0.5) / ids), type)
      end,
      shuffled = function(rank) return shuffled(rank) + 1 end,
      of_degree = function(rank) return of_degree(rank) + 1 end,
   }
end

return graph
