-- Append events to the stream of a group, keep about the newest ones, and let the stream expire after the last.
-- KEYS[1] the stream; ARGV: how many to keep, how long to keep them in milliseconds, the events.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'stream' and kind ~= 'none' then
  redis.call('DEL', KEYS[1])
end
for place = 3, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'event', ARGV[place])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
