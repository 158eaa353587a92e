-- Fills the tables. What a node and its links hold follows from the seed and the node's chunk, so
-- that any number of threads makes the same data.

local graph = require("graph")
local payload = require("payload")
local random = require("random")

local LINK_TYPE, NODE_TYPE = 123456789, 2048
local CHUNK = 1000
local LOADERS = 10 -- LinkBench's number: each of its loaders has a motif of its own
-- The load's time of day, in seconds: fixed, for the data are to be the same each time.
local LOADED_AT = 1483228800
local OLDEST_DAYS = 50

local COLUMNS = {
   nodetable = "id, type, version, time, data",
   linktable = "id1, id2, link_type, visibility, data, time, version",
   counttable = "id, link_type, count, time, version",
}
local BATCH = {nodetable = 500, linktable = 1024, counttable = 1024}

local format, uniform = string.format, random.uniform

-- Collects rows and inserts them, many in one statement.
local function inserter(connection, table_name)
   local rows, count, batch = {}, 0, BATCH[table_name]
   local head = format("INSERT INTO %s (%s) VALUES ", table_name, COLUMNS[table_name])
   local insert = {}

   function insert.finish()
      if count > 0 then
         connection:query(head .. table.concat(rows, ",", 1, count))
         count = 0
      end
   end

   function insert.row(row)
      count = count + 1
      rows[count] = row
      if count == batch then
         insert.finish()
      end
   end

   return insert
end

-- The payload generators of LinkBench's loaders.
local function generators(seed, mix)
   local made = {}
   for loader = 0, LOADERS - 1 do
      random.seed(seed, 1, loader)
      made[loader] = {link = payload.new(payload.kinds[mix].link),
                      node = payload.new(payload.kinds[mix].node)}
   end
   return made
end

local function load_nodes(insert, first, last, generator)
   for id = first, last do
      insert.row(format("(%d,%d,1,%d,%s)", id, NODE_TYPE, LOADED_AT, generator.literal()))
   end
   insert.finish()
end

local function load_links(insert, g, type, first, last, generator)
   for id = first, last do
      for id2 = id, id + g.links(id, type) - 1 do
         local time = LOADED_AT * 1000 - uniform(0, OLDEST_DAYS * 86400000)
         insert.row(format("(%d,%d,%d,1,%s,%d,0)", id, id2, LINK_TYPE + type, generator.literal(),
                           time))
      end
   end
   insert.finish()
end

local function load_counts(insert, g, first, last)
   for id = first, last do
      for type = 0, 1 do
         local links = g.links(id, type)
         if links > 0 then
            insert.row(format("(%d,%d,%d,%d,0)", id, LINK_TYPE + type, links, LOADED_AT * 1000))
         end
      end
   end
   insert.finish()
end

-- The part of the load that falls to one of `threads` threads, numbered from 0.
return function(connection, options, thread, threads)
   local ids, seed = options.ids, options.rand_seed
   local g, loaders = graph.new(ids), generators(seed, options.mix)
   local nodes, links, counts = inserter(connection, "nodetable"),
      inserter(connection, "linktable"), inserter(connection, "counttable")
   for chunk = thread, math.ceil(ids / CHUNK) - 1, threads do
      local first, last = chunk * CHUNK + 1, math.min(ids, (chunk + 1) * CHUNK)
      local loader = loaders[chunk % LOADERS]
      random.seed(seed, 2, chunk)
      load_nodes(nodes, first, last, loader.node)
      for type = 0, 1 do
         load_links(links, g, type, first, last, loader.link)
      end
      load_counts(counts, g, first, last)
   end
end
