-- What each entry begins with, newest first. ARGV: how many bytes.
local heads = redis.call('LRANGE', KEYS[1], 0, -1)
for place, element in ipairs(heads) do
    heads[place] = string.sub(element, 1, tonumber(ARGV[1]))
end
return heads
