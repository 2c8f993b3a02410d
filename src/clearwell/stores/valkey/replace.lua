-- Hold exactly these entries. ARGV: milliseconds the list lives, then the entries, newest first.
redis.call('DEL', KEYS[1])
for number = 2, #ARGV do
    redis.call('RPUSH', KEYS[1], ARGV[number])
end
if #ARGV > 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return #ARGV - 1
