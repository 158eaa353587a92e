-- The rows of the insert benchmark, written as SQL into a buffer of bytes.
--
--    local rows = require("rows")
--    local writer = rows.writer({table = 1, client = 0, rows_per_commit = 100, is_2017 = true})
--    con:query(writer.statement("2017-01-24 00:00:00"))    -- one INSERT of 100 rows
--    writer.committed()
--
-- The client must be able to outrun every engine, so a row costs no Lua string and no garbage: the
-- statement is the only string that is made.
--
-- A COMMIT CAN BE RECOGNISED in the table: the data of its first row are 20 characters long, ten
-- times 'a' and then '/', the client (1 digit to the base 64), the number of the commit among the
-- client's since it started (4 digits), the rows of the commit (2 digits), two random digits. In
-- no other row '/' follows the first half. So a check sees rows that a commit lost, and commits
-- that are missing among later ones of the same client, also after a crash.

local ffi = require("ffi")
local bytes = require("bytes")
local random = require("random")

local rows = {}

local band, rshift = bit.band, bit.rshift
local floor = math.floor
local put_number, put_padded = bytes.put_number, bytes.put_padded
local uniform = random.uniform

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local SLASH, BEFORE_SLASH = 63, 62 -- their places among the digits
local HEADER_HALF = 10
local BYTES_OF_ROW = 96 -- more than the longest row has
local COMMITS = 64 ^ 4

local digits = ffi.new("uint8_t[64]")
ffi.copy(digits, DIGITS, 64)

-- Writes a number to the base 64 with `count` digits.
local function put_digits(buffer, at, number, count)
   for place = at + count - 1, at, -1 do
      buffer[place] = digits[number % 64]
      number = floor(number / 64)
   end
   return at + count
end

-- Five random digits from one draw of 30 bits; `at` may be followed by rubbish.
local function put_random(buffer, at)
   local draw = uniform(0, 2 ^ 30 - 1)
   for place = at, at + 4 do
      buffer[place] = digits[band(draw, 63)]
      draw = rshift(draw, 6)
   end
end

-- Half 'a', half random; never '/' in the place where a commit is recognised.
local function put_data(buffer, at, length)
   local half = floor(length / 2)
   for place = at, at + half - 1 do
      buffer[place] = 97
   end
   put_random(buffer, at + half)
   put_random(buffer, at + half + 5)
   if buffer[at + half] == digits[SLASH] then
      buffer[at + half] = digits[BEFORE_SLASH]
   end
   return at + length
end

local function put_header(buffer, at, client, commit, count)
   ffi.fill(buffer + at, HEADER_HALF, 97)
   at = at + HEADER_HALF
   put_random(buffer, at + 5)
   buffer[at] = digits[SLASH]
   put_digits(buffer, at + 1, client % 64, 1)
   put_digits(buffer, at + 2, commit % COMMITS, 4)
   put_digits(buffer, at + 6, count, 2)
   return at + HEADER_HALF
end

-- The price of 2017 hangs on the customer: (0 to 499 + customer) cents.
local function put_price(buffer, at, customer, is_2017)
   if not is_2017 then
      return put_number(buffer, at, uniform(0, 499))
   end
   local cents = customer + uniform(0, 499)
   local whole = floor(cents / 100)
   at = put_number(buffer, at, whole)
   buffer[at] = 46
   return put_padded(buffer, at + 1, cents - whole * 100, 2)
end

-- What makes the statements of one client for one table.
function rows.writer(options)
   local head = "INSERT INTO purchases" .. options.table
      .. " (dateandtime,cashregisterid,customerid,productid,price,data) VALUES "
   local count, is_2017 = options.rows_per_commit, options.is_2017
   assert(count >= 1 and count < 4096, "rows-per-commit must be from 1 to 4095")
   local buffer = ffi.new("uint8_t[?]", #head + count * BYTES_OF_ROW)
   local start = ffi.new("uint8_t[24]") -- of each row: ('2017-01-24 00:00:00',
   local START_LENGTH = 23
   local commit = 0
   local last_time
   ffi.copy(buffer, head, #head)

   local function put_row(at)
      ffi.copy(buffer + at, start, START_LENGTH)
      at = put_number(buffer, at + START_LENGTH, uniform(0, 999))
      buffer[at] = 44
      local customer = uniform(0, 99999)
      at = put_number(buffer, at + 1, customer)
      buffer[at] = 44
      at = put_number(buffer, at + 1, uniform(0, 9999))
      buffer[at] = 44
      at = put_price(buffer, at + 1, customer, is_2017)
      buffer[at] = 44
      buffer[at + 1] = 39
      return at + 2
   end

   local function end_row(at)
      buffer[at] = 39
      buffer[at + 1] = 41
      buffer[at + 2] = 44
      return at + 3
   end

   local writer = {}

   -- The next INSERT; the same commit again until committed() is called. `wanted` rows, not more
   -- than rows_per_commit; all of them if not given.
   function writer.statement(time, wanted)
      wanted = wanted or count
      if time ~= last_time then
         ffi.copy(start, "('" .. time .. "',", START_LENGTH)
         last_time = time
      end
      local at = put_row(#head)
      at = end_row(put_header(buffer, at, options.client, commit, wanted))
      for _ = 2, wanted do
         at = put_row(at)
         at = end_row(put_data(buffer, at, uniform(10, 20)))
      end
      return ffi.string(buffer, at - 1)
   end

   function writer.committed()
      commit = commit + 1
   end

   return writer
end

return rows
