-- Put one entry first, once, and keep the newest.
-- KEYS[1] the group's list; ARGV: entry, its head (what its text begins with), size, milliseconds it lives.
for _, element in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    if string.sub(element, 1, #ARGV[2]) == ARGV[2] then
        redis.call('LREM', KEYS[1], 1, element)
    end
end
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[3]) - 1)
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return redis.call('LLEN', KEYS[1])
