// The TypeScript SDK, version 1: opens with `initialize`, then tries a GET.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { door, run } from './errand.mjs';

const client = new Client({ name: 'typescript-1', version: '1.0.0' });
await run(client, new StreamableHTTPClientTransport(door.url, { requestInit: { headers: door.headers } }));
