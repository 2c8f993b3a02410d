-- Remember what was given and when, and keep the newest.
-- KEYS[1] the group's sorted set; ARGV: milliseconds now, size, milliseconds it is remembered, then what was given.
for place = 4, #ARGV do
    redis.call('ZADD', KEYS[1], ARGV[1], ARGV[place])
end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
