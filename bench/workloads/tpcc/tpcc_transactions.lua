-- The five transactions of the TPC-C-like workload.
--
-- With logic=quirks they do what the program of the published studies does, which differs from the
-- specification: there are no remote warehouses, order status reads the lines of order 1 to 10
-- instead of the customer's last one, new order changes nothing of a stock row but its quantity,
-- payment does not count payments, and amounts of order lines are whole numbers.
-- With both, as in the studies, each thread draws the constants of its uneven choices itself, and
-- the load is the same: the specification's rules for terminals and keying times are not followed.

local ffi = require("ffi")
local random = require("random")
local values = require("tpcc_values")

ffi.cdef("void sb_counter_inc(int thread_id, sb_counter_type type);")

local transactions = {}

local DISTRICTS = 10
local C_DATA_MAX = 500
-- Of 23 transactions.
local WEIGHTS = {{"new_order", 10}, {"payment", 10}, {"order_status", 1}, {"delivery", 1},
                 {"stock_level", 1}}

local uniform = random.uniform

local connection, options, is_spec
local constants -- of the uneven choices

local function query(sql)
   return connection:query(sql)
end

local function query_row(sql)
   return connection:query_row(sql)
end

local function some_customer()
   return values.nurand(1023, 1, options.customers, constants.customer)
end

local function some_name()
   return values.last_name(values.nurand(255, 0, values.names(options.customers) - 1,
                                         constants.name))
end

local function some_item()
   return values.nurand(8191, 1, options.items, constants.item)
end

-- A warehouse that is not `home`, where there is one.
local function other_warehouse(home)
   if options.scale == 1 then
      return home
   end
   local other = uniform(1, options.scale - 1)
   return other < home and other or other + 1
end

-- Set, warehouse and district that a transaction is about.
local function place()
   return uniform(1, options.tables), uniform(1, options.scale), uniform(1, DISTRICTS)
end

-- The rows with a last name are in order of first names; whose is in the middle is meant.
local function customers_by_name(set, warehouse, district, columns)
   local name = some_name()
   local where = " FROM customer" .. set .. " WHERE c_w_id = " .. warehouse .. " AND c_d_id = "
      .. district .. " AND c_last = '" .. name .. "'"
   local count = tonumber((query_row("SELECT COUNT(c_id)" .. where)))
   local rows = query("SELECT " .. columns .. where .. " ORDER BY c_first")
   local middle
   for _ = 1, math.ceil(count / 2) do
      middle = rows:fetch_row()
   end
   return middle
end

-- One line of a new order; false if there is no such item.
local function order_line(set, order, line, item)
   local price = query_row("SELECT i_price, i_name, i_data FROM item" .. set
                           .. " WHERE i_id = " .. item)
   if not price then
      return false
   end
   local supplier, quantity = order.suppliers[line], uniform(1, 10)
   local stock = " stock" .. set
   local where = " WHERE s_i_id = " .. item .. " AND s_w_id = " .. supplier
   local left, _, text = query_row(
      string.format("SELECT s_quantity, s_data, s_dist_%02d FROM", order.district) .. stock .. where
      .. " FOR UPDATE")
   left = tonumber(left)
   local is_enough = is_spec and left >= quantity + 10 or not is_spec and left > quantity
   left = is_enough and left - quantity or left - quantity + 91
   local counters = ""
   if is_spec then
      counters = ", s_ytd = s_ytd + " .. quantity .. ", s_order_cnt = s_order_cnt + 1"
         .. (supplier ~= order.warehouse and ", s_remote_cnt = s_remote_cnt + 1" or "")
   end
   query("UPDATE" .. stock .. " SET s_quantity = " .. left .. counters .. where)
   local amount = is_spec and string.format("%.2f", quantity * price)
      or string.format("%d", quantity * price * order.tax * order.discount)
   query("INSERT INTO order_line" .. set .. " (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,"
         .. " ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (" .. order.id .. ","
         .. order.district .. "," .. order.warehouse .. "," .. line .. "," .. item .. ","
         .. supplier .. "," .. quantity .. "," .. amount .. ",'" .. text .. "')")
   return true
end

