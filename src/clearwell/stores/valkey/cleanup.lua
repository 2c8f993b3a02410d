-- Remove entries that expired at or before ARGV[1] (milliseconds); how many there were.
local removed = 0
for _, element in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    local expires = string.match(element, '^{"id":"[^"]*","expires_ms":(%d+)')
    if expires and tonumber(expires) <= tonumber(ARGV[1]) then
        removed = removed + redis.call('LREM', KEYS[1], 1, element)
    end
end
return removed
