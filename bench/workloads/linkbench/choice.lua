-- What an operation works on: nodes by Zipf's law, links by the degree of their node.
--
--    local choice = require("choice").new(ids)
--    choice.node_read()                -- a node
--    local id, type = choice.list()    -- a node and a type of its links

local graph = require("graph")

local choice = {}

local random, ceil, floor, log = math.random, math.ceil, math.floor, math.log

-- Accesses to links that have nothing to do with the degrees of nodes; the others go to the nodes
-- with the most links. Both reads and writes: LinkBench means another share for writes, but does
-- not read its option, and takes that of the reads.
local UNCORRELATED = 0.995
local LINK_SHAPE, NODE_READ_SHAPE, NODE_UPDATE_SHAPE = 0.8, 0.625, 0.606

-- The share of choices among a node's possible links that hit one it was loaded with.
choice.get, choice.change, choice.add = 0.5, 0.9, 0.05

-- The sum of n^-shape for n from 1 to `size`: term by term, and by an integral where that is as
-- good.
local function zeta(size, shape)
   local sum, terms = 0, math.min(size, 10000)
   for n = 1, terms do
      sum = sum + n ^ -shape
   end
   local rest = 1 - shape
   return sum + ((size + 0.5) ^ rest - (terms + 0.5) ^ rest) / rest
end

-- A function that draws ranks from 0 to size - 1 by Zipf's law, with the method of Gray et al.
-- (Quickly generating billion-record synthetic databases, 1994).
function choice.zipf(size, shape)
   local sum = zeta(size, shape)
   local first = 1 / sum
   local second = first + 0.5 ^ shape / sum
   local power = 1 / (1 - shape)
   local eta = (1 - (2 / size) ^ (1 - shape)) / (1 - (1 + 0.5 ^ shape) / sum)
   return function()
      local u = random()
      if u < first then
         return 0
      elseif u < second then
         return 1
      end
      return math.min(size - 1, floor(size * (eta * u - eta + 1) ^ power))
   end
end

-- The number of ids that one get_link asks for: one more than a geometric number, at most 127.
function choice.batch()
   return math.min(127, 1 + ceil(log(1 - random()) / log(1 - 0.382) + 1e-12))
end

function choice.new(ids)
   local g = graph.new(ids)
   local link_rank = choice.zipf(ids, LINK_SHAPE)
   local node_read_rank = choice.zipf(ids, NODE_READ_SHAPE)
   local node_update_rank = choice.zipf(ids, NODE_UPDATE_SHAPE)
   local chosen = {}

   function chosen.node_read() return g.shuffled(node_read_rank()) end
   function chosen.node_update() return g.shuffled(node_update_rank()) end
   function chosen.node_delete() return 1 + floor(random() * ids) end

   -- The node whose links are looked at, and their type: 0 or 1.
   function chosen.list()
      local type = floor(random() * 2)
      local rank = link_rank()
      if random() < UNCORRELATED then
         return g.shuffled(rank), type
      end
      return g.of_degree(rank), type
   end

   -- One of a node's possible links. A node without links has one possible link.
   function chosen.other_end(id, type, share)
      local possible = math.max(1, ceil(g.links(id, type) / share))
      return id + floor(random() * possible)
   end

   return chosen
end

return choice
