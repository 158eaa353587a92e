-- Numbers written as text into a buffer of bytes (uint8_t of LuaJIT's ffi): no Lua string, and so
-- no garbage, for clients that must be faster than the server. Each returns the place behind.

local bytes = {}

local floor = math.floor

-- A whole number that is not negative.
function bytes.put_number(buffer, at, number)
   local ending = at + 1
   local rest = floor(number / 10)
   while rest > 0 do
      ending = ending + 1
      rest = floor(rest / 10)
   end
   return bytes.put_padded(buffer, at, number, ending - at)
end

-- The last `count` digits of a whole number, with zeros before a shorter one.
function bytes.put_padded(buffer, at, number, count)
   for place = at + count - 1, at, -1 do
      local rest = floor(number / 10)
      buffer[place] = 48 + number - rest * 10
      number = rest
   end
   return at + count
end

return bytes
