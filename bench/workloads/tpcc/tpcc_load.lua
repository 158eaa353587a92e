-- Fills the tables of the TPC-C-like workload. What a warehouse gets depends only on the seed, its
-- set and its number, not on the threads that load.

local random = require("random")
local rows = require("tpcc_rows")
local values = require("tpcc_values")

local load = {}

-- One date for all, so that two loads have the same rows.
local DATE = "2026-01-01 00:00:00"
local DISTRICTS = 10
local STOCK_TEXTS = "'?','?','?','?','?','?','?','?','?','?'"

local uniform = random.uniform

local function address(row, first, text)
   row[first], row[first + 1], row[first + 2] = text(uniform(10, 20)), text(uniform(10, 20)),
      text(uniform(10, 20))
   row[first + 3] = text(2)
   row[first + 4] = string.format("%04d11111", uniform(0, 9999))
end

local function load_items(connection, set, options, text)
   local item = rows.into(connection, "item" .. set .. " (i_id, i_im_id, i_name, i_price, i_data)",
                          "(?,?,'?',?,'?')")
   for id = 1, options.items do
      item.add({id, uniform(1, 10000), text(uniform(14, 24)), uniform(100, 10100) / 100,
                text(uniform(26, 50))})
   end
   item.flush()
end

local function load_warehouse(connection, set, warehouse, options, text)
   local money = options.customers * 10
   local row = {warehouse, text(uniform(6, 10))}
   address(row, 3, text)
   row[8], row[9] = uniform(0, 19) / 100, money * DISTRICTS
   local one = rows.into(connection, "warehouse" .. set, "(?,'?','?','?','?','?','?',?,?)")
   one.add(row)
   one.flush()
   local districts = rows.into(connection, "district" .. set,
                               "(?,?,'?','?','?','?','?','?',?,?,?)")
   for district = 1, DISTRICTS do
      row = {district, warehouse, text(uniform(6, 10))}
      address(row, 4, text)
      row[9], row[10], row[11] = uniform(0, 19) / 100, money, options.customers + 1
      districts.add(row)
   end
   districts.flush()
end

local function load_stock(connection, set, warehouse, options, text)
   local stock = rows.into(connection, "stock" .. set,
                           "(?,?,?," .. STOCK_TEXTS .. ",0,0,0,'?')")
   local row = {0, warehouse}
   for id = 1, options.items do
      row[1], row[3] = id, uniform(10, 100)
      for column = 4, 13 do
         row[column] = text(24)
      end
      row[14] = text(uniform(26, 50))
      stock.add(row)
   end
   stock.flush()
end

local function load_customers(connection, set, warehouse, options, text, constant)
   local customer = rows.into(
      connection, "customer" .. set,
      "(?,?," .. warehouse .. ",'?','OE','?','?','?','?','?','?','?','" .. DATE
      .. "','?',50000,?,-10,10,1,0,'?')")
   local history = rows.into(connection, "history" .. set .. " (h_c_id, h_c_d_id, h_c_w_id, h_d_id,"
                             .. " h_w_id, h_date, h_amount, h_data)",
                             "(?,?," .. warehouse .. ",?," .. warehouse .. ",'" .. DATE
                             .. "',10,'?')")
   local names = values.names(options.customers)
   local row = {}
   for district = 1, DISTRICTS do
      for id = 1, options.customers do
         local name = id <= names and id - 1 or values.nurand(255, 0, names - 1, constant)
         row[1], row[2], row[3], row[4] = id, district, text(uniform(8, 16)),
            values.last_name(name)
         address(row, 5, text)
         row[10] = string.format("%08d%08d", uniform(0, 99999999), uniform(0, 99999999))
         row[11] = uniform(1, 10) == 1 and "BC" or "GC"
         row[12], row[13] = uniform(0, 49) / 100, text(uniform(300, 500))
         customer.add(row)
         history.add({id, district, district, text(uniform(12, 24))})
      end
   end
   customer.flush()
   history.flush()
end

-- Orders and their lines; the last three of ten are not delivered yet.
local function load_orders(connection, set, warehouse, options, text)
   local orders = rows.into(connection, "orders" .. set,
                            "(?,?," .. warehouse .. ",?,'" .. DATE .. "',?,?,1)")
   local new_orders = rows.into(connection, "new_orders" .. set, "(?,?," .. warehouse .. ")")
   local lines = rows.into(connection, "order_line" .. set,
                           "(?,?," .. warehouse .. ",?,?," .. warehouse .. ",?,5,?,'?')")
   local customers = {}
   for id = 1, options.customers do
      customers[id] = id
   end
   random.shuffle(customers)
   local delivered = math.floor(options.customers * 7 / 10)
   local line = {}
   for district = 1, DISTRICTS do
      for id = 1, options.customers do
         local is_delivered, count = id <= delivered, uniform(5, 15)
         orders.add({id, district, customers[id], is_delivered and uniform(1, 10) or "NULL", count})
         if not is_delivered then
            new_orders.add({id, district})
         end
         line[1], line[2], line[5] = id, district, is_delivered and "'" .. DATE .. "'" or "NULL"
         for number = 1, count do
            line[3], line[4] = number, uniform(1, options.items)
            line[6] = is_delivered and 0 or uniform(0, 999998) / 100
            line[7] = text(24)
            lines.add(line)
         end
      end
   end
   orders.flush()
   new_orders.flush()
   lines.flush()
end

-- Loads the part of this thread; the parts of all threads together are everything.
function load.run(connection, options)
   local text = values.texts(options.incompressible, options.rand_seed)
   random.seed(options.rand_seed, 0, 1)
   local constant = uniform(0, 255)
   local unit = 0
   for set = 1, options.tables do
      for warehouse = 0, options.scale do
         if unit % options.threads == sysbench.tid then
            random.seed(options.rand_seed, set, warehouse + 1)
            if warehouse == 0 then
               load_items(connection, set, options, text)
            else
               load_warehouse(connection, set, warehouse, options, text)
               load_stock(connection, set, warehouse, options, text)
               load_customers(connection, set, warehouse, options, text, constant)
               load_orders(connection, set, warehouse, options, text)
            end
         end
         unit = unit + 1
      end
   end
end

return load
