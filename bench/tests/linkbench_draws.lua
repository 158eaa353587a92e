-- Draws from LinkBench's distributions, without a server; test_linkbench.py looks at the figures.

local choice = require("choice")
local graph = require("graph")
local payload = require("payload")
local random = require("random")

local DRAWS, SIZE = 200000, 5000

local function report(name, value)
   print(string.format("%s %.6f", name, value))
end

local function zipf(shape)
   local draw, first, second, tenth = choice.zipf(SIZE, shape), 0, 0, 0
   for _ = 1, DRAWS do
      local rank = draw()
      assert(rank >= 0 and rank < SIZE and rank % 1 == 0)
      first = first + (rank == 0 and 1 or 0)
      second = second + (rank == 1 and 1 or 0)
      tenth = tenth + (rank < SIZE / 10 and 1 or 0)
   end
   report("zipf_first_" .. shape, first / DRAWS)
   report("zipf_second_" .. shape, second / DRAWS)
   report("zipf_tenth_" .. shape, tenth / DRAWS)
end

local function permutation()
   local forward, backward = graph.permutation(SIZE, 1)
   local seen, inverted, product = {}, 0, 0
   local middle = (SIZE - 1) / 2
   for value = 0, SIZE - 1 do
      seen[forward(value)] = true
      inverted = inverted + (backward(forward(value)) == value and 1 or 0)
      product = product + (value - middle) * (forward(value) - middle)
   end
   local images = 0
   for value = 0, SIZE - 1 do
      images = images + (seen[value] and 1 or 0)
   end
   report("permutation_images", images)
   report("permutation_inverted", inverted)
   report("permutation_correlation", product / (SIZE * (SIZE * SIZE - 1) / 12))
end

local function nodes()
   local chosen, g = choice.new(SIZE), graph.new(SIZE)
   local hub, hub_hits, types, batch, longest = g.of_degree(0), 0, 0, 0, 0
   for _ = 1, DRAWS do
      local id, type = chosen.list()
      hub_hits = hub_hits + (id == hub and 1 or 0)
      types = types + type
      local ids = choice.batch()
      batch, longest = batch + ids, math.max(longest, ids)
   end
   report("hub_links", g.links(hub, 0) + g.links(hub, 1))
   report("second_type", types / DRAWS)
   report("batch_mean", batch / DRAWS)
   report("batch_longest", longest)
   local last = 0
   for _ = 1, DRAWS do
      last = math.max(last, chosen.other_end(hub, 0, choice.get) - hub)
   end
   report("other_ends", (last + 1) / g.links(hub, 0))
end

local function lengths(mix, of)
   local all, made = {}, payload.new(payload.kinds[mix][of])
   for at = 1, 20000 do
      all[at] = #made.literal() - 2
   end
   table.sort(all)
   report("median_" .. of .. "_" .. mix, all[#all / 2])
end

function event()
   random.seed(20110101)
   for _, shape in ipairs({0.606, 0.625, 0.8}) do
      zipf(shape)
   end
   permutation()
   nodes()
   for _, mix in ipairs({"2011", "2017"}) do
      lengths(mix, "link")
      lengths(mix, "node")
   end
end
