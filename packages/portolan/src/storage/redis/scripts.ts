// The scripts of the storage. In a cluster each uses keys of one hash slot only. They are sent as text: a server that was restarted or
// took over knows no digests.

/** KEYS: value. ARGV: expected, new value, time to live in ms or "". Returns 1 if it wrote. */
export const compareAndSet = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

/** KEYS: index, gone. ARGV: member. Lists a key that is about to be written, and stops its removal. */
export const touchIndex = `
redis.call('ZADD', KEYS[1], 0, ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1`;

/**
 * KEYS: index, gone. ARGV: grace in ms, number of members without a value, these, members with a value.
 * Marks the first as gone, and removes those that were marked long ago. A write takes the mark away before it writes the
 * value, so that no value stays unlisted. A full server has no room for marks: the rest is done, and a later sweep marks.
 */
export const settleIndex = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local missing = tonumber(ARGV[2])
for at = 3, #ARGV do
  local member = ARGV[at]
  if at - 2 > missing then redis.call('ZREM', KEYS[2], member)
  else
    local since = redis.call('ZSCORE', KEYS[2], member)
    if not since then
      local marked = redis.pcall('ZADD', KEYS[2], now, member)
      if type(marked) == 'table' and not string.find(marked.err, 'OOM', 1, true) then return marked end
    elseif now - tonumber(since) >= tonumber(ARGV[1]) then
      redis.call('ZREM', KEYS[1], member)
      redis.call('ZREM', KEYS[2], member)
    end
  end
end
return 1`;

/** KEYS: any, outside a cluster. Returns 1 or 0 for each: whether it exists. */
export const whichExist = `
local found = {}
for at, key in ipairs(KEYS) do found[at] = redis.call('EXISTS', key) end
return found`;

/** KEYS: index, gone. ARGV: grace in ms, a number from 0 to 1, count. Returns members to look at. */
export const sampleIndex = `
local time = redis.call('TIME')
local due = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[1]
local members = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', due), 'LIMIT', 0, ARGV[3])
local start = math.floor(redis.call('ZCARD', KEYS[1]) * ARGV[2])
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], start, start + ARGV[3] - 1)) do members[#members + 1] = member end
return members`;

/**
 * KEYS: stream, last id. ARGV: value, keep or "", time to live in ms or "", least ms of the id, retention in ms or "",
 * channel. The id follows the last one of this log and the given ms; with a retention, also the last one of a log that was
 * deleted or has expired.
 */
export const appendEntry = `
local time = redis.call('TIME')
local ms = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[4]))
local seq = 0
local last = redis.call('GET', KEYS[2])
if not last then
  local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  last = newest and newest[1]
end
if last then
  local lastMs, lastSeq = string.match(last, '(%d+)-(%d+)')
  if tonumber(lastMs) >= ms then ms, seq = tonumber(lastMs), tonumber(lastSeq) + 1 end
end
local id = string.format('%.0f-%.0f', ms, seq)
if ARGV[2] == '' then redis.call('XADD', KEYS[1], id, 'd', ARGV[1])
else redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], id, 'd', ARGV[1]) end
if ARGV[3] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
if ARGV[5] ~= '' then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then redis.call('SET', KEYS[2], id)
  else redis.call('SET', KEYS[2], id, 'PX', string.format('%.0f', left + ARGV[5])) end
end
redis.call('PUBLISH', ARGV[6], id)
return id`;

/** KEYS: stream, last id. ARGV: retention in ms. Deletes a log, and keeps its last id for a while. */
export const deleteLog = `
redis.call('DEL', KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1`;

/** KEYS: the channel, so that the node of its slot keeps the order. ARGV: message. */
export const publishMessage = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/** KEYS: any. Returns what the server says about itself. */
export const describeServer = `
return { redis.call('INFO', 'server'), redis.call('INFO', 'replication'), redis.call('INFO', 'memory') }`;
