-- One JSON-RPC message over and over; the totals as one line of JSON.
-- wrk … -s load.lua URL -- TOKEN MESSAGE [EXPECTED]
--
-- With EXPECTED each answer's body is compared with it; that costs the load
-- generator time, so it is for the warm-up and not for what is measured.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  wrk.method = "POST"
  wrk.body = args[2]
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["MCP-Protocol-Version"] = "2025-06-18"
  wrong = 0
  if args[3] then
    response = function(status, headers, body)
      if body ~= args[3] then wrong = wrong + 1 end
    end
  end
end

function done(summary, latency, requests)
  local errors, wrong = summary.errors, 0
  for _, thread in ipairs(threads) do wrong = wrong + thread:get("wrong") end
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"wrong":%d,"p50_us":%d,"p99_us":%d}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, wrong,
    latency:percentile(50), latency:percentile(99)))
end
