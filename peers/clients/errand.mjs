// What every JavaScript client does at the door, and how it reports it: list
// the tools, search, read the document of the best hit, ask for a document of
// another base. One JSON object on stdout; run.py says what it must hold.

const [url, token, query, foreignId, mode] = process.argv.slice(2);

export const door = { url: new URL(url), headers: { Authorization: `Bearer ${token}` }, mode };

export async function run(client, transport) {
  let report;
  try {
    await client.connect(transport);
    report = await errand(client);
    await client.close();
  } catch (refusal) {
    report = { refused: String(refusal?.message ?? refusal) };
  }
  console.log(JSON.stringify(report));
}

async function errand(client) {
  const { tools } = await client.listTools();
  const found = await client.callTool({ name: 'search_chunks', arguments: { query } });
  const hit = found.structuredContent.chunks[0];
  const read = await client.callTool({ name: 'get_document', arguments: { document_id: hit.document_id } });
  const stranger = await client.callTool({ name: 'get_document', arguments: { document_id: foreignId } });
  return {
    version: client.getNegotiatedProtocolVersion?.(),
    tools: tools.map((tool) => tool.name),
    hit,
    document: text(read),
    foreign: { is_error: stranger.isError === true, text: text(stranger) },
  };
}

function text(answer) {
  return answer.content.map((block) => block.text ?? '').join('');
}
