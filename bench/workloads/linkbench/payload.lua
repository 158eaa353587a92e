-- The bytes of links and nodes, as compressible as LinkBench's: chunks that are random, or copied
-- from a motif that all data of one generator share.
--
--    local payload = require("payload")
--    local links = payload.new(payload.kinds["2011"].link)
--    links.literal()                   -- an SQL literal of a random length
--
-- Numbers come from math.random; the motif is drawn when the generator is made.

local ffi = require("ffi")

local payload = {}

local random, floor = math.random, math.floor

local MOTIF = 512
local CHUNK = 128
local QUOTE, BACKSLASH = 39, 92

-- Lengths are log-normal with sigma 1, cut to `longest`; bytes go from `low` to `high`.
local function kinds(link_median, node_median)
   return {
      link = {median = link_median, longest = 254, low = 32, high = 100, unique = 0.225},
      node = {median = node_median, longest = 65535, low = 50, high = 220, unique = 0.63},
   }
end

payload.kinds = {["2011"] = kinds(8, 128), ["2017"] = kinds(23, 168)}

local function fill(bytes, from, length, kind)
   local low, span = kind.low, kind.high - kind.low + 1
   for at = from, from + length - 1 do
      bytes[at] = low + floor(random() * span)
   end
end

-- A length by Box and Muller's method.
local function length_of(kind)
   local normal = math.sqrt(-2 * math.log(1 - random())) * math.cos(2 * math.pi * random())
   return math.min(kind.longest, floor(kind.median * math.exp(normal)))
end

function payload.new(kind)
   local motif = ffi.new("uint8_t[?]", MOTIF)
   local raw = ffi.new("uint8_t[?]", kind.longest)
   local quoted = ffi.new("uint8_t[?]", 2 * kind.longest + 2)
   fill(motif, 0, MOTIF, kind)

   local function draw(length)
      for from = 0, length - 1, CHUNK do
         local size = math.min(CHUNK, length - from)
         if random() < kind.unique then
            fill(raw, from, size, kind)
         else
            ffi.copy(raw + from, motif + floor(random() * (MOTIF - size + 1)), size)
         end
      end
   end

   local function literal()
      local length, at = length_of(kind), 1
      draw(length)
      quoted[0] = QUOTE
      for from = 0, length - 1 do
         local byte = raw[from]
         if byte == QUOTE or byte == BACKSLASH then
            quoted[at] = BACKSLASH
            at = at + 1
         end
         quoted[at] = byte
         at = at + 1
      end
      quoted[at] = QUOTE
      return ffi.string(quoted, at + 1)
   end

   return {literal = literal}
end

return payload
