-- One JSON-RPC message over and over; the totals as one line of JSON.
-- wrk … -s load.lua URL -- TOKEN MESSAGE
function init(args)
  wrk.method = "POST"
  wrk.body = args[2]
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["MCP-Protocol-Version"] = "2025-06-18"
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"p50_us":%d,"p99_us":%d}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
