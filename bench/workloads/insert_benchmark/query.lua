-- The clients of the insert benchmark that read. An event is one query:
--   --kind=range    ten entries of a secondary index from a random value on, never touching a row;
--                   the three indexes take turns in a random order
--   --kind=point    ten rows by their ids

local random = require("random")
local recorder = require("recorder")

sysbench.cmdline.options = recorder.options({
   tables = {"Tables; a thread uses the one of its number, from the first on again", 1},
   shape = {"Columns and indexes: 2017 or current", "2017"},
   kind = {"range or point", "range"},
   marketsegment = {"Columns of the index, with commas", ""},
   registersegment = {"Columns of the index, with commas", ""},
   pdc = {"Columns of the index, with commas", ""},
})

local INDEXES = {"marketsegment", "registersegment", "pdc"}
local POINTS = 10
local POINTS_BEFORE_LOOKING = 1000 -- after so many queries the newest id is asked for again

local con, table_name
local queries, turn = {}, 0
local lowest, highest, points = 1, 1, 0

local function price_2017()
   return string.format("%.2f", random.uniform(0, 100499) / 100)
end

-- By the first column of an index: how it is compared, and with what.
local STARTS = {
   price = {">=", function()
      return sysbench.opt.shape == "2017" and price_2017() or random.uniform(0, 499)
   end},
   cashregisterid = {">", function() return random.uniform(0, 999) end},
   productid = {">", function() return random.uniform(0, 9999) end},
}

local function range_query(index)
   local columns = sysbench.opt[index]
   local first = columns:match("^%w+")
   local start = assert(STARTS[first], "no range query begins with " .. tostring(first))
   return {
      name = index,
      head = string.format("SELECT %s FROM %s FORCE INDEX (%s) WHERE %s %s ", columns, table_name,
                           index, first, start[1]),
      draw = start[2],
      tail = " ORDER BY " .. columns .. " LIMIT 10",
   }
end

local function look()
   local least, greatest = con:query_row(
      "SELECT COALESCE(MIN(transactionid), 1), COALESCE(MAX(transactionid), 1) FROM " .. table_name)
   lowest, highest = tonumber(least), tonumber(greatest)
end

function thread_init()
   con = sysbench.sql.driver():connect()
   random.seed(sysbench.opt.rand_seed, sysbench.tid, 3)
   table_name = "purchases" .. sysbench.tid % sysbench.opt.tables + 1
   if sysbench.opt.kind == "range" then
      for place, index in ipairs(INDEXES) do
         queries[place] = range_query(index)
      end
   end
end

local function query_range(query)
   con:query(query.head .. query.draw() .. query.tail)
end

local function query_points()
   local ids = {}
   for place = 1, POINTS do
      ids[place] = random.uniform(lowest, highest)
   end
   con:query("SELECT transactionid,dateandtime,cashregisterid,customerid,productid,price,data FROM "
             .. table_name .. " WHERE transactionid IN (" .. table.concat(ids, ",") .. ")")
end

function event()
   if sysbench.opt.kind == "point" then
      if points % POINTS_BEFORE_LOOKING == 0 then
         look()
      end
      points = points + 1
      recorder.run("points", query_points)
      return
   end
   turn = turn % #queries + 1
   if turn == 1 then
      random.shuffle(queries)
   end
   recorder.run(queries[turn].name, query_range, queries[turn])
end

function thread_done()
   recorder.write()
   con:disconnect()
end
