-- LinkBench's ten operations. Each draws a request, and does what it asks for when told,
-- again if need be: a deadlock must not change the mix.
--
--    local operations = require("operations").new(options, reader, writer)
--    local operation = operations.draw()
--    operation.work(operation.request())
--
-- `reader` is a connection in autocommit; `writer` has autocommit off.

local choices = require("choice")
local payload = require("payload")
local affected_rows = require("affected")

local operations = {}

local LINK_TYPE, NODE_TYPE = 123456789, 2048
local LIST_LIMIT = 10000
-- Lists that did not end with the limit are continued by this share of the requests for lists.
local HISTORY_SHARE, HISTORY_KEPT = 0.003, 64
local LATEST = "9223372036854775807"

local format, random = string.format, math.random

-- Percent of all operations: as measured in 2011, and as published in August 2017.
operations.mixes = {
   ["2011"] = {add_link = 8.9886601, delete_link = 2.9907664, update_link = 8.0122125,
               count_links = 4.8863567, get_link = 0.5261142, get_links_list = 50.7119145,
               get_node = 12.9326683, add_node = 2.5732789, update_node = 7.366437,
               delete_node = 1.0115914},
   ["2017"] = {add_link = 5.35038, delete_link = 0.98401, update_link = 4.75589,
               count_links = 4.27898, get_link = 12.14725, get_links_list = 22.57039,
               get_node = 43.9869, add_node = 2.61198, update_node = 3.06256,
               delete_node = 0.25166},
}
-- The order in which the mix is cut into ranges: part of what makes runs repeatable.
local NAMES = {"get_links_list", "get_node", "add_link", "update_link", "update_node",
               "count_links", "delete_link", "add_node", "delete_node", "get_link"}

local WHERE_LINK = "WHERE id1 = %d AND id2 = %d AND link_type = %d"
-- Links are looked for by their primary key with every engine. The optimizer would sometimes choose
-- the index id1_type, and read all links of the node.
local BY_KEY = "linktable FORCE INDEX (PRIMARY) "

-- Milliseconds; later than all that was loaded. Not part of what makes runs repeatable.
local function now()
   return os.time() * 1000 + math.floor(random() * 1000)
end

-- A function that draws operations as a mix has them.
local function drawer(mix, all)
   local bounds, total = {}, 0
   for at, name in ipairs(NAMES) do
      total = total + mix[name]
      bounds[at] = total
   end
   return function()
      local drawn, at = random() * total, 1
      while drawn >= bounds[at] and at < #bounds do
         at = at + 1
      end
      return all[NAMES[at]]
   end
end

-- Makes the count of a node's visible links one more (or, with step -1, less).
local function count(writer, id, type, step, time)
   local changed = step > 0 and "count + 1" or "IF(count = 0, 0, count - 1)"
   writer:query(format(
      "INSERT INTO counttable (id, link_type, count, time, version) VALUES (%d, %d, %d, %d, 0) " ..
      "ON DUPLICATE KEY UPDATE count = %s, version = version + 1, time = %d",
      id, type, step > 0 and 1 or 0, time, changed, time))
end

local function link_operations(choice, data, reader, writer)
   local affected = affected_rows(writer)
   local link, all = data.link, {}

   local function request(share)
      return function()
         local id1, type = choice.list()
         return {id1 = id1, type = LINK_TYPE + type, id2 = choice.other_end(id1, type, share),
                 time = now(), data = link.literal()}
      end
   end

   -- Adding and updating are the same. Rows affected: 1 is a new link, 2 one that was hidden, 0
   -- one that was visible.
   local function put(r)
      writer:query(format(
         "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) " ..
         "VALUES (%d, %d, %d, 1, %s, %d, 0) ON DUPLICATE KEY UPDATE visibility = 1",
         r.id1, r.id2, r.type, r.data, r.time))
      local rows = affected()
      if rows ~= 0 then
         count(writer, r.id1, r.type, 1, r.time)
      end
      if rows ~= 1 then
         writer:query(format("UPDATE " .. BY_KEY .. "SET visibility = 1, data = %s, time = %d, " ..
                             "version = 0 " .. WHERE_LINK, r.data, r.time, r.id1, r.id2, r.type))
      end
      writer:query("COMMIT")
   end

   local function hide(r)
      local rows = writer:query(format("SELECT visibility FROM " .. BY_KEY .. WHERE_LINK ..
                                       " FOR UPDATE", r.id1, r.id2, r.type))
      local is_visible = rows.nrows > 0 and tonumber(rows:fetch_row()[1]) == 1
      rows:free()
      if is_visible then
         writer:query(format("UPDATE " .. BY_KEY .. "SET visibility = 0 " .. WHERE_LINK,
                             r.id1, r.id2, r.type))
         count(writer, r.id1, r.type, -1, r.time)
      end
      writer:query("COMMIT")
   end

   all.add_link = {request = request(choices.add), work = put}
   all.update_link = {request = request(choices.change), work = put}
   all.delete_link = {request = request(choices.change), work = hide}

   local function batch_request()
      local id1, type = choice.list()
      local ids = {}
      for at = 1, choices.batch() do
         ids[at] = format("%d", choice.other_end(id1, type, choices.get))
      end
      return {id1 = id1, type = LINK_TYPE + type, ids = table.concat(ids, ", ")}
   end

   all.get_link = {request = batch_request, work = function(r)
      reader:query(format("SELECT id1, id2, link_type, visibility, data, time, version FROM " ..
                          BY_KEY .. "WHERE id1 = %d AND link_type = %d AND id2 IN (%s)",
                          r.id1, r.type, r.ids)):free()
   end}
   return all