-- The head of a new order; returns what its lines need.
local function order_head(set, warehouse, district, count)
   local suppliers, is_local = {}, 1
   for line = 1, count do
      suppliers[line] = warehouse
      if is_spec and uniform(1, 100) == 1 and options.scale > 1 then
         suppliers[line], is_local = other_warehouse(warehouse), 0
      end
   end
   local customer = some_customer()
   local discount, _, _, warehouse_tax = query_row(
      "SELECT c_discount, c_last, c_credit, w_tax FROM customer" .. set .. ", warehouse" .. set
      .. " WHERE w_id = " .. warehouse .. " AND c_w_id = w_id AND c_d_id = " .. district
      .. " AND c_id = " .. customer)
   local which = " WHERE d_w_id = " .. warehouse .. " AND d_id = " .. district
   local id, district_tax = query_row("SELECT d_next_o_id, d_tax FROM district" .. set .. which
                                      .. " FOR UPDATE")
   query("UPDATE district" .. set .. " SET d_next_o_id = " .. id + 1 .. which)
   query("INSERT INTO orders" .. set .. " (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt,"
         .. " o_all_local) VALUES (" .. id .. "," .. district .. "," .. warehouse .. ","
         .. customer .. ",NOW()," .. count .. "," .. is_local .. ")")
   query("INSERT INTO new_orders" .. set .. " (no_o_id, no_d_id, no_w_id) VALUES (" .. id .. ","
         .. district .. "," .. warehouse .. ")")
   return {id = id, warehouse = warehouse, district = district, suppliers = suppliers,
           discount = 1 - discount, tax = 1 + warehouse_tax + district_tax}
end

local function new_order()
   local set, warehouse, district = place()
   local count = uniform(5, 15)
   local missing_line -- one order in a hundred asks for an item that does not exist
   if uniform(1, 100) == 1 then
      missing_line = is_spec and count or count - 1
   end
   query("BEGIN")
   local order = order_head(set, warehouse, district, count)
   for line = 1, count do
      if not order_line(set, order, line, line == missing_line and -1 or some_item()) then
         ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
         query("ROLLBACK")
         return
      end
   end
   query("COMMIT")
end

-- Whose payment it is: 85 % of the district's own customers, else of another warehouse.
local function payer(warehouse, district)
   if uniform(1, 100) <= 85 then
      return warehouse, district
   end
   return is_spec and other_warehouse(warehouse) or warehouse, uniform(1, DISTRICTS)
end

-- Bad credit: what is known of the customer begins with this payment.
local function rewritten(old, ...)
   return (table.concat({...}, " ") .. " | " .. old):sub(1, C_DATA_MAX)
end

local function pay(set, warehouse, district, amount)
   local c_warehouse, c_district = payer(warehouse, district)
   local customer
   if uniform(1, 100) <= 60 then
      customer = customers_by_name(set, c_warehouse, c_district, "c_id")[1]
   else
      customer = some_customer()
   end
   local where = " FROM customer" .. set .. " WHERE c_w_id = " .. c_warehouse .. " AND c_d_id = "
      .. c_district .. " AND c_id = " .. customer
   local _, _, _, credit = query_row(
      "SELECT c_first, c_middle, c_last, c_credit, c_street_1, c_street_2, c_city, c_state, c_zip,"
      .. " c_phone, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since" .. where
      .. " FOR UPDATE")
   local data = ""
   if credit == "BC" then
      data = ", c_data = '" .. rewritten(query_row("SELECT c_data" .. where), customer, c_district,
                                         c_warehouse, district, warehouse, amount) .. "'"
   end
   query("UPDATE customer" .. set .. " SET c_balance = c_balance - " .. amount
         .. ", c_ytd_payment = c_ytd_payment + " .. amount
         .. (is_spec and ", c_payment_cnt = c_payment_cnt + 1" or "") .. data
         .. where:sub(where:find(" WHERE"), -1))
   return customer, c_district, c_warehouse
end

local function payment()
   local set, warehouse, district = place()
   local amount = uniform(1, 5000)
   local of_warehouse = " WHERE w_id = " .. warehouse
   local of_district = " WHERE d_w_id = " .. warehouse .. " AND d_id = " .. district
   query("BEGIN")
   query("UPDATE warehouse" .. set .. " SET w_ytd = w_ytd + " .. amount .. of_warehouse)
   local warehouse_name = query_row("SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip"
                                    .. " FROM warehouse" .. set .. of_warehouse)
   query("UPDATE district" .. set .. " SET d_ytd = d_ytd + " .. amount .. of_district)
   local district_name = query_row("SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip"
                                   .. " FROM district" .. set .. of_district)
   local customer, c_district, c_warehouse = pay(set, warehouse, district, amount)
   query("INSERT INTO history" .. set .. " (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date,"
         .. " h_amount, h_data) VALUES (" .. c_district .. "," .. c_warehouse .. "," .. customer
         .. "," .. district .. "," .. warehouse .. ",NOW()," .. amount .. ",'"
         .. warehouse_name .. "    " .. district_name .. "')")
   query("COMMIT")
end

