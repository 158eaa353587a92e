-- Multi-row INSERTs.
--
--    local stock = rows.into(connection, "stock1 (s_i_id, s_data)", "(?,'?')")
--    stock.add({1, "text"})         -- the list may be used again
--    stock.flush()                  -- sends what is left

local rows = {}

-- Large enough that a statement's own cost does not matter, far below max_allowed_packet.
local ROWS = 1000

-- `place` is the table with its columns; `form` is one row, in which each ? stands for a value,
-- quoted or not. Values are put in as they are.
function rows.into(connection, place, form)
   local head = "INSERT INTO " .. place .. " VALUES "
   local between = {} -- the parts of the form around its values
   for part in (form .. "?"):gmatch("([^?]*)%?") do
      between[#between + 1] = part
   end
   local columns = #between - 1
   local fragments, size, count = {head}, 1, 0
   local this = {}

   function this.add(row)
      if count > 0 then
         size = size + 1
         fragments[size] = ","
      end
      for column = 1, columns do
         fragments[size + 1] = between[column]
         fragments[size + 2] = row[column]
         size = size + 2
      end
      size = size + 1
      fragments[size] = between[columns + 1]
      count = count + 1
      if count == ROWS then
         this.flush()
      end
   end

   function this.flush()
      if count > 0 then
         connection:query(table.concat(fragments, "", 1, size))
         size, count = 1, 0
      end
   end

   return this
end

return rows
