// The TypeScript SDK's server of the benchmark; see README.md.
//
//   node typescript.mjs FOLDER PORT
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { Server } from '@modelcontextprotocol/server';

const [folder, port] = process.argv.slice(2);
const tools = JSON.parse(fs.readFileSync(`${folder}/tools.json`, 'utf8'));
const rows = new DatabaseSync(`${folder}/bench.sqlite`, { readOnly: true });
const token = rows.prepare('SELECT 1 FROM token WHERE hash = ?');
const document = rows.prepare('SELECT body FROM document WHERE id = ?');

function knows(request) {
  const [scheme, secret] = (request.headers.authorization ?? '').split(' ');
  return scheme === 'Bearer' && token.get(crypto.createHash('sha256').update(secret).digest()) !== undefined;
}

function library() {
  const server = new Server({ name: 'bench', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const found = params.name === 'get_document' && document.get(params.arguments.document_id);
    return found
      ? { content: [{ type: 'text', text: found.body }] }
      : { content: [{ type: 'text', text: 'No document with that id' }], isError: true };
  });
  return server;
}

http
  .createServer(async (request, response) => {
    if (!knows(request)) return response.writeHead(401).end();
    const server = library();
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on('close', () => server.close());
    await server.connect(transport);
    await transport.handleRequest(request, response);
  })
  .listen(Number(port), '127.0.0.1');
