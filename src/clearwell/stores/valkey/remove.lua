-- Remove the entry whose text begins with ARGV[1]; how many there were.
local removed = 0
for _, element in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    if string.sub(element, 1, #ARGV[1]) == ARGV[1] then
        removed = removed + redis.call('LREM', KEYS[1], 1, element)
    end
end
return removed