end

local function list_operations(choice, reader)
   local history, all = {}, {}

   local function request()
      if #history > 0 and random() < HISTORY_SHARE then
         return table.remove(history, 1 + math.floor(random() * #history))
      end
      local id1, type = choice.list()
      return {id1 = id1, type = LINK_TYPE + type, until_time = LATEST}
   end

   local function remember(r, rows)
      local oldest
      for _ = 1, LIST_LIMIT do
         oldest = rows:fetch_row()[6]
      end
      if #history == HISTORY_KEPT then
         table.remove(history, 1)
      end
      history[#history + 1] = {id1 = r.id1, type = r.type, until_time = oldest}
   end

   all.get_links_list = {request = request, work = function(r)
      local rows = reader:query(format(
         "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable " ..
         "FORCE INDEX (id1_type) WHERE id1 = %d AND link_type = %d AND visibility = 1 " ..
         "AND time >= 0 AND time <= %s ORDER BY time DESC LIMIT 0, %d",
         r.id1, r.type, r.until_time, LIST_LIMIT))
      if rows.nrows == LIST_LIMIT then
         remember(r, rows)
      end
      rows:free()
   end}

   all.count_links = {request = function()
      local id1, type = choice.list()
      return {id1 = id1, type = LINK_TYPE + type}
   end, work = function(r)
      reader:query(format("SELECT count FROM counttable WHERE id = %d AND link_type = %d",
                          r.id1, r.type)):free()
   end}
   return all
end

local function node_operations(choice, data, reader, writer)
   local node, all = data.node, {}

   all.get_node = {request = choice.node_read, work = function(id)
      reader:query(format("SELECT id, type, version, time, data FROM nodetable WHERE id = %d",
                          id)):free()
   end}

   local function changing(request, statement)
      return {request = request, work = function(r)
         writer:query(statement(r))
         writer:query("COMMIT")
      end}
   end

   all.add_node = changing(function() return {time = os.time(), data = node.literal()} end,
      function(r)
         return format("INSERT INTO nodetable (type, version, time, data) VALUES (%d, 1, %d, %s)",
                       NODE_TYPE, r.time, r.data)
      end)
   all.update_node = changing(
      function() return {id = choice.node_update(), time = os.time(), data = node.literal()} end,
      function(r)
         return format("UPDATE nodetable SET version = version + 1, time = %d, data = %s " ..
                       "WHERE id = %d AND type = %d", r.time, r.data, r.id, NODE_TYPE)
      end)
   all.delete_node = changing(choice.node_delete, function(id)
      return format("DELETE FROM nodetable WHERE id = %d AND type = %d", id, NODE_TYPE)
   end)
   return all
end

function operations.new(options, reader, writer)
   local choice = choices.new(options.ids)
   local kinds = payload.kinds[options.mix]
   local data = {link = payload.new(kinds.link), node = payload.new(kinds.node)}
   local all = {}
   for _, some in ipairs({link_operations(choice, data, reader, writer),
                          list_operations(choice, reader),
                          node_operations(choice, data, reader, writer)}) do
      for name, operation in pairs(some) do
         operation.name = name
         all[name] = operation
      end
   end
   return {draw = drawer(operations.mixes[options.mix], all)}
end

return operations
