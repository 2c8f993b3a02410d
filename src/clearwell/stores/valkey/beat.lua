-- Note that a worker is alive, and forget those that count as dead.
-- KEYS[1] the sorted set of all workers; ARGV: this worker, when it counts as dead, milliseconds now, how long to keep.
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