local function order_status()
   local set, warehouse, district = place()
   local customer
   query("BEGIN")
   if uniform(1, 100) <= 60 then
      customer = customers_by_name(set, warehouse, district,
                                   "c_id, c_balance, c_first, c_middle")[1]
   else
      customer = some_customer()
      query_row("SELECT c_balance, c_first, c_middle, c_last FROM customer" .. set
                .. " WHERE c_w_id = " .. warehouse .. " AND c_d_id = " .. district
                .. " AND c_id = " .. customer)
   end
   local order = query_row("SELECT o_id, o_carrier_id, o_entry_d FROM orders" .. set
                           .. " WHERE o_w_id = " .. warehouse .. " AND o_d_id = " .. district
                           .. " AND o_c_id = " .. customer .. " ORDER BY o_id DESC"
                           .. (is_spec and " LIMIT 1" or ""))
   query("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line"
         .. set .. " WHERE ol_w_id = " .. warehouse .. " AND ol_d_id = " .. district
         .. " AND ol_o_id = " .. (is_spec and order or district))
   query("COMMIT")
end

local function deliver(set, warehouse, district, carrier)
   local order = query_row("SELECT no_o_id FROM new_orders" .. set .. " WHERE no_d_id = "
                           .. district .. " AND no_w_id = " .. warehouse
                           .. " ORDER BY no_o_id LIMIT 1 FOR UPDATE")
   if not order then
      return -- nothing is left to deliver
   end
   query("DELETE FROM new_orders" .. set .. " WHERE no_o_id = " .. order .. " AND no_d_id = "
         .. district .. " AND no_w_id = " .. warehouse)
   local of_order = " WHERE o_id = " .. order .. " AND o_d_id = " .. district .. " AND o_w_id = "
      .. warehouse
   local customer = query_row("SELECT o_c_id FROM orders" .. set .. of_order)
   if not customer then
      -- Under repeatable read, an order younger than the snapshot: found locking, but not here.
      error({errcode = sysbench.error.RESTART_EVENT})
   end
   query("UPDATE orders" .. set .. " SET o_carrier_id = " .. carrier .. of_order)
   local of_lines = " WHERE ol_o_id = " .. order .. " AND ol_d_id = " .. district
      .. " AND ol_w_id = " .. warehouse
   query("UPDATE order_line" .. set .. " SET ol_delivery_d = NOW()" .. of_lines)
   local total = query_row("SELECT SUM(ol_amount) FROM order_line" .. set .. of_lines)
   query("UPDATE customer" .. set .. " SET c_balance = c_balance + " .. total
         .. ", c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = " .. customer .. " AND c_d_id = "
         .. district .. " AND c_w_id = " .. warehouse)
end

local function delivery()
   local set, warehouse = place()
   local carrier = uniform(1, 10)
   query("BEGIN")
   for district = 1, DISTRICTS do
      deliver(set, warehouse, district, carrier)
   end
   query("COMMIT")
end

-- Of the items in a district's last twenty orders, how many are running out.
local function stock_level()
   local set, warehouse, district = place()
   local threshold = uniform(10, 20)
   query("BEGIN")
   local next_order = query_row("SELECT d_next_o_id FROM district" .. set .. " WHERE d_id = "
                                .. district .. " AND d_w_id = " .. warehouse)
   local lines = " WHERE ol_w_id = " .. warehouse .. " AND ol_d_id = " .. district
      .. " AND ol_o_id < " .. next_order .. " AND ol_o_id >= " .. next_order - 20
   if options.stock_level == "case1" then
      query("SELECT COUNT(DISTINCT s_i_id) FROM order_line" .. set .. ", stock" .. set .. lines
            .. " AND s_w_id = " .. warehouse .. " AND s_i_id = ol_i_id AND s_quantity < "
            .. threshold)
   else
      local rows = query("SELECT DISTINCT ol_i_id FROM order_line" .. set .. lines)
      local items = {}
      for number = 1, rows.nrows do
         items[number] = rows:fetch_row()[1]
      end
      for _, item in ipairs(items) do
         query("SELECT COUNT(*) FROM stock" .. set .. " WHERE s_w_id = " .. warehouse
               .. " AND s_i_id = " .. item .. " AND s_quantity < " .. threshold)
      end
   end
   query("COMMIT")
end

-- The transactions, each as often as its weight: a list of {name = ..., run = a function}.
function transactions.mix(to, with)
   connection, options = to, with
   is_spec = options.logic == "spec"
   assert(is_spec or options.logic == "quirks", "logic is quirks or spec")
   assert(options.stock_level == "case1" or options.stock_level == "case2",
          "stock-level is case1 or case2")
   constants = {customer = uniform(0, 1023), name = uniform(0, 255), item = uniform(0, 8191)}
   local runs = {new_order = new_order, payment = payment, order_status = order_status,
                 delivery = delivery, stock_level = stock_level}
   local mix = {}
   for _, weight in ipairs(WEIGHTS) do
      for _ = 1, weight[2] do
         mix[#mix + 1] = {name = weight[1], run = runs[weight[1]]}
      end
   end
   return mix
end

return transactions
