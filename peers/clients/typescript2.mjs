// The TypeScript SDK, version 2: `legacy` opens with `initialize`, `auto` with
// `server/discover`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { door, run } from './errand.mjs';

const client = new Client(
  { name: 'typescript-2', version: '1.0.0' },
  { versionNegotiation: { mode: door.mode } },
);
await run(client, new StreamableHTTPClientTransport(door.url, { requestInit: { headers: door.headers } }));
