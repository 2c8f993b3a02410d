-- Put one entry first, once. Where there are too many, remove the oldest of an agent that has more than its share, and
-- if there is none, the oldest.
-- KEYS[1] the group's list; ARGV: entry, its head (what its text begins with), size, milliseconds it lives, how many
-- entries of one agent are its share.
local AGENT = '^{"id":"[^"]*","expires_ms":%-?%d+,"key":"%x*","agent_key":"(%x*)"'

local function find_surplus(elements, share)
    local counts, surplus = {}, #elements
    for place, element in ipairs(elements) do
        local agent = string.match(element, AGENT) or ''
        counts[agent] = (counts[agent] or 0) + 1
        if counts[agent] > share then
            surplus = place
        end
    end
    return surplus
end

local elements = redis.call('LRANGE', KEYS[1], 0, -1)
for place = #elements, 1, -1 do
    if string.sub(elements[place], 1, #ARGV[2]) == ARGV[2] then
        redis.call('LREM', KEYS[1], 1, elements[place])
        table.remove(elements, place)
    end
end
redis.call('LPUSH', KEYS[1], ARGV[1])
table.insert(elements, 1, ARGV[1])
while #elements > tonumber(ARGV[3]) do
    local surplus = table.remove(elements, find_surplus(elements, tonumber(ARGV[5])))
    redis.call('LREM', KEYS[1], -1, surplus)
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return #elements
